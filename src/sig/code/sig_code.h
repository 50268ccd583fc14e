/*
 * How to step from code that has no unwind tables but is always the same: the kernel's signal trampoline, and
 * what linkers make (procedure linkage table, veneers). Needed where SIG_CODE_TELLS_RULES.
 *
 * Called from: signal handlers and the sampler thread. Pure; reads what it has found readable, of a module
 * nothing outside of its executable segment (and that through the kernel with careful_reads, if it can be
 * unmapped), and what is in no module through the kernel.
 */
#ifndef WALLPROF_SIG_CODE_H
#define WALLPROF_SIG_CODE_H

#include "sig/cfi/sig_cfi.h"
#include "sig/ground/sig_modules.h"

#include <stdbool.h>
#include <stdint.h>

/* The rule at lookup_pc, SIG_RULE_NONE when the code there is nothing known. module: what holds it, or NULL.
 */
void sig_code_rule(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                   struct sig_rule *ret);

#endif
