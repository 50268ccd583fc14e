/*
 * The processes that a pipe or a socket is likely to be shared with: those that the process has started, the
 * one that has started it, and what else that one has started. Process 1 is looked at as any other parent.
 * But what else it has started are left out: on a machine that is everything, and in a container the other
 * workers.
 *
 * They are found by a pass over /proc, as this is the only list of children that every kernel has. 10 us for
 * each process of the machine.
 *
 * Called from: the sampler thread.
 */
#ifndef WALLPROF_RELATIVES_H
#define WALLPROF_RELATIVES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RELATIVES_MAX = 32 };

struct relatives {
    struct relative {
        pid_t pid;
        char name[16]; /* its comm */
    } all[RELATIVES_MAX];
    uint32_t count;
    /* All of them are here that /proc shows, and it shows the parent. False below process 1, or below one of
     * another PID namespace. */
    bool is_complete;
};

/* Of the process of a thread. task_directory: an open /proc/PID/task; the program may have changed its root
 * since, so paths begin there. Ends at end_ns of the CPU clock. */
void relatives_read(struct relatives *ret, int task_directory, pid_t tid, uint64_t end_ns);

#endif
