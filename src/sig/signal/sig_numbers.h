/*
 * Which signals are requests, and what that does to masks.
 *
 * There are three numbers. The current one is sent. The spare one takes its place when the program turns out
 * to use the current one itself. The third is their stand-in. Many threads block every signal, and would
 * never reply. So the first two are taken out of every mask that goes to the kernel. The stand-in stays in:
 * if it is blocked, the program means to block ours. The kernel and the C library save, restore and inherit
 * that bit with every mask (siglongjmp, setcontext, return from a handler, a new thread), so we need not.
 *
 * If a set treats one of the three unlike the others, the program uses that signal itself. It is given back
 * for good: masks have it as the program says, and another number takes its place. That one is chosen
 * downwards from the highest real-time signal, from those with the default action. Masks that were made
 * before may block it. They are recognised, as they have the stand-in and one of ours, and are renewed
 * wherever they appear.
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

/* What every set is searched for: the three numbers, and those that the program has named so far. */
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

/* Whether there are masks to change wherever they appear: made when other numbers were ours, or for a small
 * signal stack (sig_altstack.h), which the caller of expect notes. */
static inline bool sig_numbers_has_masks_to_change(void)
{
    return sig_load_relaxed(&sig_numbers_known.has_masks_to_change);
}

static inline void sig_numbers_expect_masks_to_change(void)
{
    sig_store_relaxed(&sig_numbers_known.has_masks_to_change, 1);
}

/* Whether a set has none of ours, and names nothing that is not noted. Most sets are like that. */
static inline bool sig_numbers_is_plain(uint64_t set)
{
    return !(set & (sig_numbers_all() | ~sig_numbers_noted()));
}

/* The number that is sent; 0 before there is one. */
int sig_numbers_current(void);

/* The current and the spare one, which no mask of the kernel should have. */
uint64_t sig_numbers_ours(void);

/* What was given back to the program, or is to be. */
uint64_t sig_numbers_given(void);

/* A set of the program, for the kernel. */
uint64_t sig_numbers_to_kernel(uint64_t set);

/* A mask of the kernel, as if it were made now. */
uint64_t sig_numbers_renew(uint64_t mask);

/* A set that the kernel has, as the program means it. */
uint64_t sig_numbers_to_program(uint64_t mask);

/* Whether a mask of the kernel blocks ours because a handler is on a small signal stack (sig_altstack.h): it
 * has both, and not their stand-in. */
bool sig_numbers_is_held_for_stack(uint64_t mask);

/*
 * What the kernel's mask of an action must have if the number is not held and the handler is a trampoline
 * that lets our signals in (sig_trampoline_lets_in). The caller that sets such an action adds it under the
 * lock of sig_action.h. hold changes it, under the lock, and returns what it was before.
 */
uint64_t sig_numbers_held_for_stacks(void);
uint64_t sig_numbers_hold_for_stacks(uint64_t numbers);

/* Those of the three that a set of the program is about; none if it treats all alike. */
uint64_t sig_numbers_singled_out(uint64_t set);

/*
 * Chooses anew, under the lock of sig_action.h. given: numbers that are the program's from now on. first: a
 * wish, or 0. blocked: a mask that must treat the three alike. is_free: whether a number that is not in use
 * may be taken; its result must not depend on the order of calls. If too few are free, the spare one and the
 * stand-in are 0, the current one is shared with the program, and masks stay as they are.
 */
typedef bool sig_numbers_free_fn(int number);
void sig_numbers_choose(uint64_t given, int first, uint64_t blocked, sig_numbers_free_fn *is_free);

/* There is no number any more: the current one was taken away, and none is free. */
void sig_numbers_stop(void);

/* In a handler, for a signal of the program with one of our numbers: masks have it from now on, and the
 * sampler is to give it back. */
void sig_numbers_ask_back(int number);
uint64_t sig_numbers_asked_back(void);

/* The program waits for these, or has a timer for them, with the default action: they are not free. */
void sig_numbers_note(uint64_t set);

#endif
