/*
 * What runs in a profiled thread: make sure of the stack, claim the slot, read two clocks, walk the stack,
 * publish the slot. From the claim on all signals are blocked, so no handler of the program can jump out.
 */
#include "sig_handler.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_clock.h"
#include "sig/walk/sig_walk_tables.h"
#include "sig_action.h"
#include "sig_frames.h"
#include "sig_numbers.h"
#include "sig_request.h"
#include "sig_restart.h"
#include "sig_wait.h"

enum { WAIT_FRAMES_MAX = 6, FRAMES_ABOVE_BYTES = 128 };

/* ---- waits that the signal has cut short ---- */

/* Whether a hook made the system call that the signal has interrupted. A hook is a few frames away. A stack
 * that cannot be walked that far counts as one with a hook. */
static bool was_called_by_hook(const ucontext_t *context, const struct sig_slot *slot)
{
    uint64_t addresses[WAIT_FRAMES_MAX];
    struct sig_unwind_request request = {
        .stack_low = slot ? slot->stack_low : 0,
        .stack_high = slot ? slot->stack_high : 0,
        .rows = slot && slot->scratch ? slot->scratch->rows : NULL,
        .addresses = addresses,
        .capacity = WAIT_FRAMES_MAX,
    };
    enum sig_unwind_end end;
    bool is_hook = false;
    sig_walk_tables_enter(&request);
    size_t depth = sig_unwind(&request, context, &end);
    sig_walk_tables_leave();
    for (size_t i = 0; i < depth; i++)
        is_hook |= sig_wait_is_hook(addresses[i]);
    return is_hook || (end != SIG_UNWIND_ROOT && end != SIG_UNWIND_DEPTH);
}

/* The hook's wait that a signal has cut short, or NULL. slot may be NULL. */
static const struct sig_waiting *wait_cut_short(const ucontext_t *context, const struct sig_slot *slot)
{
    return sig_wait_may_be_cut_short(context) && was_called_by_hook(context, slot) ? sig_wait_here.waits
                                                                                   : NULL;
}

/* A signal that the program is not to see may have cut one of its waits short. */
static void interrupt_wait(ucontext_t *context, const struct sig_slot *slot)
{
    const struct sig_waiting *wait = wait_cut_short(context, slot);
    if (wait && wait->mask)
        *wait->mask = sig_numbers_renew(*wait->mask);
    if (wait)
        sig_wait_interrupt(context);
}

void sig_handler_spare_wait(ucontext_t *context)
{
    interrupt_wait(context, NULL);
}

/* ---- a sample of this thread ---- */

/* The rare stack that ends early because a register is not known is walked again with all registers. */
static void walk_self(const struct sig_unwind_request *request, const ucontext_t *context,
                      struct sig_slot *slot)
{
    enum sig_unwind_end end;
    size_t depth = sig_unwind(request, context, &end);
    slot->by_full_walk = false;
    if (end == SIG_UNWIND_INEXPRESSIBLE && slot->scratch) {
        size_t fast_depth = depth;
        depth = sig_unwind_slow(request, context, slot->scratch, fast_depth, &end);
        slot->by_full_walk = depth > fast_depth || end == SIG_UNWIND_ROOT;
    }
    slot->depth = (uint32_t)depth;
    slot->end = (uint8_t)end;
    slot->by_stack_cache = request->stack_cache && request->stack_cache->count > 0;
}

static void note_registers(struct sig_slot *slot, const ucontext_t *context)
{
    struct sig_regs regs;
    sig_regs_from_context(&regs, context);
    slot->sp = regs.sp;
    slot->pc = sig_after_system_call(context);
    slot->fp = regs.fp;
    slot->was_blocked = slot->pc != 0 || sig_wait_here.was_given;
    slot->returned_pc = sig_has_made_system_call(context) ? regs.pc : 0;
}

/* The interrupted thread writes the word of its labels in one instruction. */
static void note_labels(struct sig_slot *slot)
{
    const uint32_t *labels_at = sig_load_relaxed(&slot->labels_at);
    slot->labels = labels_at ? sig_load_acquire(labels_at) : 0;
}

static void sample_self(struct sig_slot *slot, const ucontext_t *context)
{
    struct sig_unwind_request request = {
        .stack_low = slot->stack_low,
        .stack_high = slot->stack_high,
        .rows = slot->scratch ? slot->scratch->rows : NULL,
        .addresses = slot->addresses,
        .capacity = sig_request_capacity(),
    };
    slot->time_ns = sig_clock_ns(CLOCK_MONOTONIC);
    slot->cpu_ns = sig_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    note_registers(slot, context);
    note_labels(slot);
    slot->unloads = sig_walk_tables_enter(&request);
    request.learns = request.use_cache && sig_load_relaxed(&slot->learns);
    request.stack_cache = request.use_cache && !request.learns ? slot->stack_cache : NULL;
    walk_self(&request, context, slot);
    sig_walk_tables_leave();
    sig_frames_sample(slot, context);
    slot->took_ns = sig_clock_ns(CLOCK_MONOTONIC) - slot->time_ns;
}

/* ---- the handler ---- */

static uint64_t *mask_of(ucontext_t *context)
{
    return (uint64_t *)context->uc_sigmask.__val;
}

/* The mask that a signal has passed: the thread's, or that of its wait. */
static uint64_t *mask_in_force(ucontext_t *context)
{
    const struct sig_waiting *wait = wait_cut_short(context, NULL);
    return wait && wait->mask ? wait->mask : mask_of(context);
}

/* The context's mask may have been made when other numbers were ours. Requests that were sent before their
 * number was given back are not left pending if the new mask blocks it. */
static void renew_mask(ucontext_t *context)
{
    uint64_t mask = sig_set_bits(&context->uc_sigmask), renewed = sig_numbers_renew(mask);
    if (renewed == mask)
        return;
    sig_set_assign(&context->uc_sigmask, renewed);
    sig_request_drop_pending(renewed & ~mask, mask_of(context));
}

/*
 * A signal of the program. If the program means it to be blocked, it is held back. But if the kernel's mask
 * has it too, the signal has passed another mask, which is not known. Not inline: its variables would take
 * stack from a walk.
 */
static __attribute__((noinline)) void pass_to_program(int number, siginfo_t *info, ucontext_t *context)
{
    uint64_t bit = sig_numbers_bit(number), *mask = mask_in_force(context);
    bool is_held_back = !(*mask & bit) && (sig_numbers_to_program(*mask) & bit);
    if (!(sig_numbers_given() & bit))
        sig_numbers_ask_back(number);
    if (is_held_back)
        sig_action_hold_back(number, info, mask);
    if (is_held_back || !sig_action_pass(number, info, context, *mask))
        interrupt_wait(context, NULL); /* without us the kernel would not deliver it */
}

static void reply_to_request(const siginfo_t *info, ucontext_t *context)
{
    renew_mask(context);
    struct sig_slot *slot = sig_request_claim(info);
    interrupt_wait(context, slot);
    sig_restart_note(context);
    if (!slot)
        return;
    sample_self(slot, context);
    sig_request_finish(slot);
}

/* Reads the stack as far down as a reply ever uses it, but for the frames above this one. */
static __attribute__((noinline)) char touch_stack(void)
{
    volatile char room[SIG_HANDLER_STACK_BYTES - FRAMES_ABOVE_BYTES];
    __asm__ volatile("" : "=m"(room)); /* it has a value */
    return room[0];
}

/* With these blocked, the kernel would end the process where the stack has no room. */
static void block_faults(void)
{
    uint64_t faults = SIG_ACTION_FAULTS;
    sig_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&faults, 0, sizeof(faults));
}

void sig_handler(int number, siginfo_t *info, void *context)
{
    bool is_request = sig_request_is_one(info);
    if (is_request)
        touch_stack();
    block_faults();
    if (is_request)
        reply_to_request(info, context);
    else
        pass_to_program(number, info, context);
}

bool sig_handler_reply(siginfo_t *info, ucontext_t *context)
{
    uint64_t all = ~(uint64_t)0, mask = 0;
    if (!sig_request_is_one(info))
        return false;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask, sizeof(mask));
    sig_wait_here.was_given = true;
    reply_to_request(info, context);
    sig_wait_here.was_given = false;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask));
    return true;
}
