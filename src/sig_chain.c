#include "sig_chain.h"
#include "sig_arch.h"
#include "sig_generated.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES, PAGE_BYTES = 4096 };

bool sig_chain_leads_to_call(struct sig_stack *stack, const struct sig_modules_table *modules, uint64_t sp,
                             uint64_t fp)
{
    for (uint32_t i = 0; i < SIG_CHAIN_RECORDS_MAX; i++) {
        uint64_t outer_fp, ra;
        if (fp < sp || !sig_stack_read(stack, fp, &outer_fp) || !sig_stack_read(stack, fp + WORD_BYTES, &ra))
            return false;
        ra = sig_plain_return_address(ra);
        if (ra < PAGE_BYTES)
            return false;
        if (sig_modules_find(modules, ra - 1))
            return sig_generated_follows_call(ra);
        sp = fp + 2 * WORD_BYTES;
        fp = outer_fp;
    }
    return false;
}
