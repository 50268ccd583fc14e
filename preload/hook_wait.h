/*
 * For hooks of functions that our signal would cut short: they begin, wait, and wait again for what is left
 * when it was ours alone.
 *
 *     struct hook_wait wait = hook_wait_begin();
 *     int result = real(...);
 *     while (hook_wait_goes_on(result < 0))
 *         result = real(... with what is left ...);
 *     hook_wait_end(&wait);
 *
 * After our signal every other is blocked (sig_wait.h). hook_wait_goes_on puts the program's mask back,
 * unless a handler of the program's is about to run for it: then the call has ended. A signal that comes
 * between its look and the next wait is taken as one that came before the wait: some 200 ns in which a caller
 * that must not miss it could. Functions that wait with a mask of their own have no such gap: with
 * hook_wait_holds the signals stay blocked until the wait itself lets them in, or until its end.
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
    bool is_holding;   /* signals are blocked until the end; then: */
    sigset_t mask;     /* the program's, to wait with */
};

static inline struct hook_wait hook_wait_begin(void)
{
    struct hook_wait wait;
    wait.outer_sp = sig_wait_here.sp;
    wait.is_holding = false;
    sig_wait_here.was_interrupted = false;
    sig_wait_here.sp = sig_stack_pointer();
    return wait;
}

static inline void hook_wait_end(const struct hook_wait *wait)
{
    sig_wait_here.sp = wait->outer_sp;
    if (__builtin_expect(wait->is_holding, 0))
        sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&wait->mask, 0, sizeof(uint64_t));
}

/* The parts that are rarely needed: the mask is put back, or kept for the next wait and the end. */
bool hook_wait_resume(void);
void hook_wait_hold(struct hook_wait *wait);

/* Whether to wait again, for what was left at sig_wait_here.time_ns. */
static inline bool hook_wait_goes_on(bool failed)
{
    return __builtin_expect(sig_wait_here.was_interrupted, 0) && hook_wait_resume() && failed &&
           errno == EINTR;
}

/* The same for functions that return an error number. */
static inline bool hook_wait_goes_on_after(int error)
{
    return __builtin_expect(sig_wait_here.was_interrupted, 0) && hook_wait_resume() && error == EINTR;
}

/* The same for a wait with a mask: the caller's, or wait->mask if the function has none. */
static inline bool hook_wait_holds(struct hook_wait *wait, bool failed)
{
    if (__builtin_expect(!sig_wait_here.was_interrupted, 1))
        return false;
    hook_wait_hold(wait);
    return failed && errno == EINTR;
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
