/*
 * A stack with the frames of an interpreter: its two parts become one path of locations.
 *
 * Called from: account.c, in the sampler thread.
 */
#ifndef WALLPROF_INTERP_STACK_H
#define WALLPROF_INTERP_STACK_H

#include "account.h"

/*
 * Like locate_path, for a stack with frames of account->interp: writes the locations of both. *ret: the path,
 * in scratch memory of the account with room for the labels. 0 without memory; then the stack is to be
 * located without these frames.
 */
size_t interp_stack_path(struct account *account, const struct locate_stack *stack,
                         const struct sig_interp_stack *interp, arena_ref **ret);
void interp_stack_deinit(struct account *account);

#endif
