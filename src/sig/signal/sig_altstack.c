#include "sig_altstack.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig_numbers.h"
#include "sig_wait.h"

#include <stddef.h>

/* How much of a thread's own stack is searched for frames of handlers: in 0.1 ms. */
enum { SEARCH_BYTES_MAX = 1024 * 1024 };

/* Signals for which the program has handlers: on the thread's signal stack, or on any stack. */
static struct {
    uint64_t on, beside; /* atomic */
} sig_stacks;

static const uint64_t sent_by_the_thread =
    1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1) | 1ULL << (SIGFPE - 1) | 1ULL << (SIGILL - 1) |
    1ULL << (SIGTRAP - 1) | 1ULL << (SIGSYS - 1) | 1ULL << (SIGABRT - 1);

static void put_in_set(uint64_t *set, uint64_t bit, bool is_in)
{
    if (is_in == ((sig_load_relaxed(set) & bit) != 0))
        return; /* as it nearly always is */
    if (is_in)
        __atomic_or_fetch(set, bit, __ATOMIC_RELAXED);
    else
        __atomic_and_fetch(set, ~bit, __ATOMIC_RELAXED);
}

void sig_altstack_note_action(int number, const struct sigaction *action)
{
    uint64_t bit = sig_numbers_bit(number) & ~sent_by_the_thread;
    bool is_handler = bit && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
    bool is_on_stack = action->sa_flags & (int)SA_ONSTACK;
    put_in_set(&sig_stacks.on, bit, is_handler && is_on_stack);
    put_in_set(&sig_stacks.beside, bit, is_handler && !is_on_stack);
}

uint32_t sig_altstack_flag(uint64_t ours)
{
    uint64_t on = sig_load_relaxed(&sig_stacks.on), beside = sig_load_relaxed(&sig_stacks.beside);
    return (on & ours) || (on && !beside) ? SA_ONSTACK : 0;
}

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

/* As the kernel begins a context (arch/x86/kernel/signal_64.c, arch/arm64/kernel/signal.c). */
static bool has_set_aside(const ucontext_t *context, uint64_t low, uint64_t bytes)
{
    enum { FLAGS_MAX = 7 };
    return context->uc_flags <= FLAGS_MAX && !context->uc_link &&
           (uint64_t)(uintptr_t)context->uc_stack.ss_sp == low && context->uc_stack.ss_size == bytes;
}

/* A live frame on the thread's own stack lies above the caller. Another one would be elsewhere only if the
 * program had changed stacks within a handler, and come back without its return. */
__attribute__((no_sanitize("address"))) bool sig_altstack_returns(uint64_t low, uint64_t bytes,
                                                                  uint64_t own_stack_high)
{
    static const size_t size = offsetof(ucontext_t, uc_mcontext);
    uint64_t at = (uintptr_t)__builtin_frame_address(0) & ~(sizeof(uint64_t) - 1);
    if (sig_wait_here.handled == 0)
        return false;
    if (own_stack_high < at || own_stack_high - at > SEARCH_BYTES_MAX)
        return true;
    for (; at + size <= own_stack_high; at += sizeof(uint64_t)) {
        if (has_set_aside((const ucontext_t *)at, low, bytes))
            return true;
    }
    return false;
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
