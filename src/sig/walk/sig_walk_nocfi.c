/* From a frame to its caller without a rule: generated code, and assembly without unwind tables. */
#include "sig/code/sig_nocfi_scan.h"
#include "sig/code/sig_jit_code.h"
#include "sig_walk.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES };

/* The frame pointer convention, if it looks kept. */
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
 * After a step by frame pointer, on machines where that leaves only a lower bound of sp. The bound is all
 * that further steps of this kind need, and CFAs relative to the frame pointer: they must only grow. A caller
 * whose CFA is relative to sp needs sp itself. As it has a frame record (fp points at it, and its table says
 * where in the frame the two words lie), the CFA follows from fp, and sp from the CFA. If it has none, sp
 * stays unknown: an odd value, relative to which no word is ever read, so the walk ends there.
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

/*
 * Before a frame pointer is set up, or after it was taken down; or where there is none, by the epilogue that
 * the code comes to. Of a function that has called another only the latter.
 */
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

/*
 * Assembly in a module. Unless the return address is on top, registers have been pushed, and used for
 * anything. Of another thread, whose frame pointer is not known, only what is on top is taken.
 */
static bool step_by_call(struct sig_walk *walk, const struct sig_module *module)
{
    struct sig_nocfi_scan bare;
    uint64_t ra, fp = walk->regs.fp;
    sig_nocfi_scan_around(&bare, walk->request->modules, module, sig_walk_lookup_pc(walk));
    bool keeps_frame =
        walk->fp_known && fp >= walk->regs.sp && sig_nocfi_scan_keeps_frame(&bare, &walk->stack, fp);
    if (keeps_frame)
        return false;
    int words = sig_nocfi_scan_words_on_return_address(&bare, &walk->stack, walk->regs.sp, &ra);
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

/* Where there is no unwind information. */
bool sig_walk_step_without_rule(struct sig_walk *walk)
{
    const struct sig_module *module = sig_modules_find(walk->request->modules, sig_walk_lookup_pc(walk));
    bool is_bare = SIG_DECODES_CALLS && module;
    bool is_stepped = is_bare && step_by_call(walk, module);
    if (!is_stepped && !step_by_code(walk) && !step_frame_pointer(walk))
        return false;
    if (SIG_FP_STEP_HIDES_SP)
        settle_sp(walk);
    return true;
}
