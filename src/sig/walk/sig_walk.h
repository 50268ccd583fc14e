/*
 * The state of a walk (sig_unwind.h), which is what is known about one frame, and its steps to the caller.
 *
 * Called from: sig_unwind.c, in signal handlers and in the sampler thread. Steps read through walk->stack
 * only. A step that fails has changed no register.
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
    const uint64_t *arguments; /* of an interrupted frame without leaf: struct sig_blocked_regs; or NULL */
    struct sig_regs regs;
    struct sig_stack stack;
    bool fp_known, extra_known;
    bool fp_doubtful;    /* fp may be another frame's (sig_eh_landing.h, sig_nocfi_scan.h) */
    size_t sure_count;   /* addresses before the first that was found by a distance; 0: none was */
    bool interrupted;    /* the current frame was interrupted, not left by a call */
    bool lacks_register; /* a step needed a register that is not known */
    uint8_t switches;    /* to a stack further down in memory, so far */
    size_t count;        /* addresses written */
    struct sig_stack_cache_walk stack_cache;
    struct sig_fp_chain chain;
};

/* An address inside the frame's instruction, which before a return address is the call. */
static inline uint64_t sig_walk_lookup_pc(const struct sig_walk *walk)
{
    return walk->regs.pc - !walk->interrupted;
}

/* The rule at lookup_pc, from the cache, or computed and cached. False if no code can be there, as far as can
 * be told with the registers that are known (lacks_register). */
bool sig_walk_find_rule(struct sig_walk *walk, uint64_t lookup_pc, struct sig_rule *ret);

/* Steps to the caller by the frame's rule. lacks_register: it failed because a register is not known. */
bool sig_walk_step(struct sig_walk *walk, const struct sig_rule *rule);

/* Whether a rule's CFA counts from the frame pointer. */
bool sig_walk_counts_from_fp(const struct sig_rule *rule);

/* Steps to the caller by such a rule, with a frame pointer that is found by its distance. If that fails, the
 * walk is of no more use. If it fails, the walk is of no more use. */
bool sig_walk_step_by_fp_offset(struct sig_walk *walk, const struct sig_rule *rule);

/* The address to learn the distance under, if this rule steps from the frame; 0: it is not learned. */
uint64_t sig_walk_learning_pc(const struct sig_walk *walk, const struct sig_rule *rule);

/* Steps to the caller without unwind information: by what the code does, or by frame pointer. */
bool sig_walk_step_without_rule(struct sig_walk *walk);

#endif
