/*
 * How to step from code that has no unwind tables but is always the same: the kernel's signal trampoline, and
 * what linkers make (procedure linkage table, veneers). Only for machines with SIG_CODE_TELLS_RULES.
 *
 * Called from: signal handlers and the sampler thread. Pure. In a module it reads inside the executable
 * segment only, with careful_reads through the kernel; in no module through the kernel.
 */
#ifndef WALLPROF_SIG_CODE_H
#define WALLPROF_SIG_CODE_H

#include "sig/cfi/sig_cfi.h"
#include "sig/ground/sig_modules.h"

#include <stdbool.h>
#include <stdint.h>

/* The rule at lookup_pc; SIG_RULE_NONE if the code there is not known. module: that of lookup_pc, or NULL. */
void sig_code_rule(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                   struct sig_rule *ret);

#endif
