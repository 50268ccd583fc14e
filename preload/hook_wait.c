#include "hook_wait.h"
#include "hook.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

bool hook_wait_resume(const struct hook_wait *wait)
{
    sig_wait_here.was_interrupted = false;
    raw_set_mask(sig_wait_here.mask);
    return !hook_wait_was_handled(wait);
}

void hook_wait_hold(struct hook_wait *wait)
{
    sig_wait_here.was_interrupted = false;
    if (wait->is_holding && !wait->hold.is_over)
        return; /* it is blocked because we hold the signals */
    wait->is_holding = true;
    wait->hold = (struct sig_hold){.outer = sig_wait_here.hold, .mask = sig_wait_here.mask};
    sig_wait_here.hold = &wait->hold;
    wait->mask = (sigset_t){.__val = {sig_wait_here.mask}};
    if (!wait->waiting.mask)
        wait->waiting.mask = (uint64_t *)wait->mask.__val;
}

void hook_wait_put_mask_back(const struct hook_wait *wait)
{
    if (wait->hold.is_over)
        return;
    sig_wait_here.hold = wait->hold.outer;
    raw_set_mask(wait->mask.__val[0]);
}

bool hook_wait_release(struct hook_wait *wait)
{
    if (wait->is_holding) {
        wait->is_holding = false;
        wait->waiting.mask = NULL; /* a mask of the caller's stays to the end */
        hook_wait_put_mask_back(wait);
    }
    return !hook_wait_was_handled(wait);
}

/*
 * The kernel may end a poll late by a thousandth of its time, by a two-hundredth in a process of low
 * priority, and by 100 ms at most (select_estimate_accuracy in fs/select.c); a sleep is late by 50 us. So
 * each step waits for most of the time that is left.
 */
static struct timespec step_towards(uint64_t left_ns)
{
    return clock_ns_timespec(left_ns > NS_PER_MS ? left_ns - left_ns / 128 : left_ns);
}

WALLPROF_WAIT int hook_wait_until(struct hook_wait *wait, uint64_t deadline_ns)
{
    int result = 0, before = errno;
    while (result == 0) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= deadline_ns)
            break;
        struct timespec step = step_towards(deadline_ns - now_ns);
        result = libc()->ppoll(NULL, 0, &step, &wait->mask);
        if (hook_wait_holds(wait, result < 0))
            result = 0;
    }
    errno = before;
    return result == 0 ? 0 : EINTR;
}

typedef __typeof__(_Unwind_GetCFA) get_cfa_fn;

/*
 * Of the unwinder that calls us, since a context can be read only by the one that made it. It is looked up
 * because a library that needs libgcc_s costs each program a tenth of a millisecond at its start.
 */
static get_cfa_fn *get_cfa_of(const void *unwinder)
{
    Dl_info object;
    struct link_map *map;
    return dladdr1(unwinder, &object, (void **)&map, RTLD_DL_LINKMAP)
               ? (get_cfa_fn *)(uintptr_t)dlsym(map, "_Unwind_GetCFA")
               : NULL;
}

_Unwind_Reason_Code hook_wait_personality(int version, _Unwind_Action actions, uint64_t class,
                                          struct _Unwind_Exception *exception,
                                          struct _Unwind_Context *context)
{
    (void)version, (void)class, (void)exception;
    enum { FRAME_BYTES_MAX = 4096 };
    uintptr_t noted = (uintptr_t)sig_wait_here.waits;
    bool may_be_over = (actions & _UA_CLEANUP_PHASE) && noted;
    get_cfa_fn *get_cfa = may_be_over ? get_cfa_of(__builtin_return_address(0)) : NULL;
    struct hook_wait *wait = (struct hook_wait *)noted;
    if (!get_cfa) /* without one the wait stays noted, as after a longjmp */
        return _URC_CONTINUE_UNWIND;
    uintptr_t frame = get_cfa(context);
    if (noted - frame >= FRAME_BYTES_MAX) { /* not this frame's: what is further in is over, and not read */
        sig_wait_here.waits = noted < frame ? NULL : sig_wait_here.waits;
        sig_wait_here.hold = noted < frame ? NULL : sig_wait_here.hold;
        return _URC_CONTINUE_UNWIND;
    }
    if (sig_wait_here.was_interrupted)
        hook_wait_hold(wait);
    hook_wait_end(wait);
    return _URC_CONTINUE_UNWIND;
}
