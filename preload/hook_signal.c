/*
 * Actions of signals. The program's action for a signal that we hold is kept in our memory (sig_action.h). An
 * action for another signal is given to the kernel with two changes. Its mask does not block our signals, and
 * its handler is counted (sig_trampolines.h). A child of vfork or _Fork has actions of its own, which are
 * given to the kernel unchanged; the changes that its parent has made are hidden from it.
 */
#include "hook_argument.h"
#include "hook_mask.h"
#include "hook_signal.h"
#include "hook.h"
#include "account/thread_annotations.h"
#include "base/raw_calls.h"
#include "session/hook_memory.h"
#include "session/session.h"
#include "sig/signal/sig_wait.h"
#include "sig/signal/sig_action.h"
#include "sig/signal/sig_control.h"
#include "sig/signal/sig_trampolines.h"
#include "sig/signal/sig_numbers.h"
#include "sig/signal/sig_process.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>

typedef void real_handler_fn(int);

/* Whether the program's action is kept in our memory. Called after the number has been given back. */
static bool is_kept(int number)
{
    return sig_action_is_held(number) && sig_process_is_this();
}

/* The program's form of a mask in an action of the kernel. In a child of vfork or _Fork, a mask with all of
 * our signals was set by the child itself. */
static uint64_t mask_to_program(uint64_t mask)
{
    uint64_t all = sig_numbers_all();
    bool is_childs = (mask & all) == all && !sig_process_is_this();
    return is_childs ? mask : sig_numbers_to_program(mask);
}

/* Turns an action of the kernel into the one that the program has set. */
static void show_action(int number, struct sigaction *action)
{
    sig_control_hide(number, action);
    if (sig_action_translate(number, action))
        return;
    if (sig_set_bits(&action->sa_mask) & sig_numbers_all())
        sig_set_assign(&action->sa_mask, mask_to_program(sig_set_bits(&action->sa_mask)));
    action->sa_handler = (real_handler_fn *)sig_trampoline_handler((uintptr_t)action->sa_handler);
}

/* ---- the kernel's action of a signal that is not ours: real is the C library's function, or the call ----
 */

/* Sets an action with our signals in its mask; the handler's entry unblocks them if the stack has room. */
static int set_action_with_ours(sig_sigaction_fn *real, int number, struct sigaction *action,
                                struct sigaction *old)
{
    uint64_t mask = sig_action_lock();
    sig_numbers_expect_masks_to_change();
    sig_set_assign(&action->sa_mask, sig_set_bits(&action->sa_mask) | sig_numbers_held_for_stacks());
    int status = real(number, action, old);
    sig_action_unlock(mask);
    return status;
}

static int change_kernel_action(sig_sigaction_fn *real, int number, const struct sigaction *action,
                                struct sigaction *old)
{
    struct sigaction for_kernel;
    int status;
    if (action) {
        for_kernel = *action;
        sig_set_assign(&for_kernel.sa_mask, hook_mask_to_kernel(sig_set_bits(&action->sa_mask)));
        for_kernel.sa_handler =
            (real_handler_fn *)sig_trampoline((uintptr_t)action->sa_handler, action->sa_flags);
    }
    if (action && sig_trampoline_lets_in((uintptr_t)for_kernel.sa_handler) && sig_process_is_this())
        status = set_action_with_ours(real, number, &for_kernel, old);
    else
        status = real(number, action ? &for_kernel : NULL, old);
    if (status == 0 && old)
        show_action(number, old);
    return status;
}

/* Not in a child of vfork. Before there is a recording the action is only noted. A request that is on its way
 * to another thread would find a stack that nobody has looked at. */
static void follow_stack(int number, const struct sigaction *action)
{
    int error = errno;
    if (sig_wait_here.lent_to_children || !sig_action_note_stack(number, action) || !sig_process_is_this())
        return;
    uint64_t mask = session_hold_quietly_for_all();
    sig_action_follow_stack();
    session_release_quietly(mask);
    errno = error;
}

/* ---- the threads' signal stacks ---- */

/* Tells the sampler of the thread's signal stack. While our handler runs there, no request is outstanding at
 * the change. The new one is read from the kernel, as the program's pointer may be no good. A handler of the
 * program in between could leave by a jump. */
WALLPROF_EARLY_HOOK int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    struct thread_annotations *annotations = sig_process_is_this() ? session_thread_annotations() : NULL;
    if (!stack || !annotations)
        return libc()->sigaltstack(stack, old);
    uint64_t mask = raw_set_mask(~(uint64_t)0);
    struct thread_signal_stack before = thread_annotations_hide_signal_stack(annotations);
    bool is_held = sig_action_is_on_signal_stack();
    if (is_held)
        session_hold_quietly();
    int status = libc()->sigaltstack(stack, old), error = errno;
    if (status == 0)
        thread_annotations_show_signal_stack(annotations, &before, session_thread_stack_high());
    else
        thread_annotations_restore_signal_stack(annotations, &before);
    if (is_held)
        session_release_quietly(mask);
    else
        raw_set_mask(mask);
    errno = error;
    return status;
}

/* 32 and 33 are the C library's own (SIGCANCEL, SIGSETXID). */
static bool is_no_signal(int number)
{
    return sig_numbers_bit(number) == 0 || number == 32 || number == 33;
}

/* Gets and sets an action. Each may be NULL, and is our own memory: under our lock no fault may happen. real:
 * as for change_kernel_action. */
static int swap_action(sig_sigaction_fn *real, int number, struct sigaction *action, struct sigaction *old)
{
    if (action)
        hook_mask_give_back_number(number);
    if (action && sig_process_is_this())
        sig_control_give_back(number);
    int status = 0;
    if (is_kept(number)) {
        if (action && real == libc()->sigaction)
            sig_action_complete(number, action);
        sig_action_swap(number, action, old);
    } else {
        status = change_kernel_action(real, number, action, old);
    }
    if (status == 0 && action)
        follow_stack(number, action);
    return status;
}

/* The C library reads and writes the structs itself, after it has looked at the number. A bad pointer to one
 * is a fault there as here. */
WALLPROF_HOOK int sigaction(int number, const struct sigaction *restrict action,
                            struct sigaction *restrict old)
{
    struct sigaction wanted = {0}, before = {0};
    if (is_no_signal(number))
        return libc()->sigaction(number, action, old);
    if (action)
        sig_action_copy(&wanted, action);
    int status = swap_action(libc()->sigaction, number, action ? &wanted : NULL, old ? &before : NULL);
    if (status == 0 && old)
        sig_action_copy(old, &before);
    return status;
}

WALLPROF_ALSO(__sigaction, sigaction);

/* ---- syscall(SYS_rt_sigaction) ---- */

static struct sigaction from_kernel(const struct sig_kernel_action *action)
{
    struct sigaction ret = {
        .sa_handler = action->handler, .sa_flags = (int)action->flags, .sa_restorer = action->restorer};
    sig_set_assign(&ret.sa_mask, action->mask);
    return ret;
}

static struct sig_kernel_action to_kernel(const struct sigaction *action)
{
    return (struct sig_kernel_action){.handler = action->sa_handler,
                                      .flags = (unsigned)action->sa_flags,
                                      .restorer = action->sa_restorer,
                                      .mask = sig_set_bits(&action->sa_mask)};
}

/* As the C library's sigaction, but nothing is added to the action. */
static int call_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sig_kernel_action after, before;
    if (action)
        after = to_kernel(action);
    long status = libc()->syscall(SYS_rt_sigaction, number, action ? (long)&after : 0,
                                  old ? (long)&before : 0, sizeof(before.mask), 0, 0);
    if (status == 0 && old)
        *old = from_kernel(&before);
    return (int)status;
}

/* The kernel writes the old action last, so the new one is in force even if that fails. */
static long show_old(void *old, const struct sigaction *before)
{
    struct sig_kernel_action shown = to_kernel(before);
    if (!old || hook_argument_write(old, &shown, sizeof(shown)))
        return 0;
    errno = EFAULT;
    return -1;
}

bool hook_signal_call(long number, long action, long old, long set_bytes, long *ret)
{
    struct sig_kernel_action given;
    struct sigaction wanted, before = {0};
    if (sig_numbers_current() == 0 || (int)number != number || is_no_signal((int)number) ||
        set_bytes != sizeof(given.mask))
        return false;
    if (action && !hook_argument_read(&given, (const void *)action, sizeof(given)))
        return false; /* the kernel refuses it */
    if (action)
        wanted = from_kernel(&given);
    *ret = swap_action(call_sigaction, (int)number, action ? &wanted : NULL, &before);
    if (*ret == 0)
        *ret = show_old((void *)old, &before);
    return true;
}

/* ---- older names of these ---- */

static real_handler_fn *change_action(int number, real_handler_fn *handler, int flags, bool is_masked)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    if (is_masked)
        sigaddset(&action.sa_mask, number);
    return sigaction(number, &action, &old) < 0 ? SIG_ERR : old.sa_handler;
}

static bool is_refused(int number, real_handler_fn *handler)
{
    bool is_bad = handler == SIG_ERR || number < 1 || number > 64;
    if (is_bad)
        errno = EINVAL;
    return is_bad;
}

/* BSD semantics: calls are restarted, the action stays, and the signal is blocked while its handler runs. */
WALLPROF_HOOK real_handler_fn *signal(int number, real_handler_fn *handler)
{
    if (is_refused(number, handler))
        return SIG_ERR;
    bool is_interrupting =
        __atomic_load_n(&hook_memory()->interrupting, __ATOMIC_RELAXED) & sig_numbers_bit(number);
    return change_action(number, handler, is_interrupting ? 0 : SA_RESTART, true);
}

WALLPROF_ALSO(bsd_signal, signal);
WALLPROF_ALSO(ssignal, signal);

extern real_handler_fn *__sysv_signal(int number, real_handler_fn *handler);

/* System V semantics: calls are interrupted, the first signal resets the action, and nothing is blocked. */
WALLPROF_HOOK real_handler_fn *__sysv_signal(int number, real_handler_fn *handler)
{
    if (is_refused(number, handler))
        return SIG_ERR;
    return change_action(number, handler, (int)(SA_RESETHAND | SA_NODEFER), false);
}

WALLPROF_ALSO(sysv_signal, __sysv_signal);

WALLPROF_HOOK int sigignore(int number)
{
    return change_action(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

/* Changes the action and unblocks the signal; SIG_HOLD only blocks it. Returns SIG_HOLD if it was blocked. */
WALLPROF_HOOK real_handler_fn *sigset(int number, real_handler_fn *handler)
{
    sigset_t one, old;
    struct sigaction seen;
    if (is_refused(number, handler))
        return SIG_ERR;
    if (sigaction(number, NULL, &seen) < 0)
        return SIG_ERR;
    if (handler != SIG_HOLD && change_action(number, handler, 0, false) == SIG_ERR)
        return SIG_ERR;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &one, &old);
    return sigismember(&old, number) ? SIG_HOLD : seen.sa_handler;
}

WALLPROF_HOOK int siginterrupt(int number, int is_interrupting)
{
    struct sigaction action;
    if (is_interrupting)
        __atomic_or_fetch(&hook_memory()->interrupting, sig_numbers_bit(number), __ATOMIC_RELAXED);
    else
        __atomic_and_fetch(&hook_memory()->interrupting, ~sig_numbers_bit(number), __ATOMIC_RELAXED);
    if (sigaction(number, NULL, &action) < 0)
        return -1;
    action.sa_flags = is_interrupting ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return sigaction(number, &action, NULL);
}
