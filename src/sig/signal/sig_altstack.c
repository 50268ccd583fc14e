#include "sig_altstack.h"
#include "sig/sys/sig_arch.h"
#include "sig_wait.h"

#include <signal.h>

/* uc_stack is from before the handler: during it, with SS_AUTODISARM, the thread has no signal stack. */
bool sig_altstack_is_around(const ucontext_t *context, uintptr_t here)
{
    const stack_t *stack = &context->uc_stack;
    uintptr_t low = (uintptr_t)stack->ss_sp, below = here - low;
    bool is_small = below < stack->ss_size && below < SIG_ALTSTACK_BYTES;
    if (is_small) {
        sig_wait_here.small_low = low;
        sig_wait_here.small_high = low + stack->ss_size;
    }
    return is_small;
}

bool sig_altstack_is_here(void)
{
    uint64_t here = (uintptr_t)__builtin_frame_address(0);
    return here >= sig_wait_here.small_low && here < sig_wait_here.small_high;
}

void sig_altstack_enter(const ucontext_t *context, uint64_t held)
{
    uint64_t interrupted = context->uc_sigmask.__val[0];
    bool is_within_another = (interrupted & held) == held;
    if (held == 0 || is_within_another ||
        sig_altstack_is_around(context, (uintptr_t)__builtin_frame_address(0)))
        return;
    sig_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&held, 0, sizeof(held));
}
