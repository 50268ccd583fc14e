/*
 * The last whole stack of one thread, so that the next walk works out only what has changed since.
 *
 * A walk is a function of the registers it starts with, the rules, and the words it reads. Rules are a
 * function of the pc while the modules stay. A walk may come to a frame with the same pc and carried
 * registers as a frame of the walk before. If every word read further out is the same too, so is the rest of
 * the stack. No rule is looked up then, and the comparisons do not wait for one another: 1 to 2 ns a frame
 * instead of 6 to 7. Nothing is assumed about what returned or was called meanwhile.
 *
 * Called from: signal handlers, by the walk, on the thread that it belongs to. Between a slot's release and
 * the next request to that thread the stack cache is the sampler's, which reads the result (sig_slots.h
 * orders the two). A stack cache is good for one generation of the modules.
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
    uint16_t ra_words, fp_words,
        extra_words; /* below the caller's sp; 0: unchanged, or for ra_words unknown */
    bool fp_known, extra_known;
};

struct sig_stack_cache {
    /* Set by the owner, with the memory. */
    uint32_t capacity; /* of frames: half of it for the stack before, half for the new one */

    /* Written by the walk. */
    uint32_t count;      /* frames of the last walk, outermost first; 0 if it did not reach the root */
    uint32_t shared;     /* so many of them, from the root on, are the same as in the walk before */
    uint32_t walks;      /* so far: `shared` is of use only to a reader of the walk before */
    uint64_t generation; /* of the table of modules */
    struct sig_stack_cache_frame frames[];
};

/* A walk that reads a stack cache and writes the next one. */
struct sig_stack_cache_walk {
    struct sig_stack_cache *stack_cache;  /* NULL: none, or given up */
    struct sig_stack_cache_frame *newest; /* the last frame recorded */
    uint32_t left;                        /* frames of the stack before that may still be met */
    uint32_t skip;                        /* frames to skip after the next one that differs */
};

void sig_stack_cache_begin(struct sig_stack_cache_walk *walk, struct sig_stack_cache *stack_cache,
                           uint64_t generation);

/* The stack pointer from which on sig_stack_cache_meet is of use. */
static inline uint64_t sig_stack_cache_next_sp(const struct sig_stack_cache_walk *walk)
{
    return walk->left > 0 ? walk->stack_cache->frames[walk->left - 1].sp : UINT64_MAX;
}

/* Keeps a frame of the new stack; the walk goes outwards. */
void sig_stack_cache_record(struct sig_stack_cache_walk *walk, const struct sig_stack_cache_frame *frame);

/*
 * The walk is at this frame, and all words between its sp and window_high are readable. Returns n, how many
 * frames from here on outwards are known to be the same as before. If n is walk->left, these are all up to
 * the root. Otherwise the caller records them and goes on at the frame after them,
 * stack_cache->frames[walk->left - 1 - n].
 */
uint32_t sig_stack_cache_meet(struct sig_stack_cache_walk *walk, const struct sig_stack_cache_frame *frame,
                              uint64_t window_high);

/* The walk has reached the root, by itself or because all frames that are left are shared. */
void sig_stack_cache_end(struct sig_stack_cache_walk *walk, uint32_t shared);

/* The walk has not reached the root. */
void sig_stack_cache_give_up(struct sig_stack_cache_walk *walk);

#endif
