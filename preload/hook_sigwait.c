/*
 * Waiting for signals.
 *
 * sigtimedwait has no mask to let the other signals in while it waits. After our signal, when all are
 * blocked, it waits for those as well; one that a handler runs for is sent to the thread again, as it was,
 * and let in.
 *
 * Ours stay in the set: who waits for all signals gets the program's own with one of our numbers, too. Of
 * ours the hook answers those that the kernel hands to the call instead of to the handler, and waits on.
 */
#include "hook_mask.h"
#include "hook_wait.h"
#include "real.h"
#include "sig/signal/sig_action.h"
#include "sig/signal/sig_handler.h"

#include <stddef.h>
#include <unistd.h>

enum { KERNEL_SIGSET_BYTES = sizeof(uint64_t) };

/* The system call itself: the C library's function makes SI_USER of SI_TKILL, which a handler must not see.
 * It is a cancellation point as it is there. -1 and errno, or a signal's number. */
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

/* Lets the thread's handler have a signal that was taken. Whether one of the program's has run. */
WALLPROF_WAIT static bool let_in(struct hook_wait *wait, int number, siginfo_t *info)
{
    uint64_t all;
    sig_action_queue(gettid(), number, info);
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&wait->mask, (long)&all, KERNEL_SIGSET_BYTES);
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, KERNEL_SIGSET_BYTES);
    return hook_wait_was_handled(wait);
}

/* As sigtimedwait, when the wait holds. deadline_ns: 0 for none. */
WALLPROF_WAIT static int wait_for_any(struct hook_wait *wait, const sigset_t *set, siginfo_t *info,
                                      uint64_t deadline_ns)
{
    for (;;) {
        siginfo_t taken;
        struct timespec left = hook_wait_left(deadline_ns);
        int number =
            take_signal(sig_set_bits(set) | ~sig_set_bits(&wait->mask), &taken, deadline_ns ? &left : NULL);
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
        if (let_in(wait, number, &taken)) {
            errno = EINTR;
            return -1;
        }
    }
}

/* Whether the call was given one of ours. */
WALLPROF_WAIT static bool is_answered(int result, siginfo_t *info)
{
    ucontext_t context;
    return result > 0 && info->si_code <= 0 && getcontext(&context) == 0 &&
           sig_handler_answer(info, &context);
}

WALLPROF_WAIT static int wait_for_signal(const sigset_t *set, siginfo_t *info, const struct timespec *time)
{
    siginfo_t seen;
    hook_mask_heed(set);
    uint64_t deadline_ns = hook_wait_deadline(time);
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = real_functions()->sigtimedwait(set, &seen, time);
    for (;;) {
        struct timespec left = hook_wait_left(deadline_ns);
        if (hook_wait_holds(&wait, result < 0))
            result = wait_for_any(&wait, set, &seen, deadline_ns);
        else if (is_answered(result, &seen))
            result = real_functions()->sigtimedwait(set, &seen, deadline_ns ? &left : time);
        else
            break;
    }
    hook_wait_end(&wait);
    if (result > 0 && info)
        *info = seen;
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

/* Of the C library, too, this one is not ended by a handler. */
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
    hook_wait_begin_with(&wait, mask);
    int result;
    do
        result = real_functions()->sigsuspend(mask);
    while (hook_wait_holds(&wait, true));
    hook_wait_end(&wait);
    return result;
}

WALLPROF_ALSO(__sigsuspend, sigsuspend);

/* ---- the same by older names: of the low half of a mask, or of the calling thread's without a signal ----
 */

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

/* Nothing but a signal ends it. After ours it becomes a sigsuspend, which has a mask. */
WALLPROF_WAIT_HOOK int pause(void)
{
    struct hook_wait wait;
    hook_wait_begin(&wait);
    int result = real_functions()->pause();
    while (hook_wait_holds(&wait, true))
        result = real_functions()->sigsuspend(&wait.mask);
    hook_wait_end(&wait);
    return result;
}
