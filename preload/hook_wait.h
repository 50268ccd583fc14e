/*
 * For hooks of functions that our signal would cut short. A hook begins a wait, makes the call, and makes it
 * again for the time that is left when only our signal has ended it.
 *
 *     struct hook_wait wait;
 *     hook_wait_begin(&wait);
 *     int result = real(...);
 *     while (hook_wait_holds(&wait, result < 0))
 *         result = real(... with what is left and wait.mask ...);
 *     hook_wait_end(&wait);
 *
 * After our signal every other signal is blocked (sig_wait.h), so that no handler of the program runs whose
 * EINTR would be taken for ours. hook_wait_holds keeps them blocked, for functions that can wait with a mask:
 * such a call unblocks the signals and waits in one step, and the end of the wait puts the mask back. For
 * other functions hook_wait_goes_on puts the mask back at once. If a handler of the program runs then, the
 * call has ended. A signal that comes between that and the next call is treated as one that came before the
 * wait. That window is some 20 ns long; a caller that must not miss a signal could miss one there.
 *
 * When a thread is cancelled it is unwound through the hook, and hook_wait_personality ends the wait.
 *
 * Called from: any thread of the program, handlers included; waits nest. errno is the last real function's.
 */
#ifndef WALLPROF_HOOK_WAIT_H
#define WALLPROF_HOOK_WAIT_H

#include "base/clock.h"
#include "base/raw_calls.h"
#include "sig/signal/sig_wait.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unwind.h>

struct hook_wait {
    struct sig_waiting waiting;
    bool is_holding; /* signals are blocked until the end; then: */
    struct sig_hold hold;
    sigset_t mask; /* the program's, to wait with */
};

/* Ends the innermost wait when a thread is unwound through its hook. It is the personality routine of the
 * hooks' frames (Itanium C++ ABI: Exception Handling, 1.3 and 2.5.2), and does nothing else. */
_Unwind_Reason_Code hook_wait_personality(int version, _Unwind_Action actions, uint64_t class,
                                          struct _Unwind_Exception *exception,
                                          struct _Unwind_Context *context);

/*
 * A wait that the program has left by longjmp is still noted. On one stack, a wait that goes on is further
 * out, at a higher address; one at this address or a little below it is over.
 */
static inline const struct sig_waiting *hook_wait_outer(const struct sig_waiting *noted,
                                                        const struct hook_wait *wait)
{
    enum { NEAR_BYTES = 64 * 1024 };
    return (uintptr_t)wait - (uintptr_t)noted < NEAR_BYTES ? NULL : noted;
}

/* Always inlined, because the directive is for the hook's frame. 0x1b: pc-relative, 4 bytes, signed. */
__attribute__((always_inline)) static inline void hook_wait_begin(struct hook_wait *wait)
{
    __asm__ volatile(".cfi_personality 0x1b, hook_wait_personality");
    wait->waiting.outer = hook_wait_outer(sig_wait_here.waits, wait);
    wait->waiting.handled = sig_wait_here.handled;
    wait->waiting.may_be_short = false;
    wait->waiting.mask = NULL;
    wait->is_holding = false;
    if (!wait->waiting.outer)
        sig_wait_here.hold = NULL;
    sig_wait_here.was_interrupted = false;
    sig_wait_here.waits = &wait->waiting;
}

/* The same for a call with a mask, as hook_mask_for_kernel has returned it. A handler may change it, if it is
 * the hook's own copy. */
__attribute__((always_inline)) static inline void hook_wait_begin_with(struct hook_wait *wait,
                                                                       const sigset_t *mask, sigset_t *copy)
{
    hook_wait_begin(wait);
    if (mask == copy)
        wait->waiting.mask = (uint64_t *)copy->__val;
}

/* At the end of a hold. */
void hook_wait_put_mask_back(const struct hook_wait *wait);

static inline void hook_wait_end(const struct hook_wait *wait)
{
    sig_wait_here.waits = wait->waiting.outer;
    if (__builtin_expect(wait->is_holding, 0))
        hook_wait_put_mask_back(wait);
}

/* The rare parts: resume puts the mask back, hold keeps it for the next call and the end. */
bool hook_wait_resume(const struct hook_wait *wait);
void hook_wait_hold(struct hook_wait *wait);

/* For calls that end early when a signal comes: whether ours came during the call. The wait holds then. */
static inline bool hook_wait_was_cut(struct hook_wait *wait)
{
    if (__builtin_expect(!sig_wait_here.was_interrupted, 1))
        return false;
    hook_wait_hold(wait);
    return true;
}

/* Ends a hold before the end of the wait, for calls that have no mask. False when a handler of the program
 * has run: then the call has ended. */
bool hook_wait_release(struct hook_wait *wait);

/* Whether a handler of the program has run since the wait began. */
static inline bool hook_wait_was_handled(const struct hook_wait *wait)
{
    return wait->waiting.handled != sig_wait_here.handled;
}

/* Waits until a moment of CLOCK_MONOTONIC, while the wait holds. 0, or EINTR after a program's handler. */
int hook_wait_until(struct hook_wait *wait, uint64_t deadline_ns);

/* Whether to make the call again, for what was left at sig_wait_here.time_ns. */
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

/* The same for a call with a mask: the caller's, or wait->mask if the caller gave none. */
static inline bool hook_wait_holds(struct hook_wait *wait, bool failed)
{
    return hook_wait_was_cut(wait) && failed && errno == EINTR;
}

static inline bool hook_wait_holds_after(struct hook_wait *wait, int error)
{
    return hook_wait_was_cut(wait) && error == EINTR;
}

/* The whole of a hook that makes its call again, with the same arguments, as long as only our signal ends it.
 * real: the call. */
#define HOOK_WAIT_AGAIN(type, real)                                                                          \
    do {                                                                                                     \
        struct hook_wait wait;                                                                               \
        hook_wait_begin(&wait);                                                                              \
        type result;                                                                                         \
        do                                                                                                   \
            result = (real);                                                                                 \
        while (hook_wait_goes_on(&wait, result < 0));                                                        \
        hook_wait_end(&wait);                                                                                \
        return result;                                                                                       \
    } while (0)

/* ---- what is left ---- */

static inline uint64_t hook_wait_timespec_ns(const struct timespec *time)
{
    uint64_t seconds = (uint64_t)time->tv_sec < UINT64_MAX / 2 / NS_PER_S ? (uint64_t)time->tv_sec
                                                                          : UINT64_MAX / 2 / NS_PER_S;
    return seconds * NS_PER_S + (uint64_t)time->tv_nsec;
}

/* By CLOCK_MONOTONIC. 0, without reading the clock, for a call that cannot wait or waits for ever. */
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
