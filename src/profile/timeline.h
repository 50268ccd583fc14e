/*
 * The timeline: every sample with its time, for viewers that show when something happened.
 *
 * A record is one sample of one thread, or a range of them. The last record of a thread is extended while the
 * thread provably has not run, or waits where it waited without having used CPU time. So the cost of a
 * blocked thread does not depend on how long it is blocked.
 *
 * The weight of a record is the number of ticks that its samples stand for, as samples are not equally far
 * apart (schedule.h): a thread that is sampled in every 50th tick weighs as much as one that is sampled in
 * each. The wall time of a record is exact as in the tree (fold.h): a node's records add up to its time.
 *
 * Memory is bounded. When it is full, the older half is thinned, the finest records first. Of two
 * neighbouring records of a thread one is kept, and has the sums of both. It is drawn in proportion to their
 * weights: one unit of a pair by size (Cochran, "Sampling Techniques", 3rd ed., section 9A.3). So a thread's
 * sums are exact, shares of functions are right on average, and old records are about equally coarse. Where
 * many threads have a record each there are no neighbours: half of these are dropped. Both are counted.
 *
 * Called from: the sampler thread only; read by the exporting thread once the sampler is at rest.
 * Records and events hold no pointers: the same bytes are valid wherever the arena's are.
 */
#ifndef WALLPROF_TIMELINE_H
#define WALLPROF_TIMELINE_H

#include "base/arena.h"
#include "base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timeline_state {
    TIMELINE_RUNNING,
    TIMELINE_WAITING, /* in a system call; for a CPU too, if that is not known */
    TIMELINE_UNKNOWN, /* it did not reply, or was not sampled again before its end */
    TIMELINE_QUEUED,  /* runnable, and waiting for a CPU */
};

/* Times are CLOCK_MONOTONIC. */
struct timeline_record {
    uint64_t first_ns, last_ns; /* of the first and the last sample; equal for a single one */
    uint64_t cpu_ns;            /* CPU time from the thread's previous sample to the first */
    uint64_t later_cpu_ns;      /* CPU time from the first to the last; 0 unless it was thinned */
    uint64_t wall_ns;           /* elapsed time that it stands for */
    uint32_t thread;            /* struct thread_record.number */
    arena_ref node;             /* struct tree_node */
    uint32_t observations;      /* samples; 0: the rest of a thread's time, which no sample stands for */
    uint32_t ticks;             /* its weight */
    uint64_t id : 48;           /* ascending */
    uint64_t state : 2;         /* enum timeline_state */
    uint64_t is_open : 1;       /* the last record of its thread, which may be extended yet */
    uint64_t level : 6;         /* about 2^level records were merged into it */
};

enum timeline_event_kind {
    EVENT_FORK,     /* number: of children forked since the previous tick */
    EVENT_EXEC,     /* the process is about to execute another program */
    EVENT_LOADED,   /* name: the library */
    EVENT_UNLOADED, /* likewise */
    EVENT_LATE,     /* number: of ticks that did not happen because one came late */
    EVENT_KIND_COUNT
};

/* Something that happened to the process. */
struct timeline_event {
    uint64_t begin_ns, end_ns;
    uint64_t number;
    arena_ref name; /* string in the arena, 0 without */
    uint32_t kind;
};

struct timeline {
    uint64_t start_ns; /* the moment that struct profile.start_utc_ns names */
    uint64_t tick;     /* the last tick that has come; set by the sampler */
    struct timeline_record *records;
    uint32_t count, capacity;
    struct timeline_event *events;
    uint32_t event_count, event_capacity;
    struct arena_backing *record_backing, *event_backing; /* as in struct arena */
    uint64_t thinned;                                     /* records that were merged into a neighbour */
    uint64_t dropped;        /* records that were dropped with what they stood for */
    uint64_t dropped_events; /* for lack of memory */
    uint64_t newest_id;
    uint32_t generation; /* of the records' indexes */
    uint32_t refused;    /* records refused since a pass found that nothing can be thinned */
    uint64_t late_ticks; /* noted so far (account.h) */
    struct random_state random;
    uint32_t *is_moving; /* atomic: set before records are moved. The mapped store clears it once its header
                            has the new count. NULL without one */
    uint32_t *pending;   /* scratch: 1 + the index of a thread's record that has no partner yet */
};

/* One thread's part. */
struct timeline_thread {
    uint64_t last_id;    /* of its last record; 0 without */
    uint32_t last_index; /* its index, in this generation */
    uint32_t generation;
    uint32_t number;
    uint64_t tick;       /* the last tick that is accounted for */
    uint64_t until_tick; /* the last tick that the last sample stands for */
};

/* One sample, or the rest of a thread's time. */
struct timeline_observation {
    arena_ref node;
    enum timeline_state state;
    bool is_unchanged; /* the thread provably has not run since the previous sample */
    bool is_rest;      /* no sample: the thread's end, and its time up to then */
    uint64_t time_ns;
    uint64_t cpu_ns;           /* used since the previous sample */
    uint64_t previous_wall_ns; /* elapsed since then, in the stretch of the previous sample */
    uint64_t wall_ns;          /* elapsed since then, in the stretch of this one */
    uint64_t until_tick;       /* the last tick of its stretch */
};

/* NULL without memory, which is touched as it is used. Any seed is good. */
struct timeline *timeline_create(size_t bytes, uint64_t start_ns, uint64_t seed);
void timeline_destroy(struct timeline *timeline);

/* Empties the timeline, which starts anew at start_ns. Threads must begin anew too (timeline_begin). */
void timeline_clear(struct timeline *timeline, uint64_t start_ns);

/* A thread begins. tick: the last tick so far. */
void timeline_begin(struct timeline_thread *thread, uint32_t number, uint64_t tick);

/* O(1), except when memory is full and is thinned. */
void timeline_observe(struct timeline *timeline, struct timeline_thread *thread,
                      const struct timeline_observation *observation);

/* Closes the last record of a thread, which has ended. */
void timeline_end(struct timeline *timeline, struct timeline_thread *thread);

void timeline_event(struct timeline *timeline, const struct timeline_event *event);

#endif
