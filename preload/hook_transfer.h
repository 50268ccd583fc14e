/*
 * Goes on with a transfer that our signal has cut short. The rest is sent or received within the time that is
 * left of the socket's limit (SO_RCVTIMEO, SO_SNDTIMEO).
 *
 * Called from: hooks of functions that transfer data, after hook_wait_was_cut was true. The wait holds then.
 */
#ifndef WALLPROF_HOOK_TRANSFER_H
#define WALLPROF_HOOK_TRANSFER_H

#include "hook_wait.h"
#include "session/hook_memory.h"

#include <stddef.h>
#include <sys/types.h>

struct hook_transfer {
    struct hook_wait wait;
    int fd, flags;
    uint64_t begun_ns; /* 0: no socket of this process has a time limit that we know of */
};

/* Only where a socket has a time limit is the clock read at the start of a call. */
__attribute__((always_inline)) static inline void hook_transfer_begin(struct hook_transfer *transfer, int fd,
                                                                      int flags)
{
    transfer->fd = fd;
    transfer->flags = flags;
    transfer->begun_ns =
        __builtin_expect(__atomic_load_n(&hook_memory()->has_time_limits, __ATOMIC_RELAXED), 0)
            ? clock_monotonic_ns()
            : 0;
    hook_wait_begin(&transfer->wait);
    transfer->wait.waiting.may_be_short = true;
}

/*
 * Waits until a socket can be read from (SO_RCVTIMEO) or written to (SO_SNDTIMEO). False with EAGAIN when its
 * time limit is over, and with EINTR when a handler of the program has run. The wait holds before and after.
 */
bool hook_transfer_await(struct hook_transfer *transfer, int limit);

/* Ends the function with the result of a call on a socket that does not wait, once the socket is ready.
 * EAGAIN says that another thread was faster. On a socket the wait holds the other signals all the time.
 * real: the call. */
#define HOOK_TRANSFER_WHEN_READY(transfer, limit, real)                                                      \
    do {                                                                                                     \
        while (hook_transfer_await(transfer, limit)) {                                                       \
            ssize_t moved = (real);                                                                          \
            if (moved >= 0 || errno != EAGAIN)                                                               \
                return moved;                                                                                \
        }                                                                                                    \
        return -1;                                                                                           \
    } while (0)

enum hook_transfer_kind {
    HOOK_TRANSFER_OTHER,
    HOOK_TRANSFER_PIPE,
    HOOK_TRANSFER_MEMORY,
    HOOK_TRANSFER_SOCKET
};

/* What the descriptor is. MEMORY: /dev/zero, /dev/urandom and the like. PIPE: also a terminal or another
 * character device. */
enum hook_transfer_kind hook_transfer_kind(const struct hook_transfer *transfer);

/* Whether a call on the descriptor does not wait. Then our signal is not the reason that it is short. */
bool hook_transfer_is_nonblocking(const struct hook_transfer *transfer);

/* Sends or writes all bytes. Returns how many; -1 and errno for none. */
ssize_t hook_transfer_write_all(struct hook_transfer *transfer, const void *from, size_t bytes);

/* Receives or reads once, as the program's call would have. */
ssize_t hook_transfer_read_once(struct hook_transfer *transfer, void *to, size_t bytes);

#endif
