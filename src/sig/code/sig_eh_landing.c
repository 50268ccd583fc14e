/*
 * A return address that was overwritten stands on the stack a second time, further out: there the frame that
 * handles the exception made its call. The stack of that frame begins right after it.
 */
#include "sig_eh_landing.h"
#include "sig_call.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES, LANDING_WORDS = 8192, THROWER_WORDS = 4096 };

static bool is_call_of(const struct sig_modules_table *modules, uint64_t return_address, uint64_t start_pc)
{
    return start_pc && sig_call_target(modules, return_address) == start_pc;
}

bool sig_eh_landing_was_called(const struct sig_modules_table *modules, struct sig_stack *stack,
                               uint64_t lookup_pc, uint64_t return_address, uint64_t cfa, uint64_t *ret_sp)
{
    uint64_t word;
    *ret_sp = 0;
    if (is_call_of(modules, return_address, sig_call_function_start(modules, lookup_pc)))
        return true;
    for (uint64_t i = 0; i < LANDING_WORDS && sig_stack_search(stack, cfa + i * WORD_BYTES, &word); i++) {
        if (word == return_address) {
            *ret_sp = cfa + (i + 1) * WORD_BYTES;
            return false;
        }
    }
    return false;
}

uint64_t sig_eh_landing_thrower_cfa(const struct sig_modules_table *modules, struct sig_stack *stack,
                                    uint64_t lookup_pc, uint64_t sp, uint64_t cfa)
{
    uint64_t word, start_pc = sig_call_function_start(modules, lookup_pc);
    bool is_frame =
        cfa > sp && sig_stack_read(stack, cfa - WORD_BYTES, &word) && is_call_of(modules, word, start_pc);
    for (uint64_t i = 0;
         !is_frame && i < THROWER_WORDS && sig_stack_search(stack, sp + i * WORD_BYTES, &word); i++) {
        if (is_call_of(modules, word, start_pc))
            return sp + (i + 1) * WORD_BYTES;
    }
    return cfa;
}
