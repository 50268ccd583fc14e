/*
 * The timeline: every observation with its time, for viewers that show when something happened and not only
 * how much of it.
 *
 * A record is one observation of one thread, or a range of them: while a thread provably has not run, or
 * waits where it waited without having used CPU time, its last record is extended. So what a blocked thread
 * costs does not depend on how long it is blocked.
 *
 * What a record weighs. Looks are not equally far apart (schedule.h): a record counts the ticks that its
 * looks stand for. Where each look stands for one tick, that is their number; a thread that is looked at in
 * every 50th tick has as much weight as one that is looked at in each. Its wall time is kept beside that,
 * exact as in the tree (fold.h): sums over the records of a node are what the node was given.
 *
 * Memory is bounded. When it is full, the older half is thinned, the finest of it first: of two neighbouring
 * records of a thread one is kept, chosen at random in proportion to what they weigh, and has the sums of
 * both. So a thread's sums are exact, shares of functions are right on average, and what is old is about
 * equally coarse throughout. Where many threads leave a record each there are no neighbours: of those, half
 * are dropped. Both are counted.
 *
 * Called from: the sampler thread only; read by the exporting thread once the sampler is at rest.
 * Records and events hold no pointers: the same bytes are valid wherever the arena's are.
 * Thinning: one unit of a pair with a probability in proportion to its size (Cochran, "Sampling Techniques",
 * 3rd ed., section 9A.3).
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
    TIMELINE_WAITING, /* in a system call, or for a CPU */
    TIMELINE_UNKNOWN, /* it did not answer, or was not looked at again before its end */
};

/* Times are CLOCK_MONOTONIC. */
struct timeline_record {
    uint64_t first_ns, last_ns; /* the first and the last observation; equal for a single one */
    uint64_t cpu_ns;            /* CPU time from the thread's observation before to the first */
    uint64_t later_cpu_ns;      /* from the first to the last: 0 unless it was thinned */
    uint64_t wall_ns;           /* elapsed time that it stands for */
    uint32_t thread;            /* struct wp_thread_record.number */
    arena_ref node;             /* struct wp_node */
    uint32_t observations;      /* 0: it is a thread's rest, which no observation stands for */
    uint32_t ticks;             /* that it stands for */
    uint64_t id : 48;           /* ascending */
    uint64_t state : 2;         /* enum timeline_state */
    uint64_t is_open : 1;       /* its thread's last: it may be extended yet */
    uint64_t level : 6;         /* it has about 2^level thinned ones in it */
};

enum timeline_event_kind {
    EVENT_FORK,     /* number: how many children were forked since the tick before */
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

struct wp_timeline {
    uint64_t start_ns; /* the moment that struct wp_profile.start_utc_ns names */
    uint64_t tick;     /* the last that has come; the sampler sets it */
    struct timeline_record *records;
    uint32_t count, capacity;
    struct timeline_event *events;
    uint32_t event_count, event_capacity;
    struct arena_backing *record_backing, *event_backing; /* of their memory; as struct wp_arena's */
    uint64_t thinned;                                     /* records that have been merged into a neighbour */
    uint64_t dropped;                                     /* records that are gone with all they stood for */
    uint64_t dropped_events;                              /* that found no room */
    uint64_t newest_id;
    uint32_t generation; /* of the records' places */
    uint32_t refused;    /* records since it was found that nothing can be thinned */
    uint64_t late_ticks; /* noted so far (events.h) */
    struct wp_random random;
    uint32_t *is_moving; /* set when records are moved, until whoever has told how many there are now clears
                            it; NULL: nobody tells */
    uint32_t *pending;   /* scratch: where a thread's record stands that has no partner yet */
};

/* One thread's part. */
struct timeline_thread {
    uint64_t last_id;    /* of its last record; 0 without */
    uint32_t last_index; /* where that was in this generation */
    uint32_t generation;
    uint32_t number;
    uint64_t tick;       /* accounted for up to here */
    uint64_t until_tick; /* the last observation stands for the ticks up to here */
};

/* What an observation tells. */
struct timeline_look {
    arena_ref node;
    enum timeline_state state;
    bool is_unchanged;   /* the thread provably has not run since it was last seen */
    bool is_rest;        /* not an observation: the thread's end, and what is left until then */
    uint64_t time_ns;    /* when */
    uint64_t cpu_ns;     /* used since the last observation */
    uint64_t behind_ns;  /* elapsed since, and stood for by the last observation */
    uint64_t wall_ns;    /* elapsed since, and stood for by this one */
    uint64_t until_tick; /* this observation stands for the ticks up to here */
};

/* Memory is touched as it is used. NULL without. seed: any. */
struct wp_timeline *timeline_create(size_t bytes, uint64_t start_ns, uint64_t seed);
void timeline_destroy(struct wp_timeline *timeline);

/* Nothing has been recorded yet, from start_ns on. Threads must begin anew (timeline_begin). */
void timeline_clear(struct wp_timeline *timeline, uint64_t start_ns);

/* A thread begins; tick: the last that had come then. */
void timeline_begin(struct timeline_thread *thread, uint32_t number, uint64_t tick);

/* O(1), but when memory is full, and is thinned. */
void timeline_observe(struct wp_timeline *timeline, struct timeline_thread *thread,
                      const struct timeline_look *look);

/* The thread's last record is closed: it has ended. */
void timeline_end(struct wp_timeline *timeline, struct timeline_thread *thread);

void timeline_event(struct wp_timeline *timeline, const struct timeline_event *event);

#endif
