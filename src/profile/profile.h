/*
 * A finished profile as the encoders see it: everything at rest, nothing to be measured any more.
 *
 * Who fills it: session, once the sampler has stopped. Who reads it: the encoders, which are pure functions
 * from it to a sink. All pointers are borrowed and outlive the export.
 */
#ifndef WALLPROF_PROFILE_H
#define WALLPROF_PROFILE_H

#include "base/arena.h"
#include "modules/modules.h"
#include "names/symbolize.h"
#include "timeline.h"
#include "tree.h"

#include <stdint.h>

/* Which labels a sample carries. */
enum wp_labels { LABELS_NONE, LABELS_NAME, LABELS_ID };

enum { THREAD_NAME_BYTES = 16 };

/* One thread of the program, from its start to its end; lives in the arena. */
struct wp_thread_record {
    arena_ref next;               /* the record made before this one */
    arena_ref root;               /* its tree; the spare root when memory was out */
    uint32_t number;              /* 1.. in the order of registration; struct wp_node.thread of its root */
    int32_t tid;                  /* the kernel's thread id; may be used again by a later thread */
    uint64_t start_ns;            /* CLOCK_MONOTONIC */
    uint64_t end_ns;              /* 0 while it lives */
    char name[THREAD_NAME_BYTES]; /* the name it had last */
    uint32_t process;             /* index into struct wp_profile.processes */
    arena_ref state;              /* struct wp_thread_state; 0 for a thread that has ended */
    bool is_spare;                /* no thread, but its process's time that no thread's tree has */
};

/* Of a thread that lives, where the recording is a file: what its end would have to know of it (fold.h). */
struct wp_thread_state {
    arena_ref node, credited;
    uint32_t was_running;
    arena_ref next_free;
    uint64_t time_ns, until_ns, cpu_clock_ns, begin_ns, begin_cpu_clock_ns;
    uint64_t stretch_end_tick; /* where until_ns is not known yet */
};

/* One process that was recorded. */
struct wp_process {
    const char *name;   /* base name of its program; "" if not known */
    int32_t pid;        /* 0 if not known */
    int32_t rank;       /* in a parallel run, PROCESS_NO_RANK without */
    const char *ending; /* how it ended, for people, if that was not the ordinary way; else "" */
};

enum { PROCESS_NO_RANK = -1 };

/* What happened while recording, for the comments. */
struct wp_counters {
    uint64_t ticks;          /* performed */
    uint64_t late_ticks;     /* periods that passed without a tick because one came late */
    uint64_t samples;        /* observations folded in */
    uint64_t unchanged;      /* of them: the thread had not run since the last one */
    uint64_t walked;         /* it was blocked, and its stack was walked from outside */
    uint64_t answered;       /* it answered a signal */
    uint64_t unanswered;     /* it did not, in time */
    uint64_t truncated;      /* stacks whose root was not reached */
    uint64_t full_walks;     /* stacks that took the walk with every register */
    uint64_t stray;          /* late or foreign signals recognised and dropped */
    uint64_t sampler_cpu_ns; /* CPU time of the sampler thread */
    uint64_t answers_cpu_ns; /* of the program's threads, for our handler: about */
};

struct wp_profile {
    const struct wp_arena *arena;
    const struct wp_tree *tree;
    const struct wp_modules *modules;
    const struct wp_symbols *symbols;
    const struct wp_timeline *timeline; /* NULL when there is none */
    const arena_ref *thread_of_number;  /* [1..thread_count]: struct wp_thread_record, 0 for one without */
    uint32_t thread_count;
    const struct wp_process *processes; /* one, or several where recordings were merged; NULL: not known */
    uint32_t process_count;
    bool is_merged; /* of several recordings: samples say of which process they are */
    enum wp_labels labels;
    bool has_timed_samples; /* pprof: a sample for each record of the timeline */
    uint64_t start_utc_ns;  /* since the epoch */
    uint64_t duration_ns;
    uint64_t period_ns; /* between ticks, as asked for */
    uint32_t threads_per_tick;
    struct wp_counters counters;
    const char *restraint; /* that the rate was lowered, and why, for people; "" when it was not */
    const char *command;   /* the command line, for people */
    /* Of a profile that was read from a pprof file, its comments, which are written again as they are; else
     * NULL, and they are made from the above. */
    const char *const *comments;
    uint32_t comment_count;
};

/* A thread's name as it is written: valid UTF-8, and something also for a thread without a name. */
void profile_thread_name(const struct wp_thread_record *thread, char ret[THREAD_NAME_BYTES + 1]);

/* The thread record with a number, or NULL for the spare root's 0. */
const struct wp_thread_record *profile_thread(const struct wp_profile *profile, uint32_t number);

/* Whether samples of a thread, or of none (NULL), say which one they are of. */
static inline bool profile_tells_thread(const struct wp_profile *profile,
                                        const struct wp_thread_record *thread)
{
    return thread && !thread->is_spare && profile->labels != LABELS_NONE;
}

/* The process of a thread, or of time that is no thread's (NULL); NULL if it is not known. */
const struct wp_process *profile_process(const struct wp_profile *profile,
                                         const struct wp_thread_record *thread);

/*
 * What the process of a thread is called where there are several: "app (1234), rank 3", as far as it is
 * known. Returns ret; "" in a profile that is not merged.
 */
enum { PROCESS_TITLE_BYTES = 256 + 48 };
const char *profile_process_title(const struct wp_profile *profile, const struct wp_thread_record *thread,
                                  char ret[PROCESS_TITLE_BYTES]);

/* What its samples say of a thread, but for its id: "app (1234), rank 3: worker", or a part of that, or "".
 * Returns ret. */
enum { THREAD_TITLE_BYTES = PROCESS_TITLE_BYTES + 2 + THREAD_NAME_BYTES };
const char *profile_thread_title(const struct wp_profile *profile, const struct wp_thread_record *thread,
                                 char ret[THREAD_TITLE_BYTES]);

#endif
