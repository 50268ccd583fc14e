#include "sig_numbers.h"

#include <stddef.h>

enum { HIGHEST = 64, LOWEST = 34, GENERAL_COUNT = 32, FORMER_MAX = 64 };

/* In one word, so that no reader mixes two choices: current, spare << 8, stand-in << 16. */
static uint32_t sig_numbers_in_use;
static uint64_t sig_given, sig_asked; /* sets that only grow */
static uint64_t sig_held_for_stacks;  /* changes under the lock of sig_action.h */

struct sig_numbers_known sig_numbers_known;

/* What was in use before, the latest last, as masks may be that old. Written before the next is in use. */
static uint32_t sig_former[FORMER_MAX];
static uint32_t sig_former_count;

struct numbers {
    uint64_t ours, stand_in;
    uint64_t open; /* ours, without what is to be given back */
};

static struct numbers unpack(uint32_t packed)
{
    struct numbers ret = {.stand_in = sig_numbers_bit((int)(packed >> 16))};
    if (ret.stand_in)
        ret.ours = sig_numbers_bit(packed & 0xff) | sig_numbers_bit(packed >> 8 & 0xff);
    ret.open = ret.ours & ~sig_load_relaxed(&sig_asked);
    return ret;
}

static struct numbers numbers(void)
{
    return unpack(sig_load_acquire(&sig_numbers_in_use)); /* partner: the release in sig_numbers_choose */
}

int sig_numbers_current(void)
{
    return (int)(sig_load_acquire(&sig_numbers_in_use) & 0xff); /* partner: as above */
}

uint64_t sig_numbers_ours(void)
{
    return numbers().open;
}

uint64_t sig_numbers_given(void)
{
    return sig_load_relaxed(&sig_given) | sig_load_relaxed(&sig_asked);
}

uint64_t sig_numbers_to_kernel(uint64_t set)
{
    return set & ~numbers().open;
}

/* The numbers that were ours when a mask was made: the mask has their stand-in and not them. All, if there is
 * no such choice. */
static uint64_t ours_of_mask(uint64_t mask)
{
    for (uint32_t i = sig_load_acquire(&sig_former_count); i-- > 0;) { /* partner: the release in remember */
        struct numbers then = unpack(sig_former[i]);
        if ((mask & then.stand_in) && !(mask & then.ours))
            return then.ours;
    }
    return ~(uint64_t)0;
}

uint64_t sig_numbers_renew(uint64_t mask)
{
    struct numbers now = numbers();
    if (!(mask & now.stand_in) || !(mask & now.open))
        return mask;
    return (mask & ~now.open) | (ours_of_mask(mask) & sig_numbers_given());
}

bool sig_numbers_is_held_for_stack(uint64_t mask)
{
    struct numbers now = numbers();
    return now.ours != 0 && (mask & now.ours) == now.ours && !(mask & now.stand_in);
}

uint64_t sig_numbers_held_for_stacks(void)
{
    return sig_numbers_current() ? sig_load_relaxed(&sig_held_for_stacks) : 0;
}

uint64_t sig_numbers_hold_for_stacks(uint64_t numbers)
{
    uint64_t before = sig_load_relaxed(&sig_held_for_stacks);
    sig_store_relaxed(&sig_held_for_stacks, numbers);
    return before;
}

uint64_t sig_numbers_to_program(uint64_t mask)
{
    struct numbers now = numbers();
    mask = sig_numbers_renew(mask);
    if (sig_numbers_is_held_for_stack(mask))
        return mask & ~now.ours;
    return mask & now.stand_in ? mask | now.ours : mask;
}

/* Whether a set is about signals in general, not about some. */
static bool is_general(uint64_t set)
{
    /* Adds up the bits of ever larger fields, as the compiler's builtin may be a call into libgcc. */
    set -= set >> 1 & 0x5555555555555555U;
    set = (set & 0x3333333333333333U) + (set >> 2 & 0x3333333333333333U);
    set = (set + (set >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return (int)((set * 0x0101010101010101U) >> 56) > GENERAL_COUNT;
}

uint64_t sig_numbers_singled_out(uint64_t set)
{
    struct numbers now = numbers();
    uint64_t all = now.ours | now.stand_in, some = set & all;
    if (some == 0 || some == all)
        return 0;
    return is_general(set) ? all & ~set : some;
}

static bool is_treated_as_most(int number, uint64_t blocked)
{
    return is_general(blocked) == ((sig_numbers_bit(number) & blocked) != 0);
}

/* Appends a number to the chosen ones, unless it is among them; the first is the lowest byte. */
static uint32_t append(uint32_t chosen, uint32_t number)
{
    int shift = 0;
    for (; shift < 24 && (chosen >> shift & 0xff); shift += 8) {
        if ((chosen >> shift & 0xff) == number)
            return chosen;
    }
    return shift < 24 ? chosen | number << shift : chosen;
}

static void remember_numbers(uint32_t packed)
{
    uint32_t count = sig_load_relaxed(&sig_former_count);
    if (count == FORMER_MAX || !(packed >> 16))
        return;
    sig_former[count] = packed;
    sig_store_release(&sig_former_count, count + 1); /* partner: the acquire in ours_of_mask */
    sig_numbers_expect_masks_to_change();
}

static uint64_t all_bits(uint32_t packed)
{
    struct numbers numbers = unpack(packed);
    return numbers.ours | numbers.stand_in | sig_numbers_bit((int)(packed & 0xff));
}

/* In between, sets are searched for the numbers of both. */
static void use_numbers(uint32_t before, uint32_t chosen)
{
    sig_store_relaxed(&sig_numbers_known.all, all_bits(before) | all_bits(chosen));
    sig_store_release(&sig_numbers_in_use, chosen); /* partner: the acquire in numbers */
    sig_store_relaxed(&sig_numbers_known.all, all_bits(chosen));
}

void sig_numbers_choose(uint64_t given, int first, uint64_t blocked, sig_numbers_free_fn *is_free)
{
    uint32_t before = sig_load_relaxed(&sig_numbers_in_use), chosen = 0;
    uint64_t not_free = sig_load_relaxed(&sig_given) | sig_load_relaxed(&sig_asked) | given;
    for (int shift = 0; shift < 24; shift += 8) {
        uint32_t number = before >> shift & 0xff;
        if (number && !(sig_numbers_bit((int)number) & not_free))
            chosen = append(chosen, number);
    }
    if (first && !(sig_numbers_bit(first) & not_free) && is_treated_as_most(first, blocked) && is_free(first))
        chosen = append(chosen, (uint32_t)first);
    not_free |= sig_numbers_noted();
    for (int number = HIGHEST; number >= LOWEST && !(chosen >> 16); number--) {
        if (!(sig_numbers_bit(number) & not_free) && is_treated_as_most(number, blocked) && is_free(number))
            chosen = append(chosen, (uint32_t)number);
    }
    if (!(chosen & 0xff)) /* nothing is free: shared */
        chosen = before & 0xff ? before & 0xff : (uint32_t)first;
    if (!(chosen >> 16))
        chosen &= 0xff;
    __atomic_or_fetch(&sig_given, given & ~sig_numbers_bit((int)(chosen & 0xff)), __ATOMIC_RELAXED);
    if (chosen != before)
        remember_numbers(before);
    use_numbers(before, chosen);
}

void sig_numbers_stop(void)
{
    use_numbers(0, 0);
}

void sig_numbers_ask_back(int number)
{
    __atomic_or_fetch(&sig_asked, sig_numbers_bit(number), __ATOMIC_RELAXED);
}

uint64_t sig_numbers_asked_back(void)
{
    return sig_load_relaxed(&sig_asked) & ~sig_load_relaxed(&sig_given);
}

void sig_numbers_note(uint64_t set)
{
    if ((set & ~sig_numbers_noted()) && !is_general(set))
        __atomic_or_fetch(&sig_numbers_known.noted, set, __ATOMIC_RELAXED);
}
