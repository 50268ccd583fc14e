/*
 * The loop of sig_unwind.c over whole sets of registers. Its first addresses are compared with those of the
 * fast walk instead of being written. If one differs, this walk ends there.
 */
#include "sig_unwind_slow.h"
#include "sig/code/sig_fp_chain.h"
#include "sig/code/sig_code.h"
#include "sig/cfi/sig_full_frame.h"
#include "sig/code/sig_jit_code.h"

/* For a whole walk: 1,024 frames with six registers saved by expressions need some 12,000. */
enum { MAX_OPERATORS = 32768 };

struct slow_walk {
    const struct sig_unwind_request *request;
    struct sig_unwind_slow_scratch *scratch;
    struct sig_registers *frame, *caller; /* in the scratch memory; each step exchanges them */
    struct sig_stack stack;
    struct sig_fp_chain chain;
    struct sig_evaluation evaluation;
    bool interrupted; /* the current frame was interrupted, not left by a call */
};

enum result {
    STEPPED,
    AT_ROOT,
    LOST,
    IMPLAUSIBLE, /* lost, and the current frame is no frame */
};

/* Returns its stack pointer. */
static uint64_t enter_context(struct slow_walk *walk, const ucontext_t *context)
{
    struct sig_registers *frame = walk->frame;
    struct sig_regs carried;
    uint64_t value;
    sig_regs_from_context(&carried, context);
    frame->pc = carried.pc;
    frame->known = 0;
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++) {
        if (sig_leaf_register(context, i, &value))
            sig_registers_set(frame, i, value);
    }
    walk->interrupted = true;
    return carried.sp;
}

static enum result enter_caller(struct slow_walk *walk)
{
    struct sig_registers *callee = walk->frame;
    walk->frame = walk->caller;
    walk->caller = callee;
    walk->interrupted = false;
    return walk->frame->pc == 0 ? AT_ROOT : STEPPED;
}

/* As in sig_walk_step.c. */
static enum result step_signal_frame(struct slow_walk *walk)
{
    uint64_t at;
    if (!sig_registers_get(walk->frame, SIG_DWARF_SP, &at))
        return LOST;
    const ucontext_t *context = sig_stack_context(&walk->stack, at + SIG_UCONTEXT_OFFSET);
    if (!context)
        return LOST;
    sig_stack_enter(&walk->stack, enter_context(walk, context));
    return walk->frame->pc == 0 ? AT_ROOT : STEPPED;
}

/* Without unwind information: a root without a mark (psABI 3.4.1), or the frame pointer convention. */
static enum result step_frame_pointer(struct slow_walk *walk, bool is_in_module)
{
    struct sig_registers *caller = walk->caller;
    uint64_t fp, saved_fp, ra;
    bool has_fp = sig_registers_get(walk->frame, SIG_DWARF_FP, &fp);
    if (!is_in_module && !walk->interrupted && !sig_jit_code_follows_call(walk->frame->pc) &&
        !(has_fp && sig_fp_chain_leads_to_call(&walk->chain, &walk->stack, walk->request->modules,
                                               walk->frame->value[SIG_DWARF_SP], fp)))
        return IMPLAUSIBLE;
    if (!has_fp)
        return LOST;
    if (fp == 0 && !walk->interrupted && is_in_module)
        return AT_ROOT;
    if (fp < walk->frame->value[SIG_DWARF_SP] || !sig_stack_read(&walk->stack, fp, &saved_fp) ||
        !sig_stack_read(&walk->stack, fp + SIG_STACK_WORD_BYTES, &ra))
        return LOST;
    caller->known = 0;
    sig_registers_set(caller, SIG_DWARF_FP, saved_fp);
    sig_registers_set(caller, SIG_DWARF_SP, fp + 2 * SIG_STACK_WORD_BYTES);
    if (SIG_FP_STEP_HIDES_SP)
        caller->known = (uint64_t)1 << SIG_DWARF_FP; /* not sp: see sig_full_frame.h */
    sig_registers_set_pc(caller, sig_plain_return_address(ra));
    return enter_caller(walk);
}

/* By sig_code.h. Code other than a trampoline was interrupted, and has changed no register. */
static enum result step_by_code(struct slow_walk *walk, const struct sig_rule *rule)
{
    struct sig_registers *frame = walk->frame;
    uint64_t ra = frame->value[SIG_DWARF_RA];
    uint64_t cfa = frame->value[SIG_DWARF_SP] + (uint64_t)(int64_t)rule->cfa_offset;
    if (rule->kind == SIG_RULE_SIGNAL)
        return step_signal_frame(walk);
    if (rule->ra.kind == SIG_SAVED_AT_CFA &&
        !sig_stack_read(&walk->stack, cfa + (uint64_t)(int64_t)rule->ra.offset, &ra))
        return LOST;
    sig_registers_set(frame, SIG_DWARF_SP, cfa);
    sig_registers_set_pc(frame, sig_plain_return_address(ra));
    walk->interrupted = false;
    return frame->pc == 0 ? AT_ROOT : STEPPED;
}

static enum result step_without_table(struct slow_walk *walk, const struct sig_module *module,
                                      uint64_t lookup_pc)
{
    struct sig_rule rule = {.kind = SIG_RULE_NONE};
    if (SIG_CODE_TELLS_RULES)
        sig_code_rule(module, lookup_pc, module && !module->is_permanent, &rule);
    return rule.kind == SIG_RULE_NONE ? step_frame_pointer(walk, module != NULL) : step_by_code(walk, &rule);
}

static enum result step_row(struct slow_walk *walk, const struct sig_row_request *row)
{
    uint64_t cfa;
    enum sig_full_frame_result result =
        sig_full_frame_caller(row, &walk->evaluation, walk->scratch->rows, walk->frame, walk->caller, &cfa);
    if (result != SIG_FULL_FRAME_CALLER)
        return result == SIG_FULL_FRAME_ROOT ? AT_ROOT : LOST;
    /* Only an interrupted function can have taken its return address off the stack already (vfork). */
    uint64_t lowest_sp = walk->frame->value[SIG_DWARF_SP] + !walk->interrupted;
    return walk->caller->value[SIG_DWARF_SP] < lowest_sp ? LOST : enter_caller(walk);
}

static enum result step_frame(struct slow_walk *walk, uint64_t lookup_pc)
{
    const struct sig_unwind_request *request = walk->request;
    const struct sig_module *module = sig_modules_find(request->modules, lookup_pc);
    struct sig_row_request row;
    if (!module || !sig_cfi_find(module, lookup_pc, !module->is_permanent, &row))
        return step_without_table(walk, module, lookup_pc);
    return sig_cfi_is_trampoline(&row) ? step_signal_frame(walk) : step_row(walk, &row);
}

/* Writes a frame that is new. False if the fast walk has found another one there. */
static bool record_frame(const struct sig_unwind_request *request, size_t count, size_t depth,
                         uint64_t lookup_pc)
{
    if (count >= depth)
        request->addresses[count] = lookup_pc;
    return request->addresses[count] == lookup_pc;
}

size_t sig_unwind_slow(const struct sig_unwind_request *request, const ucontext_t *context,
                       struct sig_unwind_slow_scratch *scratch, size_t depth, enum sig_unwind_end *ret_end)
{
    struct slow_walk walk = {
        .request = request,
        .scratch = scratch,
        .frame = &scratch->frames[0],
        .caller = &scratch->frames[1],
        .stack = {.low = request->stack_low, .high = request->stack_high, .copy = request->copy},
        .evaluation = {.values = scratch->values, .operators_left = MAX_OPERATORS}};
    enum result result = STEPPED;
    size_t count = 0;
    walk.evaluation.stack = &walk.stack;
    sig_stack_begin(&walk.stack, enter_context(&walk, context));
    while (count < request->capacity && result == STEPPED) {
        uint64_t lookup_pc = walk.frame->pc - !walk.interrupted;
        if (!record_frame(request, count, depth, lookup_pc))
            break;
        count++;
        result = step_frame(&walk, lookup_pc);
    }
    count -= result == IMPLAUSIBLE;
    *ret_end = SIG_UNWIND_TRUNCATED;
    if (count < depth)
        return depth;
    if (result == AT_ROOT)
        *ret_end = SIG_UNWIND_ROOT;
    else if (result == STEPPED)
        *ret_end = SIG_UNWIND_DEPTH;
    return count;
}
