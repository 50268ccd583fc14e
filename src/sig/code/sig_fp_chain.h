/*
 * A chain of frame records, by where it leads.
 *
 * An interpreter need not call what it interprets: HotSpot's pushes the address at which to go on and jumps,
 * so no call stands before that return address. But its frames keep the frame pointer, and one record leads
 * to the next, up to a function of a module that has called generated code. No word that happens to lie on a
 * stack has such a chain above it.
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

/* What a walk has found out already. Zeroed memory: nothing. */
struct sig_fp_chain {
    uint64_t record, last; /* of the chain found last: where the walk is in it, and where it leaves it */
    uint32_t records_read;
};

/*
 * Whether the records from fp on, none of them below sp, lead behind a call in a module. The code in between
 * has to be generated code, of which it is not asked whether it has called anything.
 */
bool sig_fp_chain_leads_to_call(struct sig_fp_chain *chain, struct sig_stack *stack,
                                const struct sig_modules_table *modules, uint64_t sp, uint64_t fp);

#endif
