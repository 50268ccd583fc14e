/*
 * Real-time threads of the program, which can keep the sampler from its CPU for as long as they run. The
 * sampler then sees them only while they wait. So when it has waited for a CPU it looks for such threads, and
 * if there is one it takes the next higher priority, if it may. A tick takes tens of microseconds, as a
 * signal would. It gives the priority up for anything longer, such as writing a file.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_REALTIME_H
#define WALLPROF_REALTIME_H

#include "threads.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed memory: no such thread has been seen. */
struct realtime {
    uint64_t look_again_ns;
    uint32_t next; /* the live thread to look at next */
    int highest;   /* priority of the program's threads that were seen; 0: none has one */
    bool is_raised;
    int error;                          /* 0 or the -errno of the last try */
    int former_policy, former_priority; /* while it is raised */
};

/* The sampler has waited for a CPU: looks at some of the threads, at most four times a second. */
void realtime_look(struct realtime *realtime, const struct threads *threads, int task_directory,
                   uint64_t now_ns);

/* Above the highest that was seen, but not under a seccomp filter; and back. Nothing to do: no system call.
 */
void realtime_raise(struct realtime *realtime, int task_directory);
void realtime_give_up(struct realtime *realtime);

#endif
