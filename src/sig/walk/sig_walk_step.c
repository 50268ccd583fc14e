/* From a frame to its caller by a rule. The stack pointer must grow, so a cycle or garbage cannot loop; only
 * a bounded number of times it may go to another stack. */
#include "sig/code/sig_eh_landing.h"
#include "sig_walk.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES, MAX_SWITCHES = 64, STACKS_APART_BYTES = 4096 };

static bool is_known(const struct sig_walk *walk, unsigned dwarf_register, uint64_t *ret)
{
    *ret = 0;
    if (dwarf_register == SIG_DWARF_SP)
        *ret = walk->regs.sp;
    else if (dwarf_register == SIG_DWARF_FP)
        *ret = walk->regs.fp;
    else if (dwarf_register == SIG_DWARF_EXTRA)
        *ret = walk->regs.extra;
    else if (walk->regs.leaf)
        return sig_leaf_register(walk->regs.leaf, dwarf_register, ret);
    else
        return walk->interrupted && walk->arguments &&
               sig_argument_register(walk->arguments, dwarf_register, ret);
    return (dwarf_register != SIG_DWARF_FP || walk->fp_known) &&
           (dwarf_register != SIG_DWARF_EXTRA || walk->extra_known);
}

static bool register_value(struct sig_walk *walk, unsigned dwarf_register, uint64_t *ret)
{
    bool found = is_known(walk, dwarf_register, ret);
    walk->lacks_register |= !found;
    return found;
}

/*
 * A function saves registers in its own frame. The tables of gcc's realigned frames count from the frame
 * pointer up to the return, although it is popped before. Then the slot seems to lie elsewhere, and the
 * register has the caller's value already.
 */
static bool is_popped(const struct sig_walk *walk, uint64_t slot, uint64_t cfa)
{
    return slot < walk->regs.sp || slot >= cfa;
}

/* The caller's value of a register; false if it cannot be known. */
static bool saved_value(struct sig_walk *walk, const struct sig_saved *saved, uint64_t cfa, uint64_t current,
                        bool known, uint64_t *ret)
{
    uint64_t base;
    *ret = current;
    switch (saved->kind) {
    case SIG_SAVED_SAME:
        return known;
    case SIG_SAVED_AT_CFA:
        return sig_stack_read(&walk->stack, cfa + (uint64_t)(int64_t)saved->offset, ret);
    case SIG_SAVED_AT_REGISTER:
        if (!register_value(walk, saved->dwarf_register, &base))
            return false;
        base += (uint64_t)(int64_t)saved->offset;
        return (known && is_popped(walk, base, cfa)) || sig_stack_read(&walk->stack, base, ret);
    case SIG_SAVED_IN_REGISTER:
        return register_value(walk, saved->dwarf_register, ret);
    default:
        return false;
    }
}

static bool compute_cfa(struct sig_walk *walk, const struct sig_rule *rule, uint64_t *ret)
{
    uint64_t base;
    if (!register_value(walk, rule->cfa_register, &base))
        return false;
    *ret = base + (uint64_t)(int64_t)rule->cfa_offset;
    if (!rule->cfa_deref)
        return true;
    bool is_read = sig_stack_read(&walk->stack, *ret, ret);
    *ret += (uint64_t)(int64_t)rule->cfa_offset_after;
    return is_read;
}

/* See sig_eh_landing.h. Until fp is read from another frame, it may be the handling frame's. */
static void follow_landing(struct sig_walk *walk, uint64_t lookup_pc, struct sig_regs *caller)
{
    uint64_t sp;
    bool was_called = sig_eh_landing_was_called(walk->request->modules, &walk->stack, lookup_pc, caller->pc,
                                                caller->sp, &sp);
    walk->fp_doubtful = was_called || sp == 0;
    if (!walk->fp_doubtful)
        caller->sp = sp;
}

/* A function that calls on another stack (__morestack of split stacks, Rust's psm) keeps the old stack
 * pointer in its frame pointer. */
static bool may_switch_stack(const struct sig_walk *walk, const struct sig_rule *rule, uint64_t cfa)
{
    uint64_t sp = walk->regs.sp;
    return rule->cfa_register == SIG_DWARF_FP && !rule->cfa_deref && walk->switches < MAX_SWITCHES &&
           walk->sure_count == 0 && sp > cfa && sp - cfa > STACKS_APART_BYTES &&
           !sig_stack_is_one(&walk->stack, sp, cfa);
}

static bool step_frame(struct sig_walk *walk, const struct sig_rule *rule)
{
    struct sig_regs caller = {.leaf = NULL};
    uint64_t cfa;
    /* Only an interrupted function can have taken its return address off the stack already (vfork). */
    uint64_t lowest_cfa = walk->regs.sp + (walk->interrupted ? 0 : 1);
    bool ra_known = SIG_RA_IN_EXTRA && walk->interrupted && walk->extra_known; /* overwritten by calls */
    uint64_t lookup_pc = sig_walk_lookup_pc(walk);
    if (!compute_cfa(walk, rule, &cfa))
        return false;
    if (walk->fp_doubtful && rule->cfa_register == SIG_DWARF_FP && !rule->cfa_deref)
        cfa = sig_eh_landing_thrower_cfa(walk->request->modules, &walk->stack, lookup_pc, walk->regs.sp, cfa);
    bool switches = cfa < lowest_cfa;
    if ((switches && !may_switch_stack(walk, rule, cfa)) ||
        !saved_value(walk, &rule->ra, cfa, walk->regs.extra, ra_known, &caller.pc)) {
        walk->lacks_register |= walk->interrupted && !walk->extra_known && rule->ra.kind == SIG_SAVED_SAME;
        return false;
    }
    caller.pc = sig_plain_return_address(caller.pc);
    bool fp_known = saved_value(walk, &rule->fp, cfa, walk->regs.fp, walk->fp_known, &caller.fp);
    walk->extra_known =
        saved_value(walk, &rule->extra, cfa, walk->regs.extra, walk->extra_known, &caller.extra);
    walk->fp_known = fp_known;
    walk->fp_doubtful = walk->fp_doubtful && rule->fp.kind == SIG_SAVED_SAME;
    caller.sp = cfa;
    if (rule->may_land)
        follow_landing(walk, lookup_pc, &caller);
    walk->regs = caller;
    walk->interrupted = false;
    if (switches) {
        walk->switches++;
        sig_stack_enter(&walk->stack, cfa);
    }
    return true;
}

/* The kernel has put a ucontext near the trampoline's stack pointer. The walk goes on there. */
static bool step_signal_frame(struct sig_walk *walk)
{
    const ucontext_t *context = sig_stack_context(&walk->stack, walk->regs.sp + SIG_UCONTEXT_OFFSET);
    if (!context)
        return false;
    sig_regs_from_context(&walk->regs, context);
    walk->fp_known = walk->extra_known = true;
    walk->fp_doubtful = false;
    walk->interrupted = true;
    sig_stack_enter(&walk->stack, walk->regs.sp);
    return true;
}

bool sig_walk_step(struct sig_walk *walk, const struct sig_rule *rule)
{
    switch (rule->kind) {
    case SIG_RULE_FRAME:
        return step_frame(walk, rule);
    case SIG_RULE_SIGNAL:
        return step_signal_frame(walk);
    case SIG_RULE_NONE:
        return sig_walk_step_without_rule(walk);
    default:
        return false;
    }
}
