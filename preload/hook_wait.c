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
    if (number == sig_handler_signal()) {
        struct sigaction program;
        sig_handler_swap_action(NULL, &program);
        action.handler = program.sa_handler;
    } else
        sig_syscall4(SYS_rt_sigaction, number, 0, (long)&action, sizeof(action.mask));
    return action.handler != SIG_IGN && (action.handler != SIG_DFL || !is_ignored_by_default(number));
}

bool hook_wait_resume(const sigset_t *wait_mask)
{
    uint64_t mask = sig_wait_here.mask, pending = 0;
    bool is_ours = true;
    sig_syscall4(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0);
    pending &= ~mask & ~(wait_mask ? wait_mask->__val[0] : 0);
    for (int number = 1; number <= 64 && pending; number++)
        is_ours &= !(pending >> (number - 1) & 1) || !is_handled(number);
    sig_wait_here.was_interrupted = false;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask));
    return is_ours;
}
