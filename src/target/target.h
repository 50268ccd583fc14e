/*
 * The process that is recorded, where that is another one than this: what a recording needs of it.
 *
 * A recording of this process has no target. NULL stands for it everywhere, and nothing here is called. With
 * a target, threads are found in its /proc, memory is copied from it (sig_memory.h), and nothing of ours runs
 * in it. What differs besides is here: where its modules come from, and how a thread that runs is observed.
 *
 * Filled in by whoever looks at the process (tool/attach). Called from: the sampler thread only, by the rooms
 * modules and sample.
 */
#ifndef WALLPROF_TARGET_H
#define WALLPROF_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct modules;
struct observation;
struct observer;
struct thread;

struct target {
    pid_t pid;           /* as our namespace has it */
    int directory;       /* an open /proc/PID. Not owned */
    bool has_other_ids;  /* it is in another PID namespace: its threads have other ids for themselves */
    const char *program; /* the path of its file */
    void *context;       /* of the functions */

    /* modules_refresh. Between a sample's moment and its being accounted nothing is made anew, so that an
     * address is in the module that was seen there before. */
    bool (*refresh_modules)(void *context, struct modules *modules);

    /* observe_thread, for a thread that is not seen from outside because it runs. It may be observed later:
     * thread->observe.slot is not negative until then. */
    bool (*observe)(void *context, struct observer *observer, struct thread *thread, uint64_t now_ns,
                    struct observation *ret);

    /* observe_next, for those threads. */
    bool (*observe_next)(void *context, struct observer *observer, struct observation *ret);

    /* The thread is not observed any more. */
    void (*forget)(void *context, struct thread *thread);
};

#endif
