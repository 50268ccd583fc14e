#include "sig_action.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig_trampolines.h"
#include "sig_numbers.h"
#include "sig_restart.h"
#include "sig_altstack.h"
#include "sig_wait.h"

#include <errno.h>

enum { KERNEL_SIGSET_BYTES = 8, COUNT = 65 };

/* What the kernel takes and gives. */
/* The program's actions, under a sequence lock: odd while one is written. */
static struct sigaction sig_program_actions[COUNT] __attribute__((section(".bss.tables")));
static uint32_t sig_program_sequence;
static uint32_t sig_action_locked;

static sig_handle_fn *sig_handle; /* written before anything is held */
static sig_sigaction_fn *sig_real;
static uint64_t sig_held;              /* a set of signals */
static uint32_t sig_runs_on_own_stack; /* SA_ONSTACK or 0 */

static uint32_t sig_plain; /* signals are sent without a value */

void sig_action_send_plainly(void)
{
    sig_store_relaxed(&sig_plain, 1);
}

bool sig_action_sends_plainly(void)
{
    return sig_load_relaxed(&sig_plain);
}

/* Whether the system call is refused, as by a filter. Other errors are of the thread (ended), the queue
 * (full) or the number (unknown). */
static bool is_refusal(long status)
{
    return status < 0 && status != -ESRCH && status != -EAGAIN && status != -EINVAL;
}

long sig_action_queue(long tid, int number, siginfo_t *info)
{
    long pid = sig_syscall4(SYS_getpid, 0, 0, 0, 0), status = -ENOSYS;
    if (!sig_action_sends_plainly())
        status = sig_syscall4(SYS_rt_tgsigqueueinfo, pid, tid, number, (long)info);
    if (!is_refusal(status))
        return status;
    sig_action_send_plainly(); /* before the first is sent: its delivery orders it */
    return sig_syscall4(SYS_tgkill, pid, tid, number, 0);
}

void sig_action_init(sig_handle_fn *handle, sig_sigaction_fn *real)
{
    sig_handle = handle;
    sig_real = real;
}

static uint64_t set_mask(uint64_t mask)
{
    uint64_t old = 0;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&old, KERNEL_SIGSET_BYTES);
    return old;
}

uint64_t sig_action_lock(void)
{
    uint64_t mask = set_mask(~(uint64_t)0);
    uint32_t is_free = 0;
    while (!sig_cas_acq_rel(&sig_action_locked, &is_free, 1)) { /* partner: the release in unlock */
        is_free = 0;
        sig_syscall4(SYS_sched_yield, 0, 0, 0, 0);
    }
    return mask;
}

void sig_action_unlock(uint64_t mask)
{
    sig_store_release(&sig_action_locked, 0);
    set_mask(mask);
}

void sig_action_forget_parent(void)
{
    sig_program_sequence = (sig_program_sequence + 1) & ~1U; /* a writer in the parent does not go on here */
    sig_action_locked = 0;
}

/* The program's action: a copy made while the sequence was even and unchanged. */
static void program_action(int number, struct sigaction *ret)
{
    uint32_t before, after;
    do {
        before = sig_load_acquire(&sig_program_sequence); /* partner: the release in write_action */
        sig_action_copy(ret, &sig_program_actions[number]);
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* partner: the fence in write_action */
        after = sig_load_relaxed(&sig_program_sequence);
    } while ((before & 1) || before != after);
}

/* Under the lock. */
static void write_action(int number, const struct sigaction *action)
{
    uint32_t sequence = sig_load_relaxed(&sig_program_sequence) & ~1U;
    sig_store_relaxed(&sig_program_sequence, sequence | 1U);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* partner: the fence in program_action */
    sig_action_copy(&sig_program_actions[number], action);
    sig_store_release(&sig_program_sequence, sequence + 2); /* partner: the acquire in program_action */
}

/* As the kernel decides it, with or without SA_SIGINFO. */
static bool is_handler(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

bool sig_action_is_held(int number)
{
    return (sig_load_relaxed(&sig_held) & sig_numbers_bit(number)) != 0;
}

/* Under the lock: sets the kernel's action by the program's. *ret_old: the one before. */
static int set_kernel_action(int number, struct sigaction *ret_old)
{
    const struct sigaction *program = &sig_program_actions[number];
    bool is_given = (sig_numbers_given() & sig_numbers_bit(number)) != 0;
    struct sigaction action = {.sa_sigaction = sig_handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (is_given && program->sa_handler == SIG_IGN)
        action = (struct sigaction){.sa_handler = SIG_IGN};
    else if (is_given && is_handler(program))
        action.sa_flags = SA_SIGINFO | (program->sa_flags & (int)(SA_RESTART | SA_ONSTACK));
    else
        action.sa_flags |= (int)sig_runs_on_own_stack;
    sig_set_assign(&action.sa_mask, ~SIG_ACTION_FAULTS);
    return sig_real(number, &action, ret_old);
}

bool sig_action_hold(int number)
{
    struct sigaction old;
    if (sig_action_is_held(number))
        return true;
    if (set_kernel_action(number, &old) < 0)
        return false;
    /* A constructor before ours may have set it. */
    old.sa_handler = (void (*)(int))sig_trampoline_handler((uintptr_t)old.sa_handler);
    write_action(number, &old);
    __atomic_or_fetch(&sig_held, sig_numbers_bit(number), __ATOMIC_RELAXED);
    return true;
}

static struct sig_kernel_action kernel_action(int number)
{
    struct sig_kernel_action action = {.handler = SIG_ERR};
    sig_syscall4(SYS_rt_sigaction, number, 0, (long)&action, KERNEL_SIGSET_BYTES);
    return action;
}

static void set_action_mask(int number, struct sig_kernel_action action, uint64_t mask)
{
    if (action.mask == mask)
        return;
    action.mask = mask;
    sig_syscall4(SYS_rt_sigaction, number, (long)&action, 0, KERNEL_SIGSET_BYTES);
}

/* Under the lock: puts our present numbers into the mask of a handler that may run on a signal stack. */
static void settle_mask(int number, uint64_t before, uint64_t now)
{
    struct sig_kernel_action action = kernel_action(number);
    if (sig_trampoline_lets_in((uintptr_t)action.handler))
        set_action_mask(number, action, sig_numbers_renew(action.mask & ~before) | now);
}

/* SA_ONSTACK or 0, by what the program has set. */
static uint32_t stack_flag(void)
{
    return sig_altstack_flag(sig_load_relaxed(&sig_held) | sig_numbers_bit(SIGPROF));
}

void sig_action_settle(void)
{
    uint64_t now = sig_numbers_ours(), before = sig_numbers_hold_for_stacks(now);
    bool changes_masks = now != before && sig_trampoline_some_let_in();
    sig_store_relaxed(&sig_runs_on_own_stack, stack_flag());
    for (int number = 1; number < COUNT; number++) {
        if (!sig_action_is_held(number) && changes_masks)
            settle_mask(number, before, now);
        else if (sig_action_is_held(number) && !sig_action_is_taken_away(number))
            set_kernel_action(number, NULL);
    }
}

bool sig_action_is_default(int number)
{
    return kernel_action(number).handler == SIG_DFL;
}

bool sig_action_is_default_of_program(int number)
{
    struct sigaction program;
    program_action(number, &program);
    return program.sa_handler == SIG_DFL;
}

bool sig_action_is_taken_away(int number)
{
    struct sigaction program;
    void (*handler)(int) = kernel_action(number).handler;
    program_action(number, &program);
    return (uintptr_t)handler != (uintptr_t)sig_handle &&
           !(handler == SIG_IGN && program.sa_handler == SIG_IGN);
}

bool sig_action_translate(int number, struct sigaction *action)
{
    bool is_handle = action->sa_sigaction == sig_handle && sig_handle;
    if (is_handle)
        program_action(number, action);
    return is_handle;
}

bool sig_action_show_ignored(int number)
{
    struct sigaction program;
    if (!sig_action_is_held(number))
        return false;
    program_action(number, &program);
    return program.sa_handler == SIG_IGN &&
           (uintptr_t)kernel_action(number).handler == (uintptr_t)sig_handle &&
           sig_real(number, &program, NULL) == 0;
}

/* Under the lock: makes the kernel's mask of a handler what the program means. */
static void give_mask_back(int number)
{
    struct sig_kernel_action action = kernel_action(number);
    if (action.handler != SIG_ERR)
        set_action_mask(number, action, sig_numbers_to_program(action.mask));
}

void sig_action_release_all(bool may_be_late)
{
    for (int number = 1; number < COUNT; number++) {
        struct sigaction program;
        sig_action_copy(&program, &sig_program_actions[number]);
        program.sa_handler = (void (*)(int))sig_trampoline((uintptr_t)program.sa_handler, program.sa_flags);
        if (!sig_action_is_held(number))
            give_mask_back(number);
        else if (!sig_action_is_taken_away(number) && !(may_be_late && program.sa_handler == SIG_DFL))
            sig_real(number, &program, NULL);
    }
    sig_store_relaxed(&sig_held, 0);
}

/* Its way back from a handler is in the action that it has set for us. */
void sig_action_complete(int number, struct sigaction *action)
{
    action->sa_flags |= SIG_ACTION_FLAGS;
    action->sa_restorer = kernel_action(number).restorer;
}

void sig_action_swap(int number, const struct sigaction *action, struct sigaction *old)
{
    const uint64_t never = sig_numbers_bit(SIGKILL) | sig_numbers_bit(SIGSTOP);
    struct sigaction before, after; /* copies: the program's pointers are not touched under the lock */
    if (action) {
        sig_action_copy(&after, action);
        sig_set_assign(&after.sa_mask, sig_set_bits(&action->sa_mask) & ~never); /* as the kernel does */
    }
    uint64_t mask = sig_action_lock();
    sig_action_copy(&before, &sig_program_actions[number]);
    if (action) {
        write_action(number, &after);
        set_kernel_action(number, NULL);
    }
    sig_action_unlock(mask);
    if (old)
        sig_action_copy(old, &before);
}

bool sig_action_note_stack(int number, const struct sigaction *action)
{
    sig_altstack_note_action(number, action);
    return stack_flag() != sig_load_relaxed(&sig_runs_on_own_stack);
}

void sig_action_follow_stack(void)
{
    uint64_t mask = sig_action_lock();
    sig_action_settle();
    sig_action_unlock(mask);
}

bool sig_action_is_on_signal_stack(void)
{
    return sig_load_relaxed(&sig_runs_on_own_stack) != 0;
}

/* Ends the process by a signal, as the kernel does for SIG_DFL. */
static void die_by(int signal_number)
{
    struct sig_kernel_action action = {0};
    sig_syscall4(SYS_rt_sigaction, signal_number, (long)&action, 0, KERNEL_SIGSET_BYTES);
    sig_syscall4(SYS_tgkill, sig_syscall4(SYS_getpid, 0, 0, 0, 0), sig_syscall4(SYS_gettid, 0, 0, 0, 0),
                 signal_number, 0);
    set_mask(~sig_numbers_bit(signal_number));
}

static bool ends_the_process_by_default(int signal_number)
{
    return signal_number != SIGCHLD && signal_number != SIGURG && signal_number != SIGWINCH &&
           signal_number != SIGCONT;
}

/* As the kernel does: only the handler changes. */
static void reset_action(int number, const struct sigaction *action)
{
    struct sigaction plain;
    sig_action_copy(&plain, action);
    plain.sa_handler = SIG_DFL;
    uint64_t mask = sig_action_lock();
    write_action(number, &plain);
    set_kernel_action(number, NULL);
    sig_action_unlock(mask);
}

/* Calls the program's handler, with the mask and flags of its action. */
static void call_program_handler(const struct sigaction *action, int number, siginfo_t *info,
                                 ucontext_t *context, uint64_t mask)
{
    mask |= sig_numbers_to_kernel(sig_set_bits(&action->sa_mask));
    if (!(action->sa_flags & SA_NODEFER))
        mask |= sig_numbers_bit(number);
    if (sig_altstack_is_around(context, (uintptr_t)__builtin_frame_address(0)))
        mask |= sig_numbers_held_for_stacks();
    if (action->sa_flags & (int)SA_RESETHAND)
        reset_action(number, action);
    if (!(action->sa_flags & SA_RESTART))
        sig_restart_end(context);
    sig_wait_here.handled++;
    sig_wait_end_hold(context);
    set_mask(mask);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
}

bool sig_action_pass(int number, siginfo_t *info, ucontext_t *context, uint64_t mask)
{
    struct sigaction action;
    program_action(number, &action);
    bool is_default = action.sa_handler == SIG_DFL;
    bool is_dropped = action.sa_handler == SIG_IGN || (is_default && !ends_the_process_by_default(number));
    if (is_dropped)
        return false;
    if (is_default)
        die_by(number);
    else
        call_program_handler(&action, number, info, context, mask);
    return true;
}

/* Sends it again as it was: to the thread, or to the process, where another thread may take it, as all
 * signals are blocked in this one. Only the first thread may send to the process in another's name. */
void sig_action_hold_back(int number, siginfo_t *info, uint64_t *mask)
{
    long pid = sig_syscall4(SYS_getpid, 0, 0, 0, 0), status = -ENOSYS;
    *mask = sig_numbers_renew(*mask) | sig_numbers_bit(number);
    if (info->si_code == SI_TKILL)
        status = sig_action_queue(sig_syscall4(SYS_gettid, 0, 0, 0, 0), number, info);
    else if (!sig_action_sends_plainly())
        status = sig_syscall4(SYS_rt_sigqueueinfo, pid, number, (long)info, 0);
    if (status < 0)
        sig_syscall4(SYS_kill, pid, number, 0, 0);
}
