#include "sig_wait.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_clock.h"
#include "sig_numbers.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

/* How deep the hook and the C library's functions are in the stack when they wait. A signal frame of the
 * kernel is larger, so a wait within a handler is not taken for the one that the handler interrupted. */
enum { DEPTH_BYTES_MAX = 1024 };

/* No mask has these. */
static const uint64_t never_in_mask = 1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1);

__thread struct sig_wait sig_wait_here __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Written before the handler is installed. */
static uint64_t sig_hooks_low, sig_hooks_high;

void sig_wait_use_hooks(uint64_t low, uint64_t high)
{
    sig_hooks_low = low;
    sig_hooks_high = high;
}

bool sig_wait_is_hook(uint64_t pc)
{
    return pc >= sig_hooks_low && pc < sig_hooks_high;
}

bool sig_wait_may_be_cut_short(const ucontext_t *context)
{
    struct sig_regs regs;
    const struct sig_waiting *wait = sig_wait_here.waits;
    sig_regs_from_context(&regs, context);
    uint64_t hook = (uint64_t)(uintptr_t)wait;
    return wait && regs.sp <= hook && hook - regs.sp < DEPTH_BYTES_MAX &&
           wait->handled == sig_wait_here.handled &&
           (wait->may_be_short ? sig_has_made_system_call(context)
                               : sig_after_system_call(context) == regs.pc);
}

/* Not all are blocked in the context of a handler that comes upon the entry of another, for which the hold
 * stays; and after the program has left the wait by longjmp. */
void sig_wait_end_hold(ucontext_t *context)
{
    uint64_t *blocked = (uint64_t *)context->uc_sigmask.__val;
    struct sig_hold *hold = sig_wait_here.hold;
    if (!hold || ~(*blocked | SIG_WAIT_NEVER_BLOCKED | never_in_mask) != 0)
        return;
    *blocked = sig_numbers_renew(hold->mask);
    hold->is_over = true;
    sig_wait_here.hold = hold->outer;
}

void sig_wait_interrupt(ucontext_t *context)
{
    uint64_t *blocked = (uint64_t *)context->uc_sigmask.__val;
    sig_wait_here.was_interrupted = true;
    sig_wait_here.mask = *blocked;
    sig_wait_here.time_ns = sig_clock_ns(CLOCK_MONOTONIC);
    *blocked |= ~SIG_WAIT_NEVER_BLOCKED;
}
