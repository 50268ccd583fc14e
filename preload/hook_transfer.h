/*
 * What is left of a transfer that our signal has cut short: the rest is sent or received, within what is left
 * of the socket's time (SO_RCVTIMEO, SO_SNDTIMEO).
 *
 * Called from: the hooks of the functions that transfer, when hook_wait_was_cut has said so; the wait holds
 * on entry.
 */
#ifndef WALLPROF_HOOK_TRANSFER_H
#define WALLPROF_HOOK_TRANSFER_H

#include "hook_wait.h"

#include <stddef.h>
#include <sys/types.h>

struct hook_transfer {
    struct hook_wait wait;
    int fd, flags;
    uint64_t begun_ns; /* 0: no socket of this process has a time limit that we know of */
};

/* Set once a socket is given a time limit: only then the clock is read at the beginning. Atomic. */
extern bool hook_transfer_has_limits;

__attribute__((always_inline)) static inline void hook_transfer_begin(struct hook_transfer *transfer, int fd,
                                                                      int flags)
{
    transfer->fd = fd;
    transfer->flags = flags;
    transfer->begun_ns = __builtin_expect(__atomic_load_n(&hook_transfer_has_limits, __ATOMIC_RELAXED), 0)
                             ? clock_monotonic_ns()
                             : 0;
    hook_wait_begin(&transfer->wait);
    transfer->wait.waiting.may_be_short = true;
}

/*
 * Until a socket can be read from (SO_RCVTIMEO) or written to (SO_SNDTIMEO). False when its time is over,
 * with EAGAIN, or a handler of the program's has run, with EINTR. The wait holds, before and after.
 */
bool hook_transfer_await(struct hook_transfer *transfer, int limit);

enum hook_transfer_kind {
    HOOK_TRANSFER_OTHER,
    HOOK_TRANSFER_PIPE,
    HOOK_TRANSFER_MEMORY,
    HOOK_TRANSFER_SOCKET
};

/* What the descriptor is: MEMORY /dev/zero and its like, PIPE also a terminal or another such device. */
enum hook_transfer_kind hook_transfer_kind(const struct hook_transfer *transfer);

/* Whether a call on the descriptor returns at once: then it is short of its own. */
bool hook_transfer_is_impatient(const struct hook_transfer *transfer);

/* Sends or writes it all; less than bytes, or -1 and errno, when it ends before. */
ssize_t hook_transfer_put(struct hook_transfer *transfer, const void *from, size_t bytes);

/* Receives or reads once, as the call would have. */
ssize_t hook_transfer_get(struct hook_transfer *transfer, void *to, size_t bytes);

#endif
