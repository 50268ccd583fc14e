/*
 * Chains of frame records.
 *
 * HotSpot's interpreter pushes the address where it goes on, and jumps, so no call stands before that return
 * address. But its frames keep the frame pointer, and each record leads to the next, up to a function of a
 * module that has called generated code. A word that is on a stack by chance has no such chain above it.
 *
 * Called from: signal handlers and the sampler thread. Bounded: SIG_FP_CHAIN_RECORDS_MAX records in a walk.
 */
#ifndef WALLPROF_SIG_FP_CHAIN_H
#define WALLPROF_SIG_FP_CHAIN_H

#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_stack.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIG_FP_CHAIN_RECORDS_MAX = 4096 };

/* What a walk has found out already; zeroed at its start. */
struct sig_fp_chain {
    uint64_t record, last; /* of the chain found last: where the walk is in it, and its end */
    uint32_t records_read;
};

/* Whether the records from fp on, none of them below sp, lead through generated code to a return address that
 * follows a call in a module. */
bool sig_fp_chain_leads_to_call(struct sig_fp_chain *chain, struct sig_stack *stack,
                                const struct sig_modules_table *modules, uint64_t sp, uint64_t fp);

#endif
