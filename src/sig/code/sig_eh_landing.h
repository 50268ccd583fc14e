/*
 * Frames of an exception that is about to land, which no unwind table describes.
 *
 * libgcc's unwinder lands by overwriting what its own frame has saved, the frame pointer and at last the
 * return address, with the values of the frame that handles the exception (uw_install_context_1). Only then
 * it moves the stack pointer there. In between, a walk finds its way by the targets of the calls before the
 * return addresses on the stack.
 *
 * Called from: signal handlers and the sampler thread, by the walk, at frames whose rule has may_land, and at
 * their callers. Bounded.
 */
#ifndef WALLPROF_SIG_EH_LANDING_H
#define WALLPROF_SIG_EH_LANDING_H

#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_stack.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * For the function around lookup_pc, whose rule has may_land, and the return address found at its CFA. True
 * if a call of this very function left that address. Otherwise it is already the handling frame's, and
 * *ret_sp is where the stack of that frame begins, 0 if this cannot be found.
 */
bool sig_eh_landing_was_called(const struct sig_modules_table *modules, struct sig_stack *stack,
                               uint64_t lookup_pc, uint64_t return_address, uint64_t cfa, uint64_t *ret_sp);

/* The CFA of the function around lookup_pc, which threw. cfa is the one by its frame pointer; if that is
 * already the handling frame's, the CFA is right above the return address of the function's call. */
uint64_t sig_eh_landing_thrower_cfa(const struct sig_modules_table *modules, struct sig_stack *stack,
                                    uint64_t lookup_pc, uint64_t sp, uint64_t cfa);

#endif
