/*
 * An exception about to land: what no unwind table describes.
 *
 * libgcc's unwinder goes to a handler by overwriting what its own frame has saved, the frame pointer and at
 * last the return address, with what belongs to the frame of the handler (uw_install_context_1), and only
 * then moves the stack pointer there. A walk in between is put right by what the call instructions before the
 * return addresses on the stack call.
 *
 * Called from: signal handlers and the sampler thread, by the walk, at frames whose rule says that they may
 * land, and at the frames that called these. Bounded.
 */
#ifndef WALLPROF_SIG_EH_LANDING_H
#define WALLPROF_SIG_EH_LANDING_H

#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_stack.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A function around lookup_pc that may land, and the return address found at its CFA. True when that was left
 * by a call of this very function; otherwise it is already the one of the handler's frame, and *ret_sp is
 * where the stack of that begins, 0 when that cannot be found.
 */
bool sig_eh_landing_was_called(const struct sig_modules_table *modules, struct sig_stack *stack,
                               uint64_t lookup_pc, uint64_t return_address, uint64_t cfa, uint64_t *ret_sp);

/*
 * The CFA of a function around lookup_pc, which threw, by its frame pointer: that one, or if the frame
 * pointer is already the handler's the one above the return address of its call.
 */
uint64_t sig_eh_landing_thrower_cfa(const struct sig_modules_table *modules, struct sig_stack *stack,
                                    uint64_t lookup_pc, uint64_t sp, uint64_t cfa);

#endif
