/*
 * For hooks of functions that our signal would cut short: they begin, wait, and wait again for what is left
 * when it was ours alone.
 *
 *     struct hook_wait wait = hook_wait_begin();
 *     int result = real(...);
 *     while (hook_wait_goes_on(NULL, result < 0))
 *         result = real(... with what is left ...);
 *     hook_wait_end(&wait);
 *
 * Called from: any thread of the program, handlers included; waits nest. errno is what the last real function
 * has set.
 */
#ifndef WALLPROF_HOOK_WAIT_H
#define WALLPROF_HOOK_WAIT_H

#include "clock.h"
#include "sig_arch.h"
#include "sig_wait.h"

#include <errno.h>
#include <signal.h>

struct hook_wait {
    uint64_t outer_sp; /* of the wait that this one is within a handler of */
};

static inline struct hook_wait hook_wait_begin(void)
{
    struct hook_wait wait = {.outer_sp = sig_wait_here.sp};
    sig_wait_here.was_interrupted = false;
    sig_wait_here.sp = sig_stack_pointer();
    return wait;
}

static inline void hook_wait_end(const struct hook_wait *wait)
{
    sig_wait_here.sp = wait->outer_sp;
}

/* Puts the program's mask back. Whether no handler of the program's was waiting for that. wait_mask: what the
 * call itself blocks instead, NULL when it does not. */
bool hook_wait_resume(const sigset_t *wait_mask);

/* Whether to wait again: for the time that was left at sig_wait_here.time_ns. */
static inline bool hook_wait_goes_on(const sigset_t *wait_mask, bool failed)
{
    if (__builtin_expect(!sig_wait_here.was_interrupted, 1))
        return false;
    return hook_wait_resume(wait_mask) && failed && errno == EINTR;
}

/* The same for functions that return an error number. */
static inline bool hook_wait_goes_on_after(const sigset_t *wait_mask, int error)
{
    if (__builtin_expect(!sig_wait_here.was_interrupted, 1))
        return false;
    return hook_wait_resume(wait_mask) && error == EINTR;
}

/* ---- what is left ---- */

static inline uint64_t hook_wait_timespec_ns(const struct timespec *time)
{
    uint64_t seconds = (uint64_t)time->tv_sec < UINT64_MAX / 2 / NS_PER_S ? (uint64_t)time->tv_sec
                                                                          : UINT64_MAX / 2 / NS_PER_S;
    return seconds * NS_PER_S + (uint64_t)time->tv_nsec;
}

static inline struct timespec hook_wait_left(uint64_t deadline_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    return clock_ns_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
}

#endif
