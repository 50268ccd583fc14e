/*
 * A frame that never was, unwound by a rule: registers are random numbers, memory is a hash of its address.
 *
 * Whoever reads another register or another address gets another value, so two unwinders that find the same
 * caller have followed the same rule. Where the unwind tables themselves lie, memory is what it is. Words are
 * multiples of 16, since they may be stack pointers.
 */
#ifndef WALLPROF_ORACLE_STATIC_FRAME_H
#define WALLPROF_ORACLE_STATIC_FRAME_H

#include "oracle_static_image.h"
#include "sig/sys/sig_arch.h"
#include "sig/cfi/sig_cfi.h"

#include <stddef.h>

struct fake_frame {
    const struct image *image;
    uint64_t pc;
};

struct value {
    bool is_known;
    uint64_t value;
};

/* The caller's registers, as far as a walk follows them. */
struct outcome {
    uint64_t cfa; /* its stack pointer */
    struct value ra, fp, extra;
    bool is_signal_frame; /* it was interrupted, and has not called */
};

/* splitmix64's finalizer: no two addresses that differ by little have values that do. */
static inline uint64_t scramble(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

/* Not canonical, so never an address of the image; a stack pointer is aligned. */
static inline uint64_t fake_register(unsigned dwarf_register)
{
    return (scramble(dwarf_register + 1) >> 1 | (uint64_t)1 << 62) & ~(uint64_t)15;
}

static inline uint64_t fake_word(uint64_t address)
{
    unsigned shift = 8 * (address & 7);
    uint64_t low = scramble(address & ~(uint64_t)7) & ~(uint64_t)15;
    return shift == 0 ? low : low >> shift | scramble((address | 7) + 1) << (64 - shift);
}

static inline bool is_in_image(const struct fake_frame *frame, uint64_t address)
{
    return address >= frame->image->low && address <= frame->image->high - sizeof(uint64_t);
}

static inline uint64_t read_word(const struct fake_frame *frame, uint64_t address)
{
    uint64_t word;
    if (!is_in_image(frame, address))
        return fake_word(address);
    memcpy(&word, (const void *)(uintptr_t)address, sizeof(word));
    return word;
}

static inline uint64_t register_value(const struct fake_frame *frame, unsigned dwarf_register)
{
    return dwarf_register == SIG_DWARF_PC ? frame->pc : fake_register(dwarf_register);
}

/* ---- the caller by a rule of ours: as sig_unwind.c steps, with every register known ---- */

static inline struct value saved_value(const struct fake_frame *frame, const struct sig_saved *saved,
                                       uint64_t cfa, unsigned own_register)
{
    uint64_t offset = (uint64_t)(int64_t)saved->offset;
    switch (saved->kind) {
    case SIG_SAVED_SAME:
        return (struct value){true, register_value(frame, own_register)};
    case SIG_SAVED_AT_CFA:
        return (struct value){true, read_word(frame, cfa + offset)};
    case SIG_SAVED_AT_REGISTER:
        return (struct value){true, read_word(frame, register_value(frame, saved->dwarf_register) + offset)};
    case SIG_SAVED_IN_REGISTER:
        return (struct value){true, register_value(frame, saved->dwarf_register)};
    default:
        return (struct value){.is_known = false};
    }
}

static inline struct outcome step_frame(const struct fake_frame *frame, const struct sig_rule *rule)
{
    struct outcome caller;
    caller.cfa = register_value(frame, rule->cfa_register) + (uint64_t)(int64_t)rule->cfa_offset;
    if (rule->cfa_deref)
        caller.cfa = read_word(frame, caller.cfa) + (uint64_t)(int64_t)rule->cfa_offset_after;
    caller.ra = saved_value(frame, &rule->ra, caller.cfa, SIG_DWARF_RA);
    caller.fp = saved_value(frame, &rule->fp, caller.cfa, SIG_DWARF_FP);
    caller.is_signal_frame = false;
    caller.extra = saved_value(frame, &rule->extra, caller.cfa, SIG_DWARF_EXTRA);
    return caller;
}

/* What the kernel is taken to have put on the stack. */
static inline struct outcome step_signal(const struct fake_frame *frame)
{
    union {
        uint64_t words[SIG_UCONTEXT_BYTES / sizeof(uint64_t)];
        ucontext_t context;
    } saved;
    struct sig_regs regs;
    uint64_t at = register_value(frame, SIG_DWARF_SP) + SIG_UCONTEXT_OFFSET;
    for (size_t i = 0; i < sizeof(saved.words) / sizeof(uint64_t); i++)
        saved.words[i] = read_word(frame, at + i * sizeof(uint64_t));
    sig_regs_from_context(&regs, &saved.context);
    return (struct outcome){.cfa = regs.sp,
                            .ra = {true, regs.pc},
                            .fp = {true, regs.fp},
                            .extra = {true, regs.extra},
                            .is_signal_frame = true};
}

/* Of a root nothing but that its return address is unknown. */
static inline struct outcome step(const struct fake_frame *frame, const struct sig_rule *rule)
{
    if (rule->kind == SIG_RULE_SIGNAL)
        return step_signal(frame);
    if (rule->kind == SIG_RULE_FRAME)
        return step_frame(frame, rule);
    return (struct outcome){.cfa = 0};
}

static inline bool same_value(struct value a, struct value b)
{
    return a.is_known == b.is_known && (!a.is_known || a.value == b.value);
}

static inline bool same_outcome(const struct outcome *a, const struct outcome *b)
{
    return a->cfa == b->cfa && same_value(a->ra, b->ra) && same_value(a->fp, b->fp) &&
           same_value(a->extra, b->extra) && a->is_signal_frame == b->is_signal_frame;
}

#endif
