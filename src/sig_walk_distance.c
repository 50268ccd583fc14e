/*
 * Frames whose CFA counts from the frame pointer, in a walk of another thread, which does not know it: the
 * one that walks of handlers have found at this place (sig_distance.h), if what it leads to is a frame.
 *
 * That the same place had another distance this time would mostly show at once: what would be the return
 * address must lie behind a call, and where that names its target, behind a call of this very function. And
 * the walk must come to the root from there (sig_unwind_other).
 */
#include "sig_call.h"
#include "sig_distance.h"
#include "sig_generated.h"
#include "sig_walk.h"

bool sig_walk_counts_from_fp(const struct sig_rule *rule)
{
    return rule->kind == SIG_RULE_FRAME && rule->cfa_register == SIG_DWARF_FP;
}

/* Whether the walk stands behind a call of the function around callee_pc, as far as can be said. */
static bool has_called(const struct sig_walk *walk, uint64_t callee_pc)
{
    const struct sig_modules_table *modules = walk->request->modules;
    uint64_t ra = walk->regs.pc;
    if (!SIG_DECODES_CALLS || !sig_modules_find(modules, ra))
        return sig_generated_follows_call(ra);
    uint64_t target = sig_call_target(modules, ra);
    return target == SIG_CALL_SOMEWHERE ||
           (target != 0 && target == sig_call_function_start(modules, callee_pc));
}

bool sig_walk_step_by_distance(struct sig_walk *walk, const struct sig_rule *rule)
{
    uint64_t lookup_pc = sig_walk_lookup_pc(walk);
    walk->lacks_register = true;
    if (!walk->request->use_cache || !sig_distance_find(lookup_pc, walk->regs.sp, &walk->regs.fp))
        return false;
    walk->fp_known = true;
    if (walk->sure_count == 0)
        walk->sure_count = walk->count;
    return sig_walk_step(walk, rule) && has_called(walk, lookup_pc);
}

/* Of the frame that was interrupted the kernel shows the address behind the system call, wherever a handler
 * finds the pc. Of one below a trampoline nothing is learned: nobody has just executed it. */
uint64_t sig_walk_learning_pc(const struct sig_walk *walk, const struct sig_rule *rule)
{
    bool is_learned = walk->request->learns && sig_walk_counts_from_fp(rule) && !walk->fp_doubtful &&
                      (!walk->interrupted || walk->count == 1);
    if (!is_learned)
        return 0;
    return walk->interrupted ? sig_behind_system_call(walk->regs.leaf) : sig_walk_lookup_pc(walk);
}
