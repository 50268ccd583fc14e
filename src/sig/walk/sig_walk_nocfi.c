/* From a frame to its caller without a rule: generated code, and assembly without unwind tables. */
#include "sig/code/sig_nocfi_scan.h"
#include "sig/code/sig_jit_code.h"
#include "sig_walk.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES };

/* By the frame pointer convention, if the code seems to keep it. */
static bool step_frame_pointer(struct sig_walk *walk)
{
    uint64_t fp = walk->regs.fp, saved_fp, ra;
    walk->lacks_register |= !walk->fp_known;
    if (!walk->fp_known || fp < walk->regs.sp || !sig_stack_read(&walk->stack, fp, &saved_fp) ||
        !sig_stack_read(&walk->stack, fp + WORD_BYTES, &ra))
        return false;
    walk->regs =
        (struct sig_regs){.pc = sig_plain_return_address(ra), .sp = fp + 2 * WORD_BYTES, .fp = saved_fp};
    walk->extra_known = false;
    walk->interrupted = false;
    return true;
}

/*
 * After a step by frame pointer, on machines where that gives only a lower bound of sp. Further steps of this
 * kind, and CFAs that count from the frame pointer, need no more: they must only grow. A CFA that counts from
 * sp needs sp itself. If the frame has a frame record, fp points at it, and the table says where in the frame
 * it lies. So the CFA follows from fp, and sp from the CFA. Without a record sp stays unknown: it gets an odd
 * value, from which no word can be read, so the walk ends there.
 */
static void settle_sp(struct sig_walk *walk)
{
    struct sig_rule rule;
    if (!sig_walk_find_rule(walk, walk->regs.pc - 1, &rule))
        return;
    bool needs_sp = rule.kind == SIG_RULE_SIGNAL ||
                    (rule.kind == SIG_RULE_FRAME && (rule.cfa_register == SIG_DWARF_SP || rule.cfa_deref));
    if (!needs_sp)
        return;
    bool has_record = rule.kind == SIG_RULE_FRAME && !rule.cfa_deref && rule.fp.kind == SIG_SAVED_AT_CFA &&
                      rule.ra.kind == SIG_SAVED_AT_CFA && rule.ra.offset == rule.fp.offset + WORD_BYTES;
    uint64_t cfa = walk->regs.fp - (uint64_t)(int64_t)rule.fp.offset;
    uint64_t sp = cfa - (uint64_t)(int64_t)rule.cfa_offset;
    walk->regs.sp = has_record && sp >= walk->regs.sp ? sp : walk->regs.sp | 1;
}

/* Before the frame pointer is set up, or after it was taken down; or without one, by the epilogue that the
 * code comes to. A function that has called another can only be of the last kind. */
static bool step_by_code(struct sig_walk *walk)
{
    int words = sig_jit_code_words_on_return_address(walk->regs.pc);
    bool in_register = SIG_RA_IN_EXTRA && words == 0;
    uint64_t at = walk->regs.sp + (uint64_t)words * WORD_BYTES, ra = walk->regs.extra;
    walk->lacks_register |= in_register && !walk->extra_known;
    if (words < 0 || (in_register && !walk->extra_known) || (words == 0 && !walk->interrupted) ||
        (!in_register && !sig_stack_read(&walk->stack, at, &ra)))
        return false;
    ra = sig_plain_return_address(ra);
    if (!sig_jit_code_follows_call(ra))
        return false;
    walk->regs.pc = ra;
    walk->regs.sp = in_register ? at : at + WORD_BYTES;
    walk->regs.leaf = NULL;
    walk->interrupted = false;
    return true;
}

/* Assembly in a module. Unless the return address is on top of the stack, registers were pushed, and may hold
 * anything now. If the frame pointer of another thread is not known, only an address on top is taken. */
static bool step_by_call(struct sig_walk *walk, const struct sig_module *module)
{
    struct sig_nocfi_scan scan;
    uint64_t ra, fp = walk->regs.fp;
    sig_nocfi_scan_around(&scan, walk->request->modules, module, sig_walk_lookup_pc(walk));
    bool keeps_frame =
        walk->fp_known && fp >= walk->regs.sp && sig_nocfi_scan_keeps_frame(&scan, &walk->stack, fp);
    if (keeps_frame)
        return false;
    int words = sig_nocfi_scan_words_on_return_address(&scan, &walk->stack, walk->regs.sp, &ra);
    bool is_sure = walk->fp_known || !walk->stack.copy || (words == 0 && walk->interrupted);
    walk->lacks_register |= !is_sure;
    if (words < 0 || !is_sure)
        return false;
    walk->fp_doubtful |= words > 0;
    walk->extra_known &= words == 0;
    walk->regs.pc = ra;
    walk->regs.sp += (uint64_t)(words + 1) * WORD_BYTES;
    walk->regs.leaf = NULL;
    walk->interrupted = false;
    return true;
}

bool sig_walk_step_without_rule(struct sig_walk *walk)
{
    const struct sig_module *module = sig_modules_find(walk->request->modules, sig_walk_lookup_pc(walk));
    bool is_assembly = SIG_DECODES_CALLS && module;
    bool is_stepped = is_assembly && step_by_call(walk, module);
    if (!is_stepped && !step_by_code(walk) && !step_frame_pointer(walk))
        return false;
    if (SIG_FP_STEP_HIDES_SP)
        settle_sp(walk);
    return true;
}
