/*
 * An entry: 36 bits of tag, 28 bits of packed rule. The word 0 is "empty". No rule packs to it: on x86_64 CFA
 * = sp + 0 is impossible, and on aarch64 a frame record of 0 words.
 */
#include "sig_rules.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"

enum {
    SET_BITS = 11,
    WAYS = 4,
    TAG_BITS = 36,
    RULE_BITS = 28,
    PC_BITS = SET_BITS + TAG_BITS,
    CFA_UNITS_MIN = -2048,
    CFA_UNITS_MAX = 2047,
    CFA_UNITS_MASK = 0xfff,
    WORD_BYTES = 8,
    RA_OFFSET = -8,
};

/* The only state: 64 KiB. Relaxed atomics are enough, as the header proves. */
static uint64_t sig_rules_entries[1 << SET_BITS][WAYS] __attribute__((aligned(64), section(".bss.tables")));

/* An odd constant: 2^47 divided by the golden ratio. */
static const uint64_t pc_multiplier = 0x4f1bbcdcbfa5U;

static const uint64_t tag_mask = ((uint64_t)1 << TAG_BITS) - 1, rule_mask = ((uint64_t)1 << RULE_BITS) - 1;

static uint64_t mix(uint64_t pc)
{
    return (pc * pc_multiplier) & (((uint64_t)1 << PC_BITS) - 1);
}

static bool pack_saved(const struct sig_saved *saved, uint64_t *ret)
{
    if (saved->kind == SIG_SAVED_SAME)
        *ret = 0;
    else if (saved->kind == SIG_SAVED_UNKNOWN || saved->kind == SIG_SAVED_UNDEFINED)
        *ret = SIG_PACKED_UNKNOWN;
    else if (saved->kind == SIG_SAVED_AT_CFA && saved->offset < 0 && saved->offset % WORD_BYTES == 0 &&
             -(saved->offset / WORD_BYTES) < SIG_PACKED_UNKNOWN)
        *ret = (uint64_t) - (saved->offset / WORD_BYTES);
    else
        return false;
    return true;
}

static struct sig_saved unpack_saved(uint32_t bits)
{
    if (bits == 0)
        return (struct sig_saved){.kind = SIG_SAVED_SAME};
    if (bits == SIG_PACKED_UNKNOWN)
        return (struct sig_saved){.kind = SIG_SAVED_UNKNOWN};
    return (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = -(int32_t)bits * WORD_BYTES};
}

static bool frame_form(const struct sig_rule *rule, enum sig_packed_form *ret)
{
    if (rule->cfa_deref) {
        *ret = rule->cfa_register == SIG_DWARF_FP ? SIG_PACKED_FP_DEREF : SIG_PACKED_SP_DEREF;
        return (rule->cfa_register == SIG_DWARF_FP && rule->cfa_offset_after == 0) ||
               (rule->cfa_register == SIG_DWARF_SP && rule->cfa_offset_after == WORD_BYTES);
    }
    *ret = rule->cfa_register == SIG_DWARF_SP   ? SIG_PACKED_SP
           : rule->cfa_register == SIG_DWARF_FP ? SIG_PACKED_FP
                                                : SIG_PACKED_EXTRA;
    return *ret != SIG_PACKED_EXTRA || rule->cfa_register == SIG_DWARF_EXTRA;
}

/* The frame record's words below the CFA; false if there is none, or it is too far below. */
static bool pack_record(const struct sig_rule *rule, uint64_t *ret)
{
    *ret = (uint64_t) - (rule->fp.offset / WORD_BYTES);
    return rule->fp.kind == SIG_SAVED_AT_CFA && rule->ra.kind == SIG_SAVED_AT_CFA &&
           rule->fp.offset % WORD_BYTES == 0 && rule->ra.offset == rule->fp.offset + WORD_BYTES &&
           *ret >= 1 && *ret <= SIG_PACKED_RECORD_MASK;
}

/* The 13 bits of the saved registers; false if they do not fit. */
static bool pack_registers(const struct sig_rule *rule, uint64_t *ret)
{
    uint64_t fp, extra;
    if (SIG_RA_IN_EXTRA && pack_record(rule, &fp)) {
        *ret = fp << 1;
        return true;
    }
    if (!SIG_RA_IN_EXTRA && (rule->ra.kind != SIG_SAVED_AT_CFA || rule->ra.offset != RA_OFFSET))
        return false;
    if (!pack_saved(&rule->fp, &fp) || !pack_saved(SIG_RA_IN_EXTRA ? &rule->ra : &rule->extra, &extra))
        return false;
    *ret = fp << SIG_PACKED_FP_SHIFT | extra << SIG_PACKED_EXTRA_SHIFT | (SIG_RA_IN_EXTRA || rule->may_land);
    return true;
}

static struct sig_saved in_record(uint32_t words)
{
    return (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = -(int32_t)words * WORD_BYTES};
}

static void unpack_registers(uint32_t bits, struct sig_rule *ret)
{
    bool has_record = sig_packed_has_record(bits);
    ret->fp = has_record ? in_record(sig_packed_fp(bits)) : unpack_saved(sig_packed_fp(bits));
    ret->extra = has_record ? in_record(sig_packed_extra(bits)) : unpack_saved(sig_packed_extra(bits));
    ret->ra = SIG_RA_IN_EXTRA ? ret->extra : in_record(-RA_OFFSET / WORD_BYTES);
}

/* The 28 bits of an ordinary frame; false if it does not fit. */
static bool pack_frame(const struct sig_rule *rule, uint64_t *ret)
{
    enum sig_packed_form form;
    uint64_t registers;
    int32_t units = rule->cfa_offset / WORD_BYTES;
    if (!frame_form(rule, &form) || rule->cfa_offset % WORD_BYTES != 0 || units < CFA_UNITS_MIN ||
        units > CFA_UNITS_MAX || !pack_registers(rule, &registers))
        return false;
    *ret = (uint64_t)form << SIG_PACKED_FORM_SHIFT |
           (uint64_t)(units & CFA_UNITS_MASK) << SIG_PACKED_CFA_SHIFT | registers;
    return true;
}

/* The 28 bits of a rule, or 0 if it does not fit. */
static uint64_t pack(const struct sig_rule *rule)
{
    uint64_t bits = 0;
    switch (rule->kind) {
    case SIG_RULE_FRAME:
        return pack_frame(rule, &bits) ? bits : 0;
    case SIG_RULE_ROOT:
        return (uint64_t)SIG_PACKED_ROOT << SIG_PACKED_FORM_SHIFT | rule->starts_here;
    case SIG_RULE_SIGNAL:
        return (uint64_t)SIG_PACKED_SIGNAL << SIG_PACKED_FORM_SHIFT;
    case SIG_RULE_NONE:
        return (uint64_t)SIG_PACKED_NONE << SIG_PACKED_FORM_SHIFT | rule->not_called;
    default:
        return 0;
    }
}

static void unpack(uint32_t bits, struct sig_rule *ret)
{
    static const uint8_t register_of[] = {SIG_DWARF_SP, SIG_DWARF_FP, SIG_DWARF_EXTRA, SIG_DWARF_FP,
                                          SIG_DWARF_SP};
    enum sig_packed_form form = sig_packed_form(bits);
    *ret = (struct sig_rule){.kind = SIG_RULE_FRAME};
    if (form >= SIG_PACKED_ROOT) {
        ret->kind = form == SIG_PACKED_ROOT     ? SIG_RULE_ROOT
                    : form == SIG_PACKED_SIGNAL ? SIG_RULE_SIGNAL
                                                : SIG_RULE_NONE;
        ret->starts_here = form == SIG_PACKED_ROOT && (bits & 1);
        ret->not_called = form == SIG_PACKED_NONE && (bits & 1);
        return;
    }
    ret->cfa_register = register_of[form];
    ret->cfa_deref = form == SIG_PACKED_FP_DEREF || form == SIG_PACKED_SP_DEREF;
    ret->cfa_offset_after = form == SIG_PACKED_SP_DEREF ? WORD_BYTES : 0;
    ret->cfa_offset = (int32_t)sig_packed_cfa_offset(bits);
    ret->may_land = sig_packed_may_land(bits);
    unpack_registers(bits, ret);
}

uint32_t sig_rules_lookup_packed(uint64_t lookup_pc)
{
    uint64_t mixed = mix(lookup_pc);
    const uint64_t *set = sig_rules_entries[mixed >> TAG_BITS], tag = mixed & tag_mask;
    if (lookup_pc >> PC_BITS)
        return 0;
    for (int way = 0; way < WAYS; way++) {
        uint64_t entry = sig_load_relaxed(&set[way]);
        if (entry >> RULE_BITS == tag)
            return (uint32_t)(entry & rule_mask);
    }
    return 0;
}

bool sig_rules_lookup(uint64_t lookup_pc, struct sig_rule *ret)
{
    uint32_t packed = sig_rules_lookup_packed(lookup_pc);
    if (packed != 0)
        unpack(packed, ret);
    return packed != 0;
}

/* The newest rule goes first; the oldest of the set is dropped. */
void sig_rules_insert(uint64_t lookup_pc, const struct sig_rule *rule)
{
    uint64_t bits = pack(rule), mixed = mix(lookup_pc);
    uint64_t *set = sig_rules_entries[mixed >> TAG_BITS];
    uint64_t entry = (mixed & tag_mask) << RULE_BITS | bits;
    if (bits == 0 || lookup_pc >> PC_BITS)
        return;
    for (int way = 0; way < WAYS; way++) {
        uint64_t older = sig_load_relaxed(&set[way]);
        sig_store_relaxed(&set[way], entry);
        if (older == 0 || older >> RULE_BITS == (mixed & tag_mask))
            return;
        entry = older;
    }
}

void sig_rules_clear(void)
{
    for (uint32_t set = 0; set < 1 << SET_BITS; set++) {
        for (int way = 0; way < WAYS; way++)
            sig_store_relaxed(&sig_rules_entries[set][way], 0);
    }
}
