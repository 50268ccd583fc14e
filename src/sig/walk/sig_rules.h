/*
 * The cache of unwind rules: exact pc -> how to step to the caller, for the whole process, without a lock.
 *
 * Lookups and insertions come from signal handlers of any number of threads at once, and from the sampler
 * thread. It also calls sig_rules_clear while none of them is between the two (sig_walk_tables_publish).
 *
 * Proof that a lookup never returns a rule of another pc: an entry is one 64-bit word, so a relaxed load sees
 * one insertion whole. The pc, below 2^47 in user space, is multiplied by an odd constant modulo 2^47, which
 * is a bijection. 11 bits of the product choose a set, and the other 36 stand in the entry. So equal set and
 * equal 36 bits mean equal pc. An insertion that overwrites another, is made twice, or is lost, costs memory
 * or a recomputation, never a wrong result. Rules are a function of the pc while the modules stay; when they
 * change, the cache is cleared.
 *
 * Four entries, in one cache line, make a set. If two pcs of one stack shared their only entry, every walk
 * would compute both rules, at 100 times the cost of a hit.
 */
#ifndef WALLPROF_SIG_RULES_H
#define WALLPROF_SIG_RULES_H

#include "sig/sys/sig_arch.h"
#include "sig/cfi/sig_cfi.h"

#include <stdbool.h>
#include <stdint.h>

/* False if the rule is not cached. */
bool sig_rules_lookup(uint64_t lookup_pc, struct sig_rule *ret);

/* The packed rule, or 0. The accessors below read it, for the loop that steps through ordinary frames: 6.5 ns
 * a frame instead of 12. */
uint32_t sig_rules_lookup_packed(uint64_t lookup_pc);

/*
 * A packed rule is 28 bits, from the top: 3 form | 12 CFA offset in units of 8 bytes, signed | 13 saved
 * registers. On x86_64, where the return address is at CFA - 8, these are
 *   6 frame pointer | 6 extra register | 1 may_land
 * On aarch64, where the return address is the extra register, one of
 *   6 frame pointer | 6 extra register | 1
 *   12 frame pointer, 1 word above it the extra register: a frame record, anywhere in the frame | 0
 * A register is 0 unchanged, 1..62 saved at CFA - 8 * n, 63 unknown; in a frame record n is 1..4095.
 * The last bit of ROOT is starts_here, that of NONE not_called (struct sig_rule).
 */
enum {
    SIG_PACKED_FORM_SHIFT = 25,
    SIG_PACKED_CFA_SHIFT = 13,
    SIG_PACKED_FP_SHIFT = 7,
    SIG_PACKED_EXTRA_SHIFT = 1,
    SIG_PACKED_SAVED_MASK = 63,
    SIG_PACKED_RECORD_MASK = 4095,
    SIG_PACKED_UNKNOWN = 63,
};

/* SP_DEREF: *(sp + offset) + 8, as in OpenSSL's assembly. */
enum sig_packed_form {
    SIG_PACKED_SP,
    SIG_PACKED_FP,
    SIG_PACKED_EXTRA,
    SIG_PACKED_FP_DEREF,
    SIG_PACKED_SP_DEREF,
    SIG_PACKED_ROOT,
    SIG_PACKED_SIGNAL,
    SIG_PACKED_NONE
};

static inline enum sig_packed_form sig_packed_form(uint32_t rule)
{
    return (enum sig_packed_form)(rule >> SIG_PACKED_FORM_SHIFT);
}

/* Bytes. */
static inline int64_t sig_packed_cfa_offset(uint32_t rule)
{
    return (int64_t)((int32_t)(rule << 7) >> (SIG_PACKED_CFA_SHIFT + 7)) * 8;
}

static inline bool sig_packed_has_record(uint32_t rule)
{
    return SIG_RA_IN_EXTRA && !(rule & 1);
}

static inline bool sig_packed_may_land(uint32_t rule)
{
    return !SIG_RA_IN_EXTRA && (rule & 1);
}

/* Where the caller's register is: words below the CFA, 0 for unchanged. */
static inline uint32_t sig_packed_fp(uint32_t rule)
{
    return sig_packed_has_record(rule) ? rule >> 1 & SIG_PACKED_RECORD_MASK
                                       : rule >> SIG_PACKED_FP_SHIFT & SIG_PACKED_SAVED_MASK;
}

static inline uint32_t sig_packed_extra(uint32_t rule)
{
    return sig_packed_has_record(rule) ? sig_packed_fp(rule) - 1
                                       : rule >> SIG_PACKED_EXTRA_SHIFT & SIG_PACKED_SAVED_MASK;
}

/* Whether both registers are known. */
static inline bool sig_packed_knows_saved(uint32_t rule)
{
    return sig_packed_has_record(rule) ||
           (sig_packed_fp(rule) != SIG_PACKED_UNKNOWN && sig_packed_extra(rule) != SIG_PACKED_UNKNOWN);
}

/* Keeps a rule if it fits into an entry, as nearly all do. */
void sig_rules_insert(uint64_t lookup_pc, const struct sig_rule *rule);

void sig_rules_clear(void);

#endif
