/* The walk of another thread's stack, with the tables of sig_walk_tables.h. For the sampler thread. */
#ifndef WALLPROF_SIG_REMOTE_WALK_H
#define WALLPROF_SIG_REMOTE_WALK_H

#include "sig/ground/sig_unloads.h"
#include "sig_unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sig_remote_walk {
    /* Set by the caller. */
    struct sig_blocked_regs blocked_regs;
    uint64_t stack_low, stack_high; /* of the thread's own stack, 0 and 0 if not known */
    struct sig_stack_copy *copy;
    uint64_t *addresses; /* result, innermost first */
    uint32_t capacity;

    /* Written by the walk. */
    uint32_t depth;
    enum sig_unwind_end end;
    size_t bytes; /* this and the next: struct sig_unwind_course */
    bool by_distance;
    struct sig_unloads unloads; /* as of the walk */
};

/* Walks the stack of a thread that waits in a system call. sig_unwind_remote has the conditions. */
void sig_remote_walk(struct sig_remote_walk *walk);

#endif
