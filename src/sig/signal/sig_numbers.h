/*
 * Which signals we ask with, and what that does to masks.
 *
 * Three numbers: the current one is sent; the spare one takes its place as soon as the program turns out to
 * use the current one itself; the third is their stand-in. A program's mask must not hold the first two back,
 * or a thread that blocks everything, as many do, would never reply. So they are taken out of every mask
 * that goes to the kernel. What the program meant is not lost: a set that speaks of all signals has the
 * stand-in too, which stays in. So "the stand-in is blocked" says "the program blocks ours". The kernel, and
 * the C library, save, restore and hand on that bit with every mask (siglongjmp, setcontext, return from a
 * handler, a new thread), and nothing of our own has to be remembered.
 *
 * A set in which one of the three is treated unlike the others is about that very signal: the program uses
 * it. It is given back then, for good: masks have it as the program says, and another number takes its
 * place. The next one is chosen downwards from the highest real-time signal, from those whose action is the
 * default one. Masks made before a number became the spare one may hold it back; they are recognised (they
 * have the stand-in, and one of ours) and renewed wherever one is met.
 *
 * Sets are the kernel's: bit n - 1 for signal n. All functions are safe in handlers; any thread.
 */
#ifndef WALLPROF_SIG_NUMBERS_H
#define WALLPROF_SIG_NUMBERS_H

#include "sig/sys/sig_atomic.h"

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t sig_numbers_bit(int number)
{
    return number > 0 && number <= 64 ? (uint64_t)1 << (number - 1) : 0;
}

/* What every set is looked through for, each read whole: the three, and what the program has named so far. */
extern struct sig_numbers_known {
    uint64_t all, noted;          /* atomic */
    uint32_t has_masks_to_change; /* atomic */
} sig_numbers_known __attribute__((visibility("hidden")));

/* All three. */
static inline uint64_t sig_numbers_all(void)
{
    return sig_load_relaxed(&sig_numbers_known.all);
}

static inline uint64_t sig_numbers_noted(void)
{
    return sig_load_relaxed(&sig_numbers_known.noted);
}

/* Whether there are masks that are to be changed when they are met: made when other numbers were ours, or for
 * a small stack (sig_altstack.h), which is to be told here. */
static inline bool sig_numbers_has_masks_to_change(void)
{
    return sig_load_relaxed(&sig_numbers_known.has_masks_to_change);
}

static inline void sig_numbers_expect_masks_to_change(void)
{
    sig_store_relaxed(&sig_numbers_known.has_masks_to_change, 1);
}

/* Whether a set has none of ours and names nothing that has not been noted: the same for all. Most are. */
static inline bool sig_numbers_is_plain(uint64_t set)
{
    return !(set & (sig_numbers_all() | ~sig_numbers_noted()));
}

/* The number that is sent; 0 before there is one. */
int sig_numbers_current(void);

/* The current and the spare one: what no mask of the kernel's is to have. */
uint64_t sig_numbers_ours(void);

/* What the program was given back so far. */
uint64_t sig_numbers_given(void);

/* A set of the program's for the kernel. */
uint64_t sig_numbers_to_kernel(uint64_t set);

/* A mask of the kernel's as it would be if it were made now. */
uint64_t sig_numbers_renew(uint64_t mask);

/* A mask of the kernel's, or a set it was given, as the program means it. */
uint64_t sig_numbers_to_program(uint64_t mask);

/* Whether ours are blocked because a handler runs where they have no room (sig_altstack.h): a mask of the
 * kernel's that has both, and not their stand-in. */
bool sig_numbers_is_held_for_stack(uint64_t mask);

/*
 * What the kernel's mask of an action has to hold where its handler is a trampoline that lets our signals in
 * (sig_trampoline_lets_in) and the number is not held. Whoever sets such an action adds it under the lock of
 * sig_action.h. hold: the same from now on, under the lock; returns what it was before.
 */
uint64_t sig_numbers_held_for_stacks(void);
uint64_t sig_numbers_hold_for_stacks(uint64_t numbers);

/* Those of the three that a set of the program's is about; none where it treats them all alike. */
uint64_t sig_numbers_singled_out(uint64_t set);

/*
 * Chooses anew. given: numbers that belong to the program from now on. first: a wish, 0 without. blocked: a
 * mask that the numbers must be alike in. is_free: whether one can be had, asked of others than those in use;
 * what it says must not depend on the order. Where too few are free, the spare one and the stand-in are 0;
 * the current one is shared with the program then, and masks are left alone. Writers exclude each other
 * (sig_action_lock).
 */
typedef bool sig_numbers_free_fn(int number);
void sig_numbers_choose(uint64_t given, int first, uint64_t blocked, sig_numbers_free_fn *is_free);

/* There is none any more: the current one was taken away, and nothing is free. */
void sig_numbers_stop(void);

/* In a handler, for a signal of the program's that has one of our numbers: the sampler is to give it back,
 * and from now on masks have it. */
void sig_numbers_ask_back(int number);
uint64_t sig_numbers_asked_back(void);

/* The program waits for these, or has a timer for them, while their action is the default one: not free. */
void sig_numbers_note(uint64_t set);

#endif
