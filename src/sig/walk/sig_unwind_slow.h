/*
 * The walk with every register and every rule: for stacks that sig_unwind gives up because a rule is of no
 * form that it knows, or needs a register that it does not carry.
 *
 * Called from: the signal handler, right after sig_unwind, with the same request and context. It starts over
 * at the interrupted frame, where all registers are known, and takes no rule from the cache, which cannot
 * hold such rules: 0.3 to 0.4 us a frame instead of 0.02. Bounds and stack are as those of sig_unwind;
 * scratch holds the rest.
 */
#ifndef WALLPROF_SIG_UNWIND_SLOW_H
#define WALLPROF_SIG_UNWIND_SLOW_H

#include "sig/cfi/sig_cfi.h"
#include "sig/cfi/sig_full_expression.h"
#include "sig_unwind.h"

/* The caller's memory, uninitialised; for one walk at a time. */
struct sig_unwind_slow_scratch {
    struct sig_registers frames[2]; /* the current frame and its caller */
    struct sig_column rows[SIG_ROW_COPIES * SIG_ROW_ALL];
    uint64_t values[SIG_EVALUATION_VALUES];
};

/* Appends to the `depth` addresses that sig_unwind has found. Returns the number of all. If that is `depth`,
 * and *ret_end is not SIG_UNWIND_ROOT, nothing was gained. */
size_t sig_unwind_slow(const struct sig_unwind_request *request, const ucontext_t *context,
                       struct sig_unwind_slow_scratch *scratch, size_t depth, enum sig_unwind_end *ret_end);

#endif
