/* Waiting on a word, as futex(2) has it: any thread, no errno. Private to the process, but for the two that
 * say shared. */
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
 * Until the word is not `value` any more, or CLOCK_MONOTONIC reaches the deadline (0: none). May return
 * early: look at the word again.
 */
static inline void futex_wait(uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    struct timespec deadline = clock_ns_timespec(deadline_ns);
    sig_syscall6(SYS_futex, (long)word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value,
                 deadline_ns ? (long)&deadline : 0, 0, FUTEX_BITSET_MATCH_ANY);
}

/* Of a word that other processes may have mapped, too. */
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
