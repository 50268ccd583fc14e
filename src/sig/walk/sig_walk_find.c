/* Which rule holds at an address: a cached one, a table's, or one for code that is known. */
#include "sig/code/sig_fp_chain.h"
#include "sig/code/sig_code.h"
#include "sig/cfi/sig_eh_frame.h"
#include "sig/code/sig_jit_code.h"
#include "sig_rules.h"
#include "sig_walk.h"

/*
 * What is in no module is generated code, unless a word of the stack was wrongly taken for a return address.
 * Whether a call precedes an address is found out once, and kept with the rule. If none does, each walk needs
 * a chain of frame records.
 */
static bool is_returned_to(struct sig_walk *walk)
{
    walk->lacks_register |= !walk->fp_known;
    return walk->fp_known && sig_fp_chain_leads_to_call(&walk->chain, &walk->stack, walk->request->modules,
                                                        walk->regs.sp, walk->regs.fp);
}

/* Whether a return address is the start of a function: it was laid on the stack for the stack's first
 * function to return to, as makecontext does. */
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

/* From the loader: a library may have come since the table was made. */
static __attribute__((noinline)) void find_new_rule(const struct sig_unwind_request *request,
                                                    uint64_t lookup_pc, struct sig_rule *ret)
{
    struct sig_module found;
    if (sig_modules_ask_loader(lookup_pc, &found))
        compute_rule(request, &found, lookup_pc, true, ret);
}

/* starts_here is about a return address, not about a thread that was interrupted there. */
static bool find_cached_rule(const struct sig_walk *walk, uint64_t lookup_pc, struct sig_rule *ret)
{
    return walk->request->use_cache && sig_rules_lookup(lookup_pc, ret) &&
           !(walk->interrupted && ret->starts_here);
}

/* SIG_RULE_NONE is not cached for code in a module, which step_ordinary_frames would take for generated code.
 * Nor is it where a thread was interrupted, which does not prove that calls return there. */
static bool is_to_be_cached(const struct sig_walk *walk, const struct sig_module *module,
                            const struct sig_rule *rule)
{
    return walk->request->use_cache && (rule->kind != SIG_RULE_NONE || (!module && !walk->interrupted));
}

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
    if (is_to_be_cached(walk, module, ret))
        sig_rules_insert(lookup_pc, ret);
    return true;
}
