/*
 * A window of readable memory. On the thread's own stack it is everything from the page of the interrupted
 * stack pointer on; elsewhere the last page that was found readable, and its neighbours.
 *
 * With a copy the window is what the buffer holds. It grows upwards from the stack pointer in pieces, each as
 * large as all before it. When the buffer is full, or the walk turns elsewhere, the window begins anew.
 */
#include "sig_stack.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_memory.h"

enum { PAGE_BYTES = 4096, FIRST_PAGE_END = 4096, SEARCH_WORDS = 16384 };

/* Of a copy. A walk may make so many system calls, of 0.5 to 3 us each. */
enum { PIECE_BYTES = 2048, PIECES_MAX = 128 };

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)(PAGE_BYTES - 1);
}

/* An empty window at an address that belongs to a word; or what was copied before the walk. */
static void begin_copy(struct sig_stack *stack, uint64_t address)
{
    const struct sig_stack_copy *copy = stack->copy;
    stack->window_low = copy->held_bytes ? copy->held_low : address;
    stack->window_high = stack->window_low + copy->held_bytes;
    stack->shift = (uint64_t)(uintptr_t)copy->words - stack->window_low;
}

void sig_stack_enter(struct sig_stack *stack, uint64_t sp)
{
    bool is_mapped = sp >= stack->mapped_low && sp < stack->high;
    stack->window_low = is_mapped ? stack->mapped_low : 0;
    stack->window_high = is_mapped ? stack->high : 0;
    if (stack->copy)
        begin_copy(stack, sp & ~(uint64_t)(SIG_STACK_WORD_BYTES - 1));
}

void sig_stack_begin(struct sig_stack *stack, uint64_t sp)
{
    bool on_own_stack = sp >= stack->low && sp < stack->high && !stack->copy;
    stack->mapped_low = on_own_stack ? page_of(sp) : UINT64_MAX;
    stack->search_left = SEARCH_WORDS;
    stack->shift = 0;
    if (stack->copy)
        stack->copy->pieces_left = PIECES_MAX;
    sig_stack_enter(stack, sp);
}

static bool are_within(uint64_t a, uint64_t b, uint64_t low, uint64_t high)
{
    return a >= low && a < high && b >= low && b < high;
}

bool sig_stack_is_one(const struct sig_stack *stack, uint64_t a, uint64_t b)
{
    return are_within(a, b, stack->low, stack->high) ||
           are_within(a, b, stack->window_low, stack->window_high);
}

static bool is_on_own_stack(const struct sig_stack *stack)
{
    if (stack->copy)
        return stack->window_low >= stack->low && stack->window_low < stack->high;
    return stack->high != 0 && stack->window_high == stack->high;
}

bool sig_stack_search(struct sig_stack *stack, uint64_t address, uint64_t *ret)
{
    if (stack->search_left == 0 || (is_on_own_stack(stack) && address >= stack->high))
        return false;
    stack->search_left--;
    return sig_stack_read(stack, address, ret);
}

/* ---- copying ---- */

/* A piece is as large as all before it, and ends with a page, because its cost is by the page. */
static uint64_t end_of_piece(const struct sig_stack *stack)
{
    const struct sig_stack_copy *copy = stack->copy;
    uint64_t held = stack->window_high - stack->window_low, wanted = held;
    if (held == 0)
        wanted = copy->expected_bytes > PIECE_BYTES ? copy->expected_bytes : PIECE_BYTES;
    uint64_t end = page_of(stack->window_high + wanted + PAGE_BYTES - 1);
    uint64_t buffer_end = stack->window_low + copy->capacity_bytes;
    end = end < buffer_end ? end : buffer_end;
    return is_on_own_stack(stack) && end > stack->high ? stack->high : end;
}

/* Appends another piece. */
static void copy_piece(struct sig_stack *stack)
{
    struct sig_stack_copy *copy = stack->copy;
    uint64_t end = end_of_piece(stack);
    if (copy->pieces_left == 0 || end <= stack->window_high)
        return;
    copy->pieces_left--;
    void *to = (void *)(uintptr_t)(stack->window_high + stack->shift);
    size_t bytes = end - stack->window_high;
    size_t copied = sig_memory_copy_some(to, stack->window_high, bytes, copy->mem_descriptor, copy->beside);
    copy->beside = NULL;
    stack->window_high += copied & ~(size_t)(SIG_STACK_WORD_BYTES - 1);
}

static bool widen_copy(struct sig_stack *stack, uint64_t address)
{
    if (address < FIRST_PAGE_END || address > INT64_MAX) /* not of user space */
        return false;
    if (stack->copy->held_bytes)
        return false;
    if (address >= stack->window_high && address < end_of_piece(stack))
        copy_piece(stack);
    if (address >= stack->window_low && address < stack->window_high)
        return true;
    begin_copy(stack, page_of(address));
    copy_piece(stack);
    return address < stack->window_high;
}

/* ---- reading in place ---- */

bool sig_stack_widen(struct sig_stack *stack, uint64_t address)
{
    uint64_t page = page_of(address);
    if (stack->copy)
        return widen_copy(stack, address);
    if (address < FIRST_PAGE_END || !sig_memory_is_readable(page))
        return false;
    if (page + PAGE_BYTES == stack->window_low) {
        stack->window_low = page;
        return true;
    }
    if (page != stack->window_high)
        stack->window_low = page;
    stack->window_high = page + PAGE_BYTES;
    return true;
}

bool sig_stack_read_bytes(struct sig_stack *stack, uint64_t address, unsigned bytes, uint64_t *ret)
{
    unsigned into = address % SIG_STACK_WORD_BYTES; /* whole words are read: they never cross a page */
    uint64_t word, next;
    if (bytes == 0 || bytes > SIG_STACK_WORD_BYTES || !sig_stack_read(stack, address - into, &word))
        return false;
    word >>= 8 * into;
    if (into + bytes > SIG_STACK_WORD_BYTES) {
        if (!sig_stack_read(stack, address - into + SIG_STACK_WORD_BYTES, &next))
            return false;
        word |= next << (8 * (SIG_STACK_WORD_BYTES - into));
    }
    *ret = bytes == SIG_STACK_WORD_BYTES ? word : word & (((uint64_t)1 << (8 * bytes)) - 1);
    return true;
}

const ucontext_t *sig_stack_context(struct sig_stack *stack, uint64_t address)
{
    uint64_t *words = stack->copy ? (uint64_t *)(void *)&stack->copy->context : NULL, word;
    uint64_t last_at = address + SIG_UCONTEXT_BYTES - SIG_STACK_WORD_BYTES; /* in the same page or the next */
    if (!words)
        return sig_stack_read(stack, address, &word) && sig_stack_read(stack, last_at, &word)
                   ? (const ucontext_t *)(uintptr_t)address
                   : NULL;
    for (size_t i = 0; i < SIG_UCONTEXT_BYTES / SIG_STACK_WORD_BYTES; i++) {
        if (!sig_stack_read(stack, address + i * SIG_STACK_WORD_BYTES, &words[i]))
            return NULL;
    }
    return &stack->copy->context;
}
