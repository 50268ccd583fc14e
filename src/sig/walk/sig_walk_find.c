/* Which rule holds at an address: the cache's, a table's, or what the code there is known to do. */
#include "sig/code/sig_fp_chain.h"
#include "sig/code/sig_code.h"
#include "sig/cfi/sig_eh_frame.h"
#include "sig/code/sig_jit_code.h"
#include "sig_rules.h"
#include "sig_walk.h"

/*
 * Code in no module is generated code, if it is code at all and not some word of the stack taken for a return
 * address. Whether a call stands before it is asked once for each address, and kept with the rule. Where none
 * does, each walk has to see for itself.
 */
static bool is_returned_to(struct sig_walk *walk)
{
    walk->lacks_register |= !walk->fp_known;
    return walk->fp_known && sig_fp_chain_leads_to_call(&walk->chain, &walk->stack, walk->request->modules,
                                                        walk->regs.sp, walk->regs.fp);
}

/*
 * Nothing lies before a return address that could have called, but it is the first of a function: somebody
 * laid it there for the stack's first function to return to, as makecontext does.
 */
static bool returns_to_function_start(const struct sig_walk *walk, const struct sig_module *module)
{
    uint64_t pc = walk->regs.pc;
    return !walk->interrupted && pc < module->end_pc && sig_eh_frame_function_start(module, pc) == pc;
}

static void compute_rule(const struct sig_unwind_request *request, const struct sig_module *module,
                         uint64_t lookup_pc, bool careful_reads, struct sig_rule *ret)
{
    if (request->rows)
        sig_cfi_rule_in(request->rows, module, lookup_pc, careful_reads, ret);
    else
        sig_cfi_rule(module, lookup_pc, careful_reads, ret);
}

/* The table is some microseconds old, or more where the sampler had to wait: a library may have come since.
 */
static __attribute__((noinline)) void find_new_rule(const struct sig_unwind_request *request,
                                                    uint64_t lookup_pc, struct sig_rule *ret)
{
    struct sig_module found;
    if (sig_modules_ask_loader(lookup_pc, &found))
        compute_rule(request, &found, lookup_pc, true, ret);
}

/* What stands for those who returned is none of a thread that was interrupted here. */
static bool find_cached_rule(const struct sig_walk *walk, uint64_t lookup_pc, struct sig_rule *ret)
{
    return walk->request->use_cache && sig_rules_lookup(lookup_pc, ret) &&
           !(walk->interrupted && ret->starts_here);
}

/*
 * Code without a rule is not kept if it is in a module, which step_ordinary_frames would take for generated
 * code; nor if a thread was interrupted there, which does not prove that it can be returned to right behind.
 */
static bool is_to_be_kept(const struct sig_walk *walk, const struct sig_module *module,
                          const struct sig_rule *rule)
{
    return walk->request->use_cache && (rule->kind != SIG_RULE_NONE || (!module && !walk->interrupted));
}

/* False when nothing can be executed at this address. */
bool sig_walk_find_rule(struct sig_walk *walk, uint64_t lookup_pc, struct sig_rule *ret)
{
    const struct sig_unwind_request *request = walk->request;
    if (find_cached_rule(walk, lookup_pc, ret))
        return !ret->not_called || walk->interrupted || is_returned_to(walk);
    const struct sig_module *module = sig_modules_find(request->modules, lookup_pc);
    *ret = (struct sig_rule){.kind = SIG_RULE_NONE};
    if (module)
        compute_rule(request, module, lookup_pc, !module->is_permanent, ret);
    if (SIG_CODE_TELLS_RULES && ret->kind == SIG_RULE_NONE)
        sig_code_rule(module, lookup_pc, module && !module->is_permanent, ret);
    if (ret->kind == SIG_RULE_NONE && (!module || !module->is_permanent))
        find_new_rule(request, lookup_pc, ret);
    if (module && ret->kind == SIG_RULE_NONE && returns_to_function_start(walk, module))
        *ret = (struct sig_rule){.kind = SIG_RULE_ROOT, .starts_here = true};
    ret->not_called = !module && ret->kind == SIG_RULE_NONE && !walk->interrupted &&
                      !sig_jit_code_follows_call(walk->regs.pc);
    if (ret->not_called && !is_returned_to(walk))
        return false;
    if (is_to_be_kept(walk, module, ret))
        sig_rules_insert(lookup_pc, ret);
    return true;
}
