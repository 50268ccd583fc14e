/*
 * A finished profile as the encoders see it: nothing in it changes any more.
 *
 * src/export fills it when the recording is at rest; in the tool, the readers do. The encoders, which are
 * pure functions from a profile to a sink, read it. All pointers are borrowed and outlive the export.
 */
#ifndef WALLPROF_PROFILE_H
#define WALLPROF_PROFILE_H

#include "base/arena.h"
#include "module.h"
#include "symbols.h"
#include "timeline.h"
#include "tree.h"

#include <stdint.h>

/* Which labels a sample carries. */
enum label_policy { LABELS_NONE, LABELS_NAME, LABELS_ID };

enum { THREAD_NAME_BYTES = 16 };

/* One thread of the program, from its start to its end; lives in the arena. */
struct thread_record {
    arena_ref next;               /* the record made before this one */
    arena_ref root;               /* its tree; the spare root when there was no memory */
    uint32_t number;              /* 1..; struct tree_node.thread of its root. The first thread has 1 */
    int32_t tid;                  /* the kernel's thread id; a later thread may have it too; 0: of several */
    uint64_t start_ns;            /* CLOCK_MONOTONIC */
    uint64_t end_ns;              /* 0 while it lives */
    char name[THREAD_NAME_BYTES]; /* its last name */
    uint32_t process;             /* index into struct profile.processes */
    arena_ref state;              /* struct thread_state; 0 for a thread that has ended */
    bool is_spare;                /* no thread, but the time of its process that is in no thread's tree */
    bool has_ended;               /* while recording */
    uint32_t merged_threads;      /* how many other threads that have ended are in it (merge_ended.h) */
    uint64_t wall_ns, cpu_ns;     /* once it has ended */
    struct values unsettled;      /* of a short life (short_lives.h): its parts. 0 of others */
};

/* A live thread in a mapped store: what is needed to account for its end (fold.h). */
struct thread_state {
    arena_ref node, credited;
    uint32_t found; /* at the last observation: THREAD_FOUND_..., together */
    arena_ref next_free;
    uint64_t time_ns, until_ns, cpu_clock_ns, begin_ns, begin_cpu_clock_ns;
    uint64_t stretch_end_tick; /* if until_ns is not known yet */
    uint64_t delay_clock_ns, begin_delay_clock_ns;
};

enum { THREAD_FOUND_RUNNING = 1, THREAD_FOUND_QUEUED = 2, THREAD_FOUND_DELAY_CLOCK = 4 };

/* One process that was recorded. */
struct process_record {
    const char *name;   /* base name of its program; "" if not known */
    int32_t pid;        /* 0 if not known */
    int32_t rank;       /* in a parallel run, PROCESS_NO_RANK without */
    const char *ending; /* how it ended, for people; "" for the ordinary way */
    const char *title;  /* what it had written over its arguments at last; NULL or "" for nothing */
};

enum { PROCESS_TITLE_TEXT_BYTES = 128 };

enum { PROCESS_NO_RANK = -1 };

/* What happened while recording, for the profile's notes. */
struct counters {
    uint64_t ticks;           /* performed */
    uint64_t late_ticks;      /* periods that passed without a tick, because one came late */
    uint64_t stopped_ns;      /* how long no thread could be observed: the process was stopped, */
    uint64_t unobserved_ns;   /* or the sampler could not run (account/gaps.h) */
    uint64_t samples;         /* samples added to the tree. Of them: */
    uint64_t unchanged;       /* the thread had not run since its last one */
    uint64_t walked;          /* it was blocked, and the sampler thread walked its stack */
    uint64_t replies;         /* it replied to a request */
    uint64_t missing_replies; /* it did not reply in time */
    uint64_t truncated;       /* stacks whose root was not reached */
    uint64_t full_walks;      /* stacks that took the walk with every register */
    uint64_t interp_stacks;   /* stacks with frames of an interpreter's program. Of them: */
    uint64_t interp_misfits;  /* the interpreter's calls were not as many as those frames say */
    uint64_t interp_nameless; /* such frames without a name */
    uint64_t stray;           /* late or foreign signals, recognised and dropped */
    uint64_t sampler_cpu_ns;  /* CPU time of the sampler thread */
    uint64_t handler_cpu_ns;  /* estimate: of the program's threads in our handler */
};

/*
 * What a thread waits for at a node of a tree whose locations are the profile's, in a word such as "lock";
 * NULL: it is not known. Only the tool tells waits apart (tool/meaning).
 */
struct waits {
    const char *(*word)(const struct waits *waits, const struct tree *tree, arena_ref node);
};

/* What a pprof file of another program measures. */
struct profile_measure {
    const char *name, *unit; /* unit: "nanoseconds" for all times */
    const char *others;      /* what else the file measures, with commas; "" for nothing */
};

struct profile {
    const struct arena *arena;
    const struct tree *tree;
    const struct module_list *modules;
    const struct symbols *symbols;
    const struct timeline *timeline;   /* NULL when there is none */
    const arena_ref *thread_of_number; /* [1..thread_count]: struct thread_record, 0 for one without */
    uint32_t thread_count;
    const struct process_record *processes; /* one, or several in a merged profile; NULL if not known */
    uint32_t process_count;
    bool is_merged; /* from several recordings: samples say which process they are of */
    enum label_policy labels;
    bool has_rundelay; /* the kernel has told how long threads waited for a CPU; else that is blocked time */
    uint64_t throttled_count, throttled_ns; /* by a CPU quota of its cgroup */
    bool has_timed_samples;                 /* pprof has a sample for each record of the timeline */
    bool has_wait_frames;                   /* folded stacks end in what is waited for, such as (lock) */
    const struct waits *waits; /* pprof says what is waited for; NULL: it does not, as nobody knows */
    uint64_t start_utc_ns;     /* since the epoch */
    uint64_t duration_ns;
    uint64_t period_ns; /* between ticks, as requested */
    uint32_t threads_per_tick;
    struct counters counters;
    const char *restraint; /* for people: why the rate was lowered; "" if it was not */
    const char *command;   /* the command line, for people */
    arena_ref
        messages; /* ours that could not be written anywhere, and deadlocks: lines of one string; 0: none */
    /* The comments of a profile from a pprof file, which are written again as they are. NULL: they are made
     * from the above. */
    const char *const *comments;
    uint32_t comment_count;
    /* Of another program's: what its values are. They stand where blocked time would, so wall time is all of
     * them, and nothing is known of how samples were taken. NULL: this is a recording of wallprof's. */
    const struct profile_measure *measure;
};

/* A thread's name as it is written: valid UTF-8; "[nameless]" for a thread without one. */
void profile_thread_name(const struct thread_record *thread, char ret[THREAD_NAME_BYTES + 1]);

/* The thread record with a number, or NULL. The number of the spare root, 0, has none. */
const struct thread_record *profile_thread(const struct profile *profile, uint32_t number);

/* The file or the memory that a location's code is in: the path of its region or module; "" for neither. */
const char *profile_code_path(const struct profile *profile, const struct location *location);

/* Whether the samples of a thread (NULL: of none) say which thread they are of. */
static inline bool profile_tells_thread(const struct profile *profile, const struct thread_record *thread)
{
    return thread && !thread->is_spare && profile->labels != LABELS_NONE;
}

/* The process of a thread, or of time that belongs to no thread (NULL); NULL if it is not known. */
const struct process_record *profile_process(const struct profile *profile,
                                             const struct thread_record *thread);

/* The command line, for people; after the title of its one process, if that has one: "postgres: walwriter
 * (postgres -D data)". Returns ret. */
enum { PROFILE_COMMAND_BYTES = 4096 + PROCESS_TITLE_TEXT_BYTES };
const char *profile_command(const struct profile *profile, char ret[PROFILE_COMMAND_BYTES]);

/* The title of a thread's process in a merged profile, as far as it is known: "app (1234), rank 3". "" in
 * another profile. Returns ret. */
enum { PROCESS_TITLE_BYTES = 256 + 48 };
const char *profile_process_title(const struct profile *profile, const struct thread_record *thread,
                                  char ret[PROCESS_TITLE_BYTES]);

/* What samples say of their thread, without its id: "app (1234), rank 3: worker", a part of that, or "".
 * Returns ret. */
enum { THREAD_TITLE_BYTES = PROCESS_TITLE_BYTES + 2 + THREAD_NAME_BYTES };
const char *profile_thread_title(const struct profile *profile, const struct thread_record *thread,
                                 char ret[THREAD_TITLE_BYTES]);

#endif
