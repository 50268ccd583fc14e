/*
 * The parts of a walk (sig_unwind.h), and where it stands: what is known of one frame, and the ways from
 * there to its caller.
 *
 * Called from: sig_unwind.c, in signal handlers and in the sampler thread. All steps read through walk->stack
 * only, and leave the walk as it is when they return false.
 */
#ifndef WALLPROF_SIG_WALK_H
#define WALLPROF_SIG_WALK_H

#include "sig/sys/sig_arch.h"
#include "sig/cfi/sig_cfi.h"
#include "sig/code/sig_fp_chain.h"
#include "sig_stack_cache.h"
#include "sig/ground/sig_stack.h"
#include "sig_unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sig_walk {
    const struct sig_unwind_request *request;
    const uint64_t
        *arguments; /* struct sig_blocked_regs, NULL without; of an interrupted frame that has no leaf */
    struct sig_regs regs;
    struct sig_stack stack;
    bool fp_known, extra_known;
    bool fp_doubtful;    /* it may be another frame's (sig_eh_landing.h, sig_nocfi_scan.h) */
    size_t sure_count;   /* addresses before the first that a distance has led to; 0: none has */
    bool interrupted;    /* the current frame was interrupted, not left by a call */
    bool lacks_register; /* a step needed one that is not known here */
    uint8_t switches;    /* to a stack further down in memory, so far */
    size_t count;        /* addresses written */
    struct sig_stack_cache_walk stack_cache;
    struct sig_fp_chain chain;
};

/* An address inside the current frame's instruction: of a return address the call before it. */
static inline uint64_t sig_walk_lookup_pc(const struct sig_walk *walk)
{
    return walk->regs.pc - !walk->interrupted;
}

/* The rule at lookup_pc, from the cache or worked out and kept there. False when nothing can be executed
 * there, as far as can be told with the registers that are known (lacks_register). */
bool sig_walk_find_rule(struct sig_walk *walk, uint64_t lookup_pc, struct sig_rule *ret);

/* To the caller by the current frame's rule, of whatever kind. lacks_register says whether false is for want
 * of a register that the walk does not carry. */
bool sig_walk_step(struct sig_walk *walk, const struct sig_rule *rule);

/* Whether a rule's CFA is found by the frame pointer. */
bool sig_walk_counts_from_fp(const struct sig_rule *rule);

/* To the caller by such a rule when the frame pointer is not known: by a distance that was learned. When
 * false, the walk is of no more use. */
bool sig_walk_step_by_fp_offset(struct sig_walk *walk, const struct sig_rule *rule);

/* What the distance of the current frame, if it is stepped from by this rule, is to be learned under; 0: it
 * is not. */
uint64_t sig_walk_learning_pc(const struct sig_walk *walk, const struct sig_rule *rule);

/* The same where there is no unwind information: by what the code does, or the frame pointer. */
bool sig_walk_step_without_rule(struct sig_walk *walk);

#endif
