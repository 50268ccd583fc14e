/*
 * Processes that are told apart by their pids: the first ones that are met. Later ones are called by their
 * programs, so that there are not as many names as processes.
 *
 * Called from: the sampler thread.
 */
#ifndef WALLPROF_TOLD_APART_H
#define WALLPROF_TOLD_APART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TOLD_APART_MAX = 32 };

struct told_apart {
    pid_t pids[TOLD_APART_MAX];
    uint32_t count;
};

static inline bool told_apart_is(struct told_apart *told, pid_t pid)
{
    for (uint32_t i = 0; i < told->count; i++) {
        if (told->pids[i] == pid)
            return true;
    }
    if (told->count == TOLD_APART_MAX)
        return false;
    told->pids[told->count++] = pid;
    return true;
}

#endif
