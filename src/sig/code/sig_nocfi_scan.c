#include "sig_nocfi_scan.h"
#include "sig/sys/sig_arch.h"
#include "sig_call.h"
#include "sig/cfi/sig_eh_frame.h"
#include "sig_jit_code.h"
#include "sig/sys/sig_memory.h"

enum { SEARCH_WORDS = 512, CODE_BYTES = 65536 };

/* The tables of the C library's clone and clone3 end with the system call, as they would be wrong in the
 * child, but the function goes on. Returns where such a function starts, or 0. */
static uint64_t start_before_system_call(const struct sig_module *module, uint64_t gap, uint64_t lookup_pc)
{
    uint8_t code[SIG_SYSTEM_CALL_BYTES];
    if (lookup_pc - gap != sizeof(code) || !sig_memory_peek(code, gap, sizeof(code)) ||
        !sig_is_system_call(code))
        return 0;
    return sig_eh_frame_function_start(module, gap - 1);
}

void sig_nocfi_scan_around(struct sig_nocfi_scan *scan, const struct sig_modules_table *modules,
                           const struct sig_module *module, uint64_t lookup_pc)
{
    scan->modules = modules;
    scan->high = lookup_pc;
    scan->low = sig_eh_frame_gap_start(module, lookup_pc, !module->is_permanent);
    uint64_t start = start_before_system_call(module, scan->low, lookup_pc);
    scan->low = start ? start : scan->low;
    if (lookup_pc - scan->low > CODE_BYTES)
        scan->low = lookup_pc - CODE_BYTES;
}

/* Whether a call of this code left a return address. */
static bool is_called(const struct sig_nocfi_scan *scan, uint64_t return_address)
{
    uint64_t target = sig_call_target(scan->modules, return_address);
    return target >= scan->low && target <= scan->high;
}

bool sig_nocfi_scan_keeps_frame(const struct sig_nocfi_scan *scan, struct sig_stack *stack, uint64_t fp)
{
    uint64_t ra;
    if (!sig_stack_read(stack, fp + SIG_STACK_WORD_BYTES, &ra))
        return false;
    if (!sig_modules_find(scan->modules, ra))
        return sig_jit_code_follows_call(ra);
    uint64_t target = sig_call_target(scan->modules, ra);
    return target && !sig_call_function_start(scan->modules, target);
}

int sig_nocfi_scan_words_on_return_address(const struct sig_nocfi_scan *scan, struct sig_stack *stack,
                                           uint64_t sp, uint64_t *ret_return_address)
{
    for (int i = 0; i < SEARCH_WORDS; i++) {
        uint64_t at = sp + (uint64_t)i * SIG_STACK_WORD_BYTES;
        if (!sig_stack_search(stack, at, ret_return_address))
            return -1;
        if (is_called(scan, *ret_return_address))
            return i;
    }
    return -1;
}
