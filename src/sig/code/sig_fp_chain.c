#include "sig_fp_chain.h"
#include "sig/sys/sig_arch.h"
#include "sig_jit_code.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES, PAGE_BYTES = 4096 };

struct record {
    uint64_t outer; /* the next record */
    uint64_t ra;
};

static bool read_record(struct sig_fp_chain *chain, struct sig_stack *stack, uint64_t at, struct record *ret)
{
    if (chain->records_read >= SIG_FP_CHAIN_RECORDS_MAX)
        return false;
    chain->records_read++;
    if (!sig_stack_read(stack, at, &ret->outer) || !sig_stack_read(stack, at + WORD_BYTES, &ret->ra))
        return false;
    ret->ra = sig_plain_return_address(ret->ra);
    return ret->ra >= PAGE_BYTES;
}

/* Goes on in the chain that was found last. False if fp is none of its records. */
static bool is_in_chain(struct sig_fp_chain *chain, struct sig_stack *stack, uint64_t fp)
{
    struct record record;
    while (chain->record < fp && chain->record < chain->last) {
        if (!read_record(chain, stack, chain->record, &record))
            return false;
        chain->record = record.outer;
    }
    return fp != 0 && chain->record == fp;
}

bool sig_fp_chain_leads_to_call(struct sig_fp_chain *chain, struct sig_stack *stack,
                                const struct sig_modules_table *modules, uint64_t sp, uint64_t fp)
{
    struct record record;
    if (fp >= sp && is_in_chain(chain, stack, fp))
        return true;
    for (uint64_t at = fp; at >= sp && read_record(chain, stack, at, &record); at = record.outer) {
        if (sig_modules_find(modules, record.ra - 1)) {
            if (!sig_jit_code_follows_call(record.ra))
                return false;
            chain->record = fp;
            chain->last = at;
            return true;
        }
        sp = at + 2 * WORD_BYTES;
    }
    return false;
}
