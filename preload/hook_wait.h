/*
 * For hooks of functions that our signal would cut short: they begin, wait, and wait again for what is left
 * when it was ours alone.
 *
 *     struct hook_wait wait;
 *     hook_wait_begin(&wait);
 *     int result = real(...);
 *     while (hook_wait_holds(&wait, result < 0))
 *         result = real(... with what is left and wait.mask ...);
 *     hook_wait_end(&wait);
 *
 * After our signal every other is blocked (sig_wait.h), so that no handler of the program's has run whose
 * EINTR would be taken for ours. hook_wait_holds leaves it so, for functions that can wait with a mask of
 * their own: they let the signals in and wait in one step, and the mask is put back at the end. For the
 * others hook_wait_goes_on puts it back; if a handler of the program's has run for it, the call has ended. A
 * signal that comes between that and the next wait is taken as one that came before the wait: some 20 ns in
 * which a caller that must not miss it could.
 *
 * A cancelled thread is unwound through the hook: hook_wait_personality ends the wait then.
 *
 * Called from: any thread of the program, handlers included; waits nest. errno is what the last real function
 * has set.
 */
#ifndef WALLPROF_HOOK_WAIT_H
#define WALLPROF_HOOK_WAIT_H

#include "base/clock.h"
#include "sig/sys/sig_arch.h"
#include "sig/signal/sig_wait.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unwind.h>

struct hook_wait {
    struct sig_waiting waiting;
    bool is_holding; /* signals are blocked until the end; then: */
    sigset_t mask;   /* the program's, to wait with */
};

/* Ends the innermost wait when a thread is unwound through its hook: of all frames that have it as their
 * personality routine (Itanium C++ ABI: Exception Handling, 1.3 and 2.5.2), and nothing else in them. */
_Unwind_Reason_Code hook_wait_personality(int version, _Unwind_Action actions, uint64_t class,
                                          struct _Unwind_Exception *exception,
                                          struct _Unwind_Context *context);

/* Always inlined: the directive is for the frame of the hook. 0x1b: relative, 4 bytes with a sign. */
__attribute__((always_inline)) static inline void hook_wait_begin(struct hook_wait *wait)
{
    __asm__ volatile(".cfi_personality 0x1b, hook_wait_personality");
    wait->waiting.outer = sig_wait_here.waits;
    wait->waiting.handled = sig_wait_here.handled;
    wait->waiting.may_be_short = false;
    wait->waiting.mask = NULL;
    wait->is_holding = false;
    sig_wait_here.was_interrupted = false;
    sig_wait_here.waits = &wait->waiting;
}

/* With a mask for the kernel, if not NULL, for the length of the wait; a handler may change it. */
__attribute__((always_inline)) static inline void hook_wait_begin_with(struct hook_wait *wait,
                                                                       const sigset_t *mask)
{
    hook_wait_begin(wait);
    wait->waiting.mask = (uint64_t *)(uintptr_t)mask;
}

static inline void hook_wait_end(const struct hook_wait *wait)
{
    sig_wait_here.waits = wait->waiting.outer;
    if (__builtin_expect(wait->is_holding, 0))
        sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&wait->mask, 0, sizeof(uint64_t));
}

/* The parts that are rarely needed: the mask is put back, or kept for the next wait and the end. */
bool hook_wait_resume(const struct hook_wait *wait);
void hook_wait_hold(struct hook_wait *wait);

/* For calls that give less than they were asked for when a signal comes: whether ours came, and at the end of
 * the call, however it ended. The wait holds then. */
static inline bool hook_wait_was_cut(struct hook_wait *wait)
{
    if (__builtin_expect(!sig_wait_here.was_interrupted, 1))
        return false;
    hook_wait_hold(wait);
    return true;
}

/* Ends a hold before the wait's end: for calls that have no mask. False when a handler of the program's has
 * run: then the call has ended. */
bool hook_wait_let_go(struct hook_wait *wait);

/* Whether a handler of the program's has run since the wait began. */
static inline bool hook_wait_was_handled(const struct hook_wait *wait)
{
    return wait->waiting.handled != sig_wait_here.handled;
}

/* Until a moment by CLOCK_MONOTONIC, when the wait holds: 0, or EINTR for a handler of the program's. */
int hook_wait_until(struct hook_wait *wait, uint64_t deadline_ns);

/* Whether to wait again, for what was left at sig_wait_here.time_ns. */
static inline bool hook_wait_goes_on(const struct hook_wait *wait, bool failed)
{
    return __builtin_expect(sig_wait_here.was_interrupted, 0) && hook_wait_resume(wait) && failed &&
           errno == EINTR;
}

/* The same for functions that return an error number. */
static inline bool hook_wait_goes_on_after(const struct hook_wait *wait, int error)
{
    return __builtin_expect(sig_wait_here.was_interrupted, 0) && hook_wait_resume(wait) && error == EINTR;
}

/* The same for a wait with a mask: the caller's, or wait->mask if the function has none. */
static inline bool hook_wait_holds(struct hook_wait *wait, bool failed)
{
    if (__builtin_expect(!sig_wait_here.was_interrupted, 1))
        return false;
    hook_wait_hold(wait);
    return failed && errno == EINTR;
}

static inline bool hook_wait_holds_after(struct hook_wait *wait, int error)
{
    if (__builtin_expect(!sig_wait_here.was_interrupted, 1))
        return false;
    hook_wait_hold(wait);
    return error == EINTR;
}

/* ---- what is left ---- */

static inline uint64_t hook_wait_timespec_ns(const struct timespec *time)
{
    uint64_t seconds = (uint64_t)time->tv_sec < UINT64_MAX / 2 / NS_PER_S ? (uint64_t)time->tv_sec
                                                                          : UINT64_MAX / 2 / NS_PER_S;
    return seconds * NS_PER_S + (uint64_t)time->tv_nsec;
}

/* By CLOCK_MONOTONIC, 0 for a call that cannot wait or waits for ever: those need no clock. */
static inline uint64_t hook_wait_deadline(const struct timespec *time)
{
    return time && (time->tv_sec > 0 || time->tv_nsec > 0)
               ? clock_monotonic_ns() + hook_wait_timespec_ns(time)
               : 0;
}

static inline struct timespec hook_wait_left(uint64_t deadline_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    return clock_ns_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
}

#endif
