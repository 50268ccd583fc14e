/*
 * Reading words of a stack, wherever it lies, without a fault.
 *
 * Called from: signal handlers, on the stack of their thread, and the sampler thread, for others.
 *
 * What lies on the thread's own stack above the interrupted stack pointer is mapped for certain, and is read
 * directly. (A stack pointer further out may be forged.) Of any other memory (a coroutine, a signal stack, a
 * wild pointer) each page is probed first.
 *
 * Another thread's stack changes while it is read, and may go away. So its words come from a copy that the
 * kernel makes, a piece at a time, and none of its addresses is ever dereferenced. A piece that is not whole
 * counts as far as it goes.
 */
#ifndef WALLPROF_SIG_STACK_H
#define WALLPROF_SIG_STACK_H

#include "sig/sys/sig_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

enum { SIG_STACK_WORD_BYTES = 8, SIG_STACK_COPY_BYTES_MIN = 16384 };

/* What a walk has copied; the caller's memory, for one walk at a time. */
struct sig_stack_copy {
    /* Set by the owner. */
    uint64_t *words;
    size_t capacity_bytes;           /* of them: a multiple of a page, at least SIG_STACK_COPY_BYTES_MIN */
    size_t expected_bytes;           /* that the walk may need, so that one piece is enough; 0 if not known */
    int mem_descriptor;              /* see sig_memory_copy_some */
    struct sig_memory_piece *beside; /* to be copied with the next piece; NULL: nothing, and after that */
    /* The words hold so many bytes from this address on already, and no more is copied; 0: nothing yet. */
    uint64_t held_low;
    size_t held_bytes;

    /* The walk's. */
    uint32_t pieces_left; /* that it may still copy */
    ucontext_t context;   /* returned by sig_stack_context */
};

struct sig_stack {
    uint64_t low, high;          /* where the thread's own stack may be, 0 and 0 when not known */
    struct sig_stack_copy *copy; /* NULL: the words are read in place */
    uint64_t mapped_low; /* the own stack is mapped from here on; UINT64_MAX if the walk began elsewhere */
    uint64_t window_low, window_high; /* readable for certain */
    uint64_t shift;                   /* from an address in the window to its bytes; 0 without a copy */
    uint32_t search_left;             /* words that sig_stack_search may still read */
};

/* Begins a walk at the stack pointer of an interrupted thread, or with a copy at that of another thread. */
void sig_stack_begin(struct sig_stack *stack, uint64_t sp);

/* Goes on with this stack pointer, which may be on another stack. */
void sig_stack_enter(struct sig_stack *stack, uint64_t sp);

/* Whether both addresses are known to be on one stack. */
bool sig_stack_is_one(const struct sig_stack *stack, uint64_t a, uint64_t b);

/* For sig_stack_read: moves the window to a word; false if it cannot be read. */
bool sig_stack_widen(struct sig_stack *stack, uint64_t address);

/* Reads a word for a search. False also beyond the end of the thread's own stack, and when all searches of
 * the walk together have read too much. */
bool sig_stack_search(struct sig_stack *stack, uint64_t address, uint64_t *ret);

/* An aligned word; false if it cannot be read. Inline: a walk is made of these. */
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

/* 1 to 8 bytes at any address, zero-extended; false if they cannot be read. */
bool sig_stack_read_bytes(struct sig_stack *stack, uint64_t address, unsigned bytes, uint64_t *ret);

/* The first SIG_UCONTEXT_BYTES of a ucontext at an aligned address; NULL if they cannot be read. Valid until
 * the next call. */
const ucontext_t *sig_stack_context(struct sig_stack *stack, uint64_t address);

#endif
