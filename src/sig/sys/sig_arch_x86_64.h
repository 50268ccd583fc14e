/*
 * x86_64. Included by sig_arch.h only, which has the contracts.
 *
 * Sources: System V ABI AMD64 supplement, table 3.36 (DWARF register numbers) and section 3.4.1; the kernel's
 * arch/x86/kernel/signal.c for what a handler finds after an interrupted system call.
 */
#ifndef WALLPROF_SIG_ARCH_X86_64_H
#define WALLPROF_SIG_ARCH_X86_64_H

enum {
    SIG_DWARF_LANDING = 1, /* rdx: psABI 3.7 hands an exception to its handler in rax and rdx */
    SIG_DWARF_EXTRA = 3,   /* rbx: _dl_runtime_resolve and stack realignment use it as frame base */
    SIG_DWARF_FP = 6,      /* rbp */
    SIG_DWARF_SP = 7,      /* rsp */
    SIG_DWARF_RA = 16,     /* return address column */
    SIG_DWARF_PC = 16,     /* the same: the PLT's expression names rip */
    SIG_DWARF_COUNT = 17
};

enum {
    SIG_RA_IN_EXTRA = 0,
    SIG_HAS_NEGATE_RA_STATE = 0,
    SIG_FP_STEP_HIDES_SP = 0,
    SIG_CODE_ALIGN = 1,
    SIG_UCONTEXT_OFFSET = 0,
    SIG_UCONTEXT_BYTES = sizeof(ucontext_t),
    SIG_SYSTEM_CALL_BYTES = 2,
    SIG_TRAMPOLINE_BYTES = 9,
    SIG_CALL_BYTES_MAX = 7,
    SIG_DECODES_CALLS = 1,
    SIG_FP_IS_GHC_SP = 1,
    SIG_LOOK_BACK_BYTES = 1,
    SIG_LOOK_AHEAD_BYTES = 48,
    SIG_CODE_TELLS_RULES = 0,      /* the trampoline is the C library's; linkers write tables for the PLT */
    SIG_ACTION_FLAGS = 0x04000000, /* SA_RESTORER, which is the kernel's */
};

static inline void sig_regs_from_context(struct sig_regs *regs, const ucontext_t *context)
{
    const greg_t *gregs = context->uc_mcontext.gregs;
    regs->pc = (uint64_t)gregs[REG_RIP];
    regs->sp = (uint64_t)gregs[REG_RSP];
    regs->fp = (uint64_t)gregs[REG_RBP];
    regs->extra = (uint64_t)gregs[REG_RBX];
    regs->leaf = context;
}

static inline bool sig_leaf_register(const ucontext_t *context, unsigned dwarf_register, uint64_t *ret)
{
    static const uint8_t greg_of[SIG_DWARF_COUNT] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    if (dwarf_register >= SIG_DWARF_COUNT)
        return false;
    *ret = (uint64_t)context->uc_mcontext.gregs[greg_of[dwarf_register]];
    return true;
}

/* rdi, rsi, rdx, r10, r8, r9: psABI A.2.1. */
static inline bool sig_argument_register(const uint64_t *arguments, unsigned dwarf_register, uint64_t *ret)
{
    enum { ARGUMENTS = 6 };
    static const uint8_t register_of[ARGUMENTS] = {5, 4, 1, 10, 8, 9};
    for (unsigned i = 0; i < ARGUMENTS; i++) {
        if (register_of[i] == dwarf_register) {
            *ret = arguments[i];
            return true;
        }
    }
    return false;
}

/* syscall */
static inline bool sig_is_system_call(const uint8_t *code)
{
    return code[0] == 0x0f && code[1] == 0x05;
}

static inline long sig_call_number(const ucontext_t *context)
{
    return (long)context->uc_mcontext.gregs[REG_RAX];
}

static inline long sig_call_argument(const ucontext_t *context, int which)
{
    return (long)context->uc_mcontext.gregs[which == 0 ? REG_RDI : REG_RSI];
}

static inline void sig_end_call(ucontext_t *context, long result)
{
    context->uc_mcontext.gregs[REG_RIP] += SIG_SYSTEM_CALL_BYTES;
    context->uc_mcontext.gregs[REG_RAX] = result;
}

/* mov $__NR_rt_sigreturn,%rax; syscall. */
static const uint8_t sig_trampoline_code[SIG_TRAMPOLINE_BYTES] = {0x48, 0xc7, 0xc0, 0x0f, 0,
                                                                  0,    0,    0x0f, 0x05};

/* The length of a call through a register or memory with this ModRM byte, after which another byte follows if
 * has_next; 0 if it is no call (Intel SDM 2, CALL: FF /2). */
static inline unsigned sig_indirect_call_bytes(const uint8_t *modrm, bool has_next)
{
    unsigned mode = modrm[0] >> 6, rm = modrm[0] & 7, has_sib = mode != 3 && rm == 4;
    if ((modrm[0] >> 3 & 7) != 2)
        return 0;
    bool has_disp32 = mode == 2 || (mode == 0 && (rm == 5 || (has_sib && has_next && (modrm[1] & 7) == 5)));
    return 2 + has_sib + (mode == 1) + (has_disp32 ? 4 : 0);
}

static inline bool sig_ends_in_call(const uint8_t *code)
{
    const uint8_t *end = code + SIG_CALL_BYTES_MAX;
    bool found = end[-5] == 0xe8;
    for (unsigned bytes = 2; bytes <= SIG_CALL_BYTES_MAX && !found; bytes++)
        found = end[-(int)bytes] == 0xff && sig_indirect_call_bytes(end - bytes + 1, bytes > 2) == bytes;
    return found;
}

/* N in words, if the code is add $N,%rsp; ret. Otherwise -1. */
static inline int sig_words_taken_down(const uint8_t *code)
{
    bool is_epilogue = code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[4] == 0xc3;
    return is_epilogue && code[3] < 128 && code[3] % 8 == 0 ? code[3] / 8 : -1;
}

/* mov %rsp,%rbp, of which there are two forms. */
static inline bool sig_sets_up_frame(const uint8_t *code)
{
    return code[0] == 0x48 && ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
}

/* Looks for push %rbp; mov %rsp,%rbp, before which compilers such as V8's put some checks. Or for add
 * $N,%rsp; ret after straight code, as in crti.o, which begins every library's _init with sub $N,%rsp. */
static inline int sig_words_on_return_address(const uint8_t *code, size_t at, size_t bytes)
{
    enum { PUSH_RBP = 0x55, RET = 0xc3, RET_POP = 0xc2, REPZ = 0xf3, BND = 0xf2, EPILOGUE_BYTES = 5 };
    size_t left = bytes - at;
    const uint8_t *here = code + at;
    bool has_prefix = left > 1 && (here[0] == REPZ || here[0] == BND), is_to_be_set_up = false;
    if (here[has_prefix] == RET || here[0] == RET_POP)
        return 0;
    for (size_t i = 0; i + 3 <= left && here[i] != RET; i++) {
        if (sig_sets_up_frame(here + i) && at + i > 0 && here[(long)i - 1] == PUSH_RBP)
            return i == 0 ? 1 : 0;
        is_to_be_set_up |= here[i] == 0x48 && here[i + 1] == 0x83 && here[i + 2] == 0xec;
        int words = i + EPILOGUE_BYTES <= left ? sig_words_taken_down(here + i) : -1;
        if (words >= 0)
            return is_to_be_set_up ? 0 : words;
    }
    return -1;
}

static inline uint64_t sig_plain_return_address(uint64_t address)
{
    return address;
}

/* Without the lock prefix, which takes five times as long. */
static inline bool sig_replace_own(uint32_t *word, uint32_t expected, uint32_t desired)
{
    bool is_replaced;
    __asm__ volatile("cmpxchgl %3, %1"
                     : "=@ccz"(is_replaced), "+m"(*word), "+a"(expected)
                     : "r"(desired)
                     : "memory");
    return is_replaced;
}

static inline long sig_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
