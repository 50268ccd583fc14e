/* futex(2) on a word. Any thread; errno is not touched. The `_shared` functions work between processes. */
#ifndef WALLPROF_FUTEX_H
#define WALLPROF_FUTEX_H

#include "clock.h"
#include "sig/sys/sig_arch.h"

#include <linux/futex.h>
#include <stdint.h>

static inline void futex_wake_all(uint32_t *word)
{
    sig_syscall4(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, 0);
}

/*
 * Waits until the word is no longer `value`, or CLOCK_MONOTONIC reaches the deadline (0: none). May return
 * early, so the caller checks the word again.
 */
static inline void futex_wait(uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    struct timespec deadline = clock_ns_timespec(deadline_ns);
    sig_syscall6(SYS_futex, (long)word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value,
                 deadline_ns ? (long)&deadline : 0, 0, FUTEX_BITSET_MATCH_ANY);
}

static inline void futex_wake_all_shared(uint32_t *word)
{
    sig_syscall4(SYS_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0);
}

static inline void futex_wait_shared(uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    struct timespec deadline = clock_ns_timespec(deadline_ns);
    sig_syscall6(SYS_futex, (long)word, FUTEX_WAIT_BITSET, value, deadline_ns ? (long)&deadline : 0, 0,
                 FUTEX_BITSET_MATCH_ANY);
}

#endif
