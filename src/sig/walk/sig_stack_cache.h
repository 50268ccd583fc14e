/*
 * The last whole stack of one thread, so that the next walk works out only what has changed since.
 *
 * A walk is a function of the registers it starts with, the rules, and the words it reads. Rules are a
 * function of the pc while the modules stay. So when a walk comes to a frame with the same pc and the same
 * carried registers as a frame of the walk before, and every word read further out is still the same, then
 * the rest of the stack is the same: no rule has to be looked up, and the words can be compared without
 * waiting for one another (1-2 ns a frame instead of 6-7). Nothing is assumed about who returned or was
 * called meanwhile.
 *
 * Called from: signal handlers, by the walk, on the thread it belongs to; between a slot's release and the
 * next signal for that thread the stack cache is the sampler's, which reads the result there (sig_slots.h
 * orders the two). A stack cache never outlives the modules' generation it was made in.
 */
#ifndef WALLPROF_SIG_STACK_CACHE_H
#define WALLPROF_SIG_STACK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One frame as the walk stood in it, and where it found the caller's registers. */
struct sig_stack_cache_frame {
    uint64_t address; /* as sig_unwind reports it */
    uint64_t sp, fp, extra;
    uint16_t ra_words, fp_words, extra_words; /* below the caller's sp, and not below this; 0 unchanged.
                                               * ra_words 0: not said */
    bool fp_known, extra_known;
};

struct sig_stack_cache {
    /* Set by the owner, with the memory. */
    uint32_t capacity; /* frames there is memory for: half of it for the stack before, half for the new one */

    /* Written by the walk. */
    uint32_t count;      /* frames of the last walk, outermost first; 0 when that did not reach the root */
    uint32_t shared;     /* so many of them, from the root on, are the same as in the walk before */
    uint32_t walks;      /* so far: who has not read the result of the walk before cannot use `shared` */
    uint64_t generation; /* of the modules it was made with */
    struct sig_stack_cache_frame frames[];
};

/* A walk that looks into a stack cache and writes the next one. */
struct sig_stack_cache_walk {
    struct sig_stack_cache *stack_cache;  /* NULL: none, or given up */
    struct sig_stack_cache_frame *newest; /* the last frame recorded; the new ones are written downwards */
    uint32_t left;                        /* frames of the stack before that may still be met */
    uint32_t skip;                        /* how many of them to let go by after the next that is another */
};

void sig_stack_cache_begin(struct sig_stack_cache_walk *walk, struct sig_stack_cache *stack_cache,
                           uint64_t generation);

/* The stack pointer from which on sig_stack_cache_meet is to be asked. */
static inline uint64_t sig_stack_cache_next_sp(const struct sig_stack_cache_walk *walk)
{
    return walk->left > 0 ? walk->stack_cache->frames[walk->left - 1].sp : UINT64_MAX;
}

/* Keeps a frame of the new stack; the walk goes outwards. */
void sig_stack_cache_record(struct sig_stack_cache_walk *walk, const struct sig_stack_cache_frame *frame);

/*
 * The walk stands in this frame, and all words between its sp and window_high are readable. Returns how many
 * frames from here on outwards are the same as before: 0 when none is known to be; walk->left when it is the
 * whole rest, up to the root. Otherwise the frame behind them, stack_cache->frames[walk->left - 1 - n], is
 * the next to be stepped from, and the caller records those n.
 */
uint32_t sig_stack_cache_meet(struct sig_stack_cache_walk *walk, const struct sig_stack_cache_frame *frame,
                              uint64_t window_high);

/* The walk has reached the root, by itself (walk->left is of no meaning) or because all that is left is
 * shared. */
void sig_stack_cache_end(struct sig_stack_cache_walk *walk, uint32_t shared);

/* It has not. */
void sig_stack_cache_give_up(struct sig_stack_cache_walk *walk);

#endif
