/*
 * Reading words of the stack a walk is on, wherever it may lie, without a fault.
 *
 * Called from: signal handlers, on the thread whose stack it is, and the sampler thread, of any other thread.
 *
 * On one's own stack what lies above the stack pointer is mapped for certain and is read at once (a stack
 * pointer further out may be forged, so only what lies above the interrupted one is); of any other memory
 * (coroutine, sigaltstack, a wild pointer) each page is asked for first.
 *
 * Another thread's stack changes while it is read, and may go away: its words come from a copy that the
 * kernel makes, a piece at a time. What is there of a piece counts. No address of such a stack is ever
 * dereferenced.
 */
#ifndef WALLPROF_SIG_STACK_H
#define WALLPROF_SIG_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

enum { SIG_STACK_WORD_BYTES = 8, SIG_STACK_COPY_BYTES_MIN = 16384 };

/* Where a walk keeps what it has copied; the caller's memory, for one walk at a time. */
struct sig_stack_copy {
    /* Set by the owner. */
    uint64_t *words;
    size_t capacity_bytes; /* of them: a multiple of a page, at least SIG_STACK_COPY_BYTES_MIN */
    size_t expected_bytes; /* the walk will read from its stack pointer on, so that one piece is enough; 0 */
    int mem_descriptor;    /* sig_memory_copy_some */

    /* The walk's. */
    uint32_t pieces_left; /* that it may still have copied */
    ucontext_t context;   /* what sig_stack_context has returned */
};

struct sig_stack {
    uint64_t low, high;          /* where the thread's own stack may be, 0 and 0 when not known */
    struct sig_stack_copy *copy; /* NULL: the words are read where they are */
    uint64_t mapped_low; /* of it, from here on certainly mapped; UINT64_MAX when the walk began elsewhere */
    uint64_t window_low, window_high; /* readable for certain */
    uint64_t shift;                   /* from an address in the window to its bytes; 0 without a copy */
    uint32_t search_left;             /* words that sig_stack_search may still look at */
};

/*
 * The walk begins with this stack pointer: where its thread was interrupted, and the kernel has just written
 * below it, or with a copy where another thread stands.
 */
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
    *ret = *(const uint64_t *)(uintptr_t)(address + stack->shift);
    return true;
}

/* 1 to 8 bytes at any address, zero-extended; false when they cannot be read. */
bool sig_stack_read_bytes(struct sig_stack *stack, uint64_t address, unsigned bytes, uint64_t *ret);

/*
 * The part of a ucontext at an aligned address that registers are read from (SIG_UCONTEXT_BYTES); NULL when
 * it cannot be read. Valid until the next call, whatever is read meanwhile.
 */
const ucontext_t *sig_stack_context(struct sig_stack *stack, uint64_t address);

#endif
