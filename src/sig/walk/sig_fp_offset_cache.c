/* An entry: 47 bits of pc, 16 bits of distance in words. The word 0 is "empty": no code lies at address 0. */
#include "sig_fp_offset_cache.h"
#include "sig/sys/sig_atomic.h"

enum {
    SET_BITS = 10,
    WAYS = 4,
    PC_BITS = 47,
    DISTANCE_BITS = 16,
    VARIES = 0xffff, /* or is half a MiB or more */
    WORD_BYTES = 8,
};

/* The only state: 32 KiB. The header's proof names the atomics. */
static uint64_t sig_fp_offset_entries[1 << SET_BITS][WAYS]
    __attribute__((aligned(64), section(".bss.tables")));

/* 2^64 divided by the golden ratio. */
static uint64_t *set_of(uint64_t pc)
{
    return sig_fp_offset_entries[(pc * 0x9e3779b97f4a7c15U) >> (64 - SET_BITS)];
}

static uint64_t words_between(uint64_t sp, uint64_t fp)
{
    uint64_t words = (fp - sp) / WORD_BYTES;
    return (fp - sp) % WORD_BYTES == 0 && words < VARIES ? words : VARIES;
}

void sig_fp_offset_learn(uint64_t lookup_pc, uint64_t sp, uint64_t fp)
{
    uint64_t *set = set_of(lookup_pc), of_pc = lookup_pc << DISTANCE_BITS;
    uint64_t entry = of_pc | words_between(sp, fp);
    if (lookup_pc == 0 || lookup_pc >> PC_BITS)
        return;
    for (int way = 0; way < WAYS; way++) {
        uint64_t held = sig_load_relaxed(&set[way]);
        if (held == 0 && sig_cas_acq_rel(&set[way], &held, entry))
            return;
        if (held >> DISTANCE_BITS != lookup_pc)
            continue;
        if (held != entry)
            sig_store_relaxed(&set[way], of_pc | VARIES);
        return;
    }
}

enum sig_fp_offset sig_fp_offset_find(uint64_t lookup_pc, uint64_t sp, uint64_t *ret_fp)
{
    const uint64_t *set = set_of(lookup_pc);
    for (int way = 0; way < WAYS; way++) {
        uint64_t held = sig_load_relaxed(&set[way]), words = held & VARIES;
        if (held != 0 && held >> DISTANCE_BITS == lookup_pc) {
            *ret_fp = sp + words * WORD_BYTES;
            return words != VARIES ? SIG_FP_OFFSET_KNOWN : SIG_FP_OFFSET_VARIES;
        }
    }
    return SIG_FP_OFFSET_UNKNOWN;
}

void sig_fp_offset_clear(void)
{
    for (uint32_t set = 0; set < 1 << SET_BITS; set++) {
        for (int way = 0; way < WAYS; way++)
            sig_store_relaxed(&sig_fp_offset_entries[set][way], 0);
    }
}
