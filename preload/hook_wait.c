#include "hook_wait.h"
#include "sig_handler.h"

#include <stddef.h>

/* What the kernel takes and gives; sigaction of the C library is interposed by ourselves. */
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static bool is_ignored_by_default(int number)
{
    return number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
}

/* Whether a handler of the program's runs for it. While a signal is blocked it is pending even if ignored. */
static bool is_handled(int number)
{
    struct kernel_action action = {.handler = SIG_DFL};
    sig_syscall4(SYS_rt_sigaction, number, 0, (long)&action, sizeof(action.mask));
    return action.handler != SIG_IGN && (action.handler != SIG_DFL || !is_ignored_by_default(number));
}

bool hook_wait_resume(void)
{
    uint64_t mask = sig_wait_here.mask, pending = 0;
    bool is_ours = true;
    sig_syscall4(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0);
    pending &= ~mask;
    for (int number = 1; number <= 64 && pending; number++)
        is_ours &= !(pending >> (number - 1) & 1) || number == sig_handler_signal() || !is_handled(number);
    sig_wait_here.was_interrupted = sig_wait_here.was_passed = false;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask));
    return is_ours && !sig_wait_here.was_passed; /* whose a signal of our number is shows when it arrives */
}

void hook_wait_hold(struct hook_wait *wait)
{
    sig_wait_here.was_interrupted = false;
    if (wait->is_holding)
        return; /* what was blocked this time was our doing */
    wait->is_holding = true;
    wait->mask = (sigset_t){.__val = {sig_wait_here.mask}};
}
