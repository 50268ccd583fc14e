/*
 * Reading words of the stack a walk is on, wherever it may lie, without a fault.
 *
 * Called from: signal handlers, on the thread whose stack it is. What lies above the stack pointer of the
 * thread's own stack is mapped for certain and is read at once (a stack pointer further out may be forged, so
 * only what lies above the interrupted one is); of any other memory (coroutine, sigaltstack,
 * a wild pointer) each page is asked for first.
 */
#ifndef WALLPROF_SIG_STACK_H
#define WALLPROF_SIG_STACK_H

#include <stdbool.h>
#include <stdint.h>

enum { SIG_STACK_WORD_BYTES = 8 };

struct sig_stack {
    uint64_t low, high;  /* where the thread's own stack may be, 0 and 0 when not known */
    uint64_t mapped_low; /* of it, from here on certainly mapped; UINT64_MAX when the walk began elsewhere */
    uint64_t window_low, window_high; /* readable for certain */
    uint32_t search_left;             /* words that sig_stack_search may still look at */
};

/* The walk begins where the thread was interrupted: the kernel has just written below this stack pointer. */
void sig_stack_begin(struct sig_stack *stack, uint64_t sp);

/* The walk goes on with this stack pointer, from a signal frame: on the thread's own stack, or another one.
 */
void sig_stack_enter(struct sig_stack *stack, uint64_t sp);

/* Whether both addresses are of what is known to be one stack. */
bool sig_stack_is_one(const struct sig_stack *stack, uint64_t a, uint64_t b);

/* Moves the window to where a word can be read; false when it cannot. For sig_stack_read. */
bool sig_stack_widen(struct sig_stack *stack, uint64_t address);

/*
 * A word that may be what is searched for. Not beyond the thread's own stack, when that is what is read, and
 * all searches of one walk together are bounded: false then too.
 */
bool sig_stack_search(struct sig_stack *stack, uint64_t address, uint64_t *ret);

/* An aligned word; false when it cannot be read. Inline: a walk is made of these. */
static inline bool sig_stack_read(struct sig_stack *stack, uint64_t address, uint64_t *ret)
{
    if (address % SIG_STACK_WORD_BYTES != 0)
        return false;
    bool inside = address >= stack->window_low && address < stack->window_high;
    if (!inside && !sig_stack_widen(stack, address))
        return false;
    *ret = *(const uint64_t *)(uintptr_t)address;
    return true;
}

/* 1 to 8 bytes at any address, zero-extended; false when they cannot be read. */
bool sig_stack_read_bytes(struct sig_stack *stack, uint64_t address, unsigned bytes, uint64_t *ret);

#endif
