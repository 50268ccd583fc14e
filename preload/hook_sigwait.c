/*
 * Waiting for signals.
 *
 * After our signal all others are blocked, and sigtimedwait has no mask to unblock them while it waits. So it
 * waits for those as well. A signal that has a handler is sent to the thread again, as it was, and unblocked.
 *
 * Our signals stay in the set, because the program may send itself a signal with one of our numbers. The
 * kernel may give one of ours to the call instead of to our handler. The hook replies to it and waits on. So
 * what the signal says is read here first, and the program is given a copy.
 */
#include "hook_argument.h"
#include "hook_mask.h"
#include "hook_wait.h"
#include "hook.h"
#include "sig/signal/sig_action.h"
#include "sig/signal/sig_handler.h"
#include "sig/signal/sig_numbers.h"
#include "base/raw_calls.h"

#include <stddef.h>
#include <unistd.h>

enum { KERNEL_SIGSET_BYTES = sizeof(uint64_t) };

/* Makes the system call itself, because the C library's function changes SI_TKILL to SI_USER, which a handler
 * must not see. A cancellation point like that function. A signal's number, or -1 and errno. */
WALLPROF_WAIT static int take_signal(uint64_t set, siginfo_t *info, const struct timespec *time)
{
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    long result = sig_syscall4(SYS_rt_sigtimedwait, (long)&set, (long)info, (long)time, KERNEL_SIGSET_BYTES);
    pthread_setcanceltype(type, NULL);
    if (result >= 0)
        return (int)result;
    errno = (int)-result;
    return -1;
}

/* Gives a signal that was taken to its handler. Whether a handler of the program has run. */
WALLPROF_WAIT static bool deliver_signal(struct hook_wait *wait, int number, siginfo_t *info)
{
    sig_action_queue(raw_gettid(), number, info);
    uint64_t all = raw_set_mask(wait->mask.__val[0]);
    raw_set_mask(all);
    return hook_wait_was_handled(wait);
}

/* As sigtimedwait, while the wait holds the other signals. */
WALLPROF_WAIT static int wait_for_any(struct hook_wait *wait, const sigset_t *set, siginfo_t *info,
                                      struct hook_limit *limit)
{
    for (;;) {
        siginfo_t taken;
        struct timespec left;
        int number = take_signal(sig_set_bits(set) | ~sig_set_bits(&wait->mask), &taken,
                                 hook_limit_left(limit, &left));
        if (number < 0 && hook_wait_holds(wait, true))
            continue;
        if (number < 0)
            return -1;
        if (sigismember(set, number)) {
            if (taken.si_code == SI_TKILL)
                taken.si_code = SI_USER;
            if (info)
                *info = taken;
            return number;
        }
        if (deliver_signal(wait, number, &taken)) {
            errno = EINTR;
            return -1;
        }
    }
}

/* Whether the call took one of our signals; the reply has been made then. */
WALLPROF_WAIT static bool took_our_signal(int result, siginfo_t *info)
{
    ucontext_t context;
    return result > 0 && info->si_code <= 0 && getcontext(&context) == 0 && sig_handler_reply(info, &context);
}

WALLPROF_WAIT static int wait_for_signal(const sigset_t *set, siginfo_t *info, const struct timespec *time)
{
    siginfo_t seen;
    sigset_t copy;
    if (sig_numbers_current() == 0)
        return libc()->sigtimedwait(set, info, time);
    if (set && hook_argument_read(&copy, set, sizeof(uint64_t))) {
        hook_mask_to_kernel(sig_set_bits(&copy));
        set = &copy;
    }
    struct hook_limit limit;
    hook_limit_begin(&limit, time);
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = libc()->sigtimedwait(set, &seen, time);
    for (;;) {
        struct timespec left;
        if (hook_wait_holds(&wait, result < 0))
            result = wait_for_any(&wait, set, &seen, &limit);
        else if (took_our_signal(result, &seen))
            result = libc()->sigtimedwait(set, &seen, hook_limit_left(&limit, &left));
        else
            break;
    }
    hook_wait_end(&wait);
    if (result > 0 && info && !hook_argument_write(info, &seen, sizeof(seen))) {
        errno = EFAULT;
        return -1;
    }
    return result;
}

WALLPROF_WAIT_HOOK int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    return wait_for_signal(set, info, NULL);
}

WALLPROF_WAIT_HOOK int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                                    const struct timespec *restrict time)
{
    return wait_for_signal(set, info, time);
}

/* No handler ends this one, as in the C library. */
WALLPROF_WAIT_HOOK int sigwait(const sigset_t *restrict set, int *restrict ret_number)
{
    int result, before = errno;
    do
        result = wait_for_signal(set, NULL, NULL);
    while (result < 0 && errno == EINTR);
    int error = errno;
    errno = before;
    if (result < 0)
        return error;
    *ret_number = result;
    return 0;
}

WALLPROF_WAIT_HOOK int sigsuspend(const sigset_t *mask)
{
    sigset_t for_kernel;
    mask = hook_mask_for_kernel(mask, &for_kernel);
    struct hook_wait wait;
    hook_wait_begin_with(&wait, mask, &for_kernel);
    int result;
    do
        result = libc()->sigsuspend(mask);
    while (hook_wait_holds(&wait, true));
    hook_wait_end(&wait);
    return result;
}

WALLPROF_ALSO(__sigsuspend, sigsuspend);

/* ---- older names: with the low half of a mask, or with the calling thread's mask without one signal ---- */

extern int hook_sigpause(int bits) __asm__("sigpause");
extern int __xpg_sigpause(int number);
extern int __sigpause(int bits_or_number, int is_number);

WALLPROF_WAIT_HOOK int hook_sigpause(int bits)
{
    sigset_t set = {0};
    sig_set_assign(&set, (uint32_t)bits);
    return sigsuspend(&set);
}

WALLPROF_WAIT_HOOK int __xpg_sigpause(int number)
{
    sigset_t set;
    return sigprocmask(SIG_BLOCK, NULL, &set) < 0 || sigdelset(&set, number) < 0 ? -1 : sigsuspend(&set);
}

WALLPROF_WAIT_HOOK int __sigpause(int bits_or_number, int is_number)
{
    return is_number ? __xpg_sigpause(bits_or_number) : hook_sigpause(bits_or_number);
}

/* Only a signal ends it. After ours it goes on as sigsuspend, which has a mask. */
WALLPROF_WAIT_HOOK int pause(void)
{
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = libc()->pause();
    while (hook_wait_holds(&wait, true))
        result = libc()->sigsuspend(&wait.mask);
    hook_wait_end(&wait);
    return result;
}
