/* The call instructions are decoded by sig_call. */
#include "sig_nocfi_scan.h"
#include "sig/sys/sig_arch.h"
#include "sig_call.h"
#include "sig/cfi/sig_eh_frame.h"
#include "sig_jit_code.h"
#include "sig/sys/sig_memory.h"

enum { SEARCH_WORDS = 512, CODE_BYTES = 65536 };

/*
 * The tables of the C library's clone and clone3 end with the system call, because they would be wrong in the
 * child; but the function goes on. Where its tables begin, then; else 0.
 */
static uint64_t start_before_system_call(const struct sig_module *module, uint64_t gap, uint64_t lookup_pc)
{
    uint8_t code[SIG_SYSTEM_CALL_BYTES];
    if (lookup_pc - gap != sizeof(code) || !sig_memory_peek(code, gap, sizeof(code)) ||
        !sig_is_system_call(code))
        return 0;
    return sig_eh_frame_function_start(module, gap - 1);
}

void sig_nocfi_scan_around(struct sig_nocfi_scan *bare, const struct sig_modules_table *modules,
                           const struct sig_module *module, uint64_t lookup_pc)
{
    bare->modules = modules;
    bare->high = lookup_pc;
    bare->low = sig_eh_frame_gap_start(module, lookup_pc, !module->is_permanent);
    uint64_t start = start_before_system_call(module, bare->low, lookup_pc);
    bare->low = start ? start : bare->low;
    if (lookup_pc - bare->low > CODE_BYTES)
        bare->low = lookup_pc - CODE_BYTES;
}

/* Whether a word, taken for a return address, was left by a call of this code. */
static bool is_called(const struct sig_nocfi_scan *bare, uint64_t return_address)
{
    uint64_t target = sig_call_target(bare->modules, return_address);
    return target >= bare->low && target <= bare->high;
}

bool sig_nocfi_scan_keeps_frame(const struct sig_nocfi_scan *bare, struct sig_stack *stack, uint64_t fp)
{
    uint64_t ra;
    if (!sig_stack_read(stack, fp + SIG_STACK_WORD_BYTES, &ra))
        return false;
    if (!sig_modules_find(bare->modules, ra))
        return sig_jit_code_follows_call(ra);
    uint64_t target = sig_call_target(bare->modules, ra);
    return target && !sig_call_function_start(bare->modules, target);
}

int sig_nocfi_scan_words_on_return_address(const struct sig_nocfi_scan *bare, struct sig_stack *stack,
                                           uint64_t sp, uint64_t *ret_return_address)
{
    for (int i = 0; i < SEARCH_WORDS; i++) {
        uint64_t at = sp + (uint64_t)i * SIG_STACK_WORD_BYTES;
        if (!sig_stack_search(stack, at, ret_return_address))
            return -1;
        if (is_called(bare, *ret_return_address))
            return i;
    }
    return -1;
}
