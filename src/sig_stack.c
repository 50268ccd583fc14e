/* A window of readable memory: of the thread's own stack all above the stack pointer, else the last page
 * asked for, and those after it. */
#include "sig_stack.h"
#include "sig_arch.h"
#include "sig_memory.h"

enum { PAGE_BYTES = 4096, FIRST_PAGE_END = 4096 };

void sig_stack_enter(struct sig_stack *stack, uint64_t sp)
{
    bool on_own_stack = sp >= stack->low && sp < stack->high;
    stack->window_low = on_own_stack ? sp - SIG_RED_ZONE_BYTES : 0;
    stack->window_high = on_own_stack ? stack->high : 0;
}

bool sig_stack_widen(struct sig_stack *stack, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1);
    if (address < FIRST_PAGE_END || !sig_memory_is_readable(page))
        return false;
    if (page != stack->window_high)
        stack->window_low = page;
    stack->window_high = page + PAGE_BYTES;
    return true;
}
