/*
 * Frames whose CFA counts from the frame pointer, in a walk of another thread, which does not know it. Its
 * distance from the stack pointer was found by handlers at this place (sig_fp_offset_cache.h), or is made by
 * the function's prologue (sig_prologue.h).
 *
 * A wrong distance would mostly show at once: the return address must follow a call, and if that names its
 * target, a call of this very function. Just one of a prologue's guesses may lead to such an address. And the
 * walk must come to the root from there (sig_unwind_remote).
 */
#include "sig/code/sig_call.h"
#include "sig_fp_offset_cache.h"
#include "sig/code/sig_jit_code.h"
#include "sig/code/sig_prologue.h"
#include "sig_walk.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES };

bool sig_walk_counts_from_fp(const struct sig_rule *rule)
{
    return rule->kind == SIG_RULE_FRAME && rule->cfa_register == SIG_DWARF_FP;
}

enum called { NOT_CALLED, MAY_BE_CALLED, IS_CALLED };

/* Whether a word is the return address of a call of the function around callee_pc. */
static enum called is_called(const struct sig_walk *walk, uint64_t ra, uint64_t callee_pc)
{
    const struct sig_modules_table *modules = walk->request->modules;
    if (!SIG_DECODES_CALLS || !sig_modules_find(modules, ra))
        return sig_jit_code_follows_call(ra) ? MAY_BE_CALLED : NOT_CALLED;
    uint64_t target = sig_call_target(modules, ra);
    if (target == SIG_CALL_SOMEWHERE)
        return MAY_BE_CALLED;
    return target != 0 && target == sig_call_function_start(modules, callee_pc) ? IS_CALLED : NOT_CALLED;
}

/* The guess that leads to a return address after a call of this function, or if there is none after any call.
 * False if more than one does. */
static bool find_by_prologue(struct sig_walk *walk, uint64_t lookup_pc, uint64_t *ret_fp)
{
    struct sig_column rows[SIG_ROW_COPIES * SIG_ROW_ALL];
    uint32_t guesses[SIG_PROLOGUE_GUESSES];
    const struct sig_module *module = sig_modules_find(walk->request->modules, lookup_pc);
    size_t count = 0;
    if (SIG_DECODES_CALLS && module)
        count = sig_prologue_distances(module, lookup_pc, rows, guesses);
    enum called best = NOT_CALLED;
    int alike = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t fp = walk->regs.sp + (uint64_t)guesses[i] * WORD_BYTES, ra;
        bool is_read = sig_stack_read(&walk->stack, fp + WORD_BYTES, &ra);
        enum called called = is_read ? is_called(walk, ra, lookup_pc) : NOT_CALLED;
        if (called == NOT_CALLED || called < best)
            continue;
        alike = called > best ? 1 : alike + 1;
        best = called;
        *ret_fp = fp;
    }
    return alike == 1;
}

static bool find_frame_pointer(struct sig_walk *walk, uint64_t lookup_pc, uint64_t *ret_fp)
{
    switch (sig_fp_offset_find(lookup_pc, walk->regs.sp, ret_fp)) {
    case SIG_FP_OFFSET_KNOWN:
        return true;
    case SIG_FP_OFFSET_UNKNOWN:
        return find_by_prologue(walk, lookup_pc, ret_fp);
    default:
        return false;
    }
}

bool sig_walk_step_by_fp_offset(struct sig_walk *walk, const struct sig_rule *rule)
{
    uint64_t lookup_pc = sig_walk_lookup_pc(walk);
    walk->lacks_register = true;
    if (!walk->request->use_cache || !find_frame_pointer(walk, lookup_pc, &walk->regs.fp))
        return false;
    walk->fp_known = true;
    if (walk->sure_count == 0)
        walk->sure_count = walk->count;
    return sig_walk_step(walk, rule) && is_called(walk, walk->regs.pc, lookup_pc) != NOT_CALLED;
}

/* For the interrupted frame the kernel shows the address after the system call, wherever a handler finds the
 * pc. From a frame below a trampoline nothing is learned: its code need not be readable. */
uint64_t sig_walk_learning_pc(const struct sig_walk *walk, const struct sig_rule *rule)
{
    bool is_learned = walk->request->learns && sig_walk_counts_from_fp(rule) && !walk->fp_doubtful &&
                      (!walk->interrupted || walk->count == 1);
    if (!is_learned || (walk->interrupted && walk->stack.copy)) /* another thread's code is not looked at */
        return 0;
    return walk->interrupted ? sig_after_system_call(walk->regs.leaf) : sig_walk_lookup_pc(walk);
}
