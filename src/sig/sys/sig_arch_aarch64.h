/*
 * aarch64. Included by sig_arch.h only, which has the contracts.
 *
 * Sources: DWARF for the Arm 64-bit Architecture (AADWARF64), section 4.1 (register numbers) and 4.4 (CFA
 * operations); Procedure Call Standard (AAPCS64), 6.4.5 (the stack) and 6.4.6 (the frame record: where x29
 * points lie the caller's x29 and the return address); the kernel's arch/arm64/kernel/signal.c (struct
 * rt_sigframe, and do_signal for what a handler finds after an interrupted system call) and
 * arch/arm64/kernel/vdso/sigreturn.S.
 */
#ifndef WALLPROF_SIG_ARCH_AARCH64_H
#define WALLPROF_SIG_ARCH_AARCH64_H

#include <stddef.h>

enum {
    SIG_DWARF_LANDING = 1, /* x1: x0 to x3 hand an exception to its handler */
    SIG_DWARF_EXTRA = 30,  /* lr */
    SIG_DWARF_FP = 29,
    SIG_DWARF_SP = 31,
    SIG_DWARF_RA = 30,
    SIG_DWARF_PC = 32, /* cannot be named by an expression's operators of one byte */
    SIG_DWARF_COUNT = 33
};

enum {
    SIG_RA_IN_EXTRA = 1,
    SIG_HAS_NEGATE_RA_STATE = 1,
    SIG_FP_STEP_HIDES_SP = 1,
    SIG_CODE_ALIGN = 4,
    SIG_UCONTEXT_OFFSET = 128, /* struct rt_sigframe { struct siginfo info; struct ucontext uc; } */
    SIG_UCONTEXT_BYTES = offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, pstate),
    SIG_SYSTEM_CALL_BYTES = 4,
    SIG_TRAMPOLINE_BYTES = 8,
    SIG_CALL_BYTES_MAX = 4,
    SIG_DECODES_CALLS = 0,
    SIG_FP_IS_GHC_SP = 0, /* it is x20 */
    SIG_LOOK_BACK_BYTES = 4,
    SIG_LOOK_AHEAD_BYTES = 48,
    SIG_CODE_TELLS_RULES = 1,
    SIG_ACTION_FLAGS = 0,
};

static inline void sig_regs_from_context(struct sig_regs *regs, const ucontext_t *context)
{
    const mcontext_t *machine = &context->uc_mcontext;
    regs->pc = machine->pc;
    regs->sp = machine->sp;
    regs->fp = machine->regs[SIG_DWARF_FP];
    regs->extra = machine->regs[SIG_DWARF_EXTRA];
    regs->leaf = context;
}

static inline bool sig_leaf_register(const ucontext_t *context, unsigned dwarf_register, uint64_t *ret)
{
    const mcontext_t *machine = &context->uc_mcontext;
    if (dwarf_register >= SIG_DWARF_COUNT)
        return false;
    *ret = dwarf_register == SIG_DWARF_SP   ? machine->sp
           : dwarf_register == SIG_DWARF_PC ? machine->pc
                                            : machine->regs[dwarf_register];
    return true;
}

/* x0 to x5. */
static inline bool sig_argument_register(const uint64_t *arguments, unsigned dwarf_register, uint64_t *ret)
{
    enum { ARGUMENTS = 6 };
    if (dwarf_register >= ARGUMENTS)
        return false;
    *ret = arguments[dwarf_register];
    return true;
}

/* svc #0 */
static inline bool sig_is_system_call(const uint8_t *code)
{
    return code[0] == 0x01 && code[1] == 0 && code[2] == 0 && code[3] == 0xd4;
}

static inline long sig_call_number(const ucontext_t *context)
{
    return (long)context->uc_mcontext.regs[8];
}

static inline long sig_call_argument(const ucontext_t *context, int which)
{
    return (long)context->uc_mcontext.regs[which];
}

static inline void sig_end_call(ucontext_t *context, long result)
{
    context->uc_mcontext.pc += SIG_SYSTEM_CALL_BYTES;
    context->uc_mcontext.regs[0] = (unsigned long long)result;
}

/* mov x8, #__NR_rt_sigreturn; svc #0. */
static const uint8_t sig_trampoline_code[SIG_TRAMPOLINE_BYTES] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

/* Arm Architecture Reference Manual, C6.2: BL, BLR, BLRAA and their kind. */
static inline bool sig_ends_in_call(const uint8_t *code)
{
    uint32_t word = sig_little_endian_32(code);
    return (word & 0xfc000000) == 0x94000000 || (word & 0xfefff000) == 0xd63f0000;
}

/* stp x29,x30,[sp,#-n]!; mov x29,sp. code[at] and code[bytes] are aligned. */
static inline int sig_words_on_return_address(const uint8_t *code, size_t at, size_t bytes)
{
    enum { WORD_BYTES = 4 };
    bool after_push = false;
    for (size_t i = at >= WORD_BYTES ? at - WORD_BYTES : at; i + WORD_BYTES <= bytes; i += WORD_BYTES) {
        uint32_t word = sig_little_endian_32(code + i);
        bool is_push = (word & 0xffc07fff) == 0xa9807bfd, is_mov = word == 0x910003fd;
        bool is_return = (word & 0xfffff3ff) == 0xd65f03c0 || word == 0xd65f0bff || word == 0xd65f0fff;
        if (i >= at && is_return)
            return i == at ? 0 : -1;
        if (after_push && is_mov)
            return i == at ? 1 : 0;
        after_push = is_push;
    }
    return -1;
}

/*
 * Pointer authentication (Armv8.3) signs return addresses in their unused upper bits. xpaclri removes the
 * signature without a key. It is a hint: processors without signatures ignore it, and an address without one
 * stays the same. A mask instead would need the kernel's width of addresses (39 to 52 bits), from ptrace.
 */
static inline uint64_t sig_plain_return_address(uint64_t address)
{
    register uint64_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30)); /* xpaclri */
    return x30;
}

static inline bool sig_replace_own(uint32_t *word, uint32_t expected, uint32_t desired)
{
    return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static inline long sig_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

#endif
