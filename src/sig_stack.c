/*
 * A window of readable memory: of the thread's own stack everything from the page of the interrupted stack
 * pointer on, else the last page that was found readable, and its neighbours.
 */
#include "sig_stack.h"
#include "sig_memory.h"

enum { PAGE_BYTES = 4096, FIRST_PAGE_END = 4096, SEARCH_WORDS = 16384 };

void sig_stack_enter(struct sig_stack *stack, uint64_t sp)
{
    bool is_mapped = sp >= stack->mapped_low && sp < stack->high;
    stack->window_low = is_mapped ? stack->mapped_low : 0;
    stack->window_high = is_mapped ? stack->high : 0;
}

void sig_stack_begin(struct sig_stack *stack, uint64_t sp)
{
    bool on_own_stack = sp >= stack->low && sp < stack->high;
    stack->mapped_low = on_own_stack ? sp & ~(uint64_t)(PAGE_BYTES - 1) : UINT64_MAX;
    stack->search_left = SEARCH_WORDS;
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

bool sig_stack_search(struct sig_stack *stack, uint64_t address, uint64_t *ret)
{
    bool on_own_stack = stack->high != 0 && stack->window_high == stack->high;
    if (stack->search_left == 0 || (on_own_stack && address >= stack->high))
        return false;
    stack->search_left--;
    return sig_stack_read(stack, address, ret);
}

bool sig_stack_widen(struct sig_stack *stack, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1);
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
    unsigned into = address % SIG_STACK_WORD_BYTES; /* read as whole words: they never cross a page */
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
