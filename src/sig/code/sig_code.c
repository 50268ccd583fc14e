/*
 * aarch64. The trampoline is in the vDSO, or with qemu-user in a page of its own. Unwind tables for it made
 * libgcc fail in thread cancellation, so newer kernels have none, and unwinders know it by its code (kernel,
 * arch/arm64/kernel/vdso/sigreturn.S).
 *
 * Linkers write no tables for what they make. A PLT entry and a veneer are called, keep sp, x29 and x30, use
 * x16 and x17 only (AAPCS64 6.1.1), and end in a branch through one of these:
 *
 *     [bti c]  adrp x16  ldr x17,[x16,#]  add x16,x16,#  [autia1716]  br x17
 *
 * A veneer has no ldr. The PLT's first entry has the same instructions after a push of x16 and x30:
 *
 *     stp x16,x30,[sp,#-16]!
 */
#include "sig_code.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_memory.h"

#if defined(__aarch64__)

enum {
    INSTRUCTION_BYTES = 4,
    LOOK_BACK = 5, /* from the first PLT entry's branch to its stp */
    PUSHED_BYTES = 16,
    PAGE_BYTES = 4096, /* or a multiple of it */
};

/* From LOOK_BACK instructions before the one at the pc to the one after it; 0 for an unreadable one. */
struct code {
    uint32_t words[LOOK_BACK + 2];
};

/* Outside of modules code is read through the kernel, because it may go away. A module's code need not be
 * readable (a segment with PF_X alone): it is probed before a direct read, once for each page. */
static uint32_t read_instruction(const struct sig_module *module, uint64_t pc, bool careful_reads,
                                 uint64_t *known_page)
{
    uint32_t word;
    uint64_t page = pc & ~(uint64_t)(PAGE_BYTES - 1);
    if (!module)
        return sig_memory_peek((uint8_t *)&word, pc, sizeof(word)) ? word : 0;
    if (pc < module->start_pc || pc + INSTRUCTION_BYTES > module->end_pc)
        return 0;
    if (careful_reads)
        return sig_memory_copy(&word, pc, sizeof(word)) ? word : 0;
    if (page != *known_page && !sig_memory_is_readable(page))
        return 0;
    *known_page = page;
    return *(const uint32_t *)(uintptr_t)pc;
}

static void read_code(const struct sig_module *module, uint64_t pc, bool careful_reads, struct code *ret)
{
    uint64_t known_page = UINT64_MAX;
    if (!module && sig_memory_peek((uint8_t *)ret->words, pc - LOOK_BACK * INSTRUCTION_BYTES, sizeof(*ret)))
        return;
    for (uint64_t i = 0; i < LOOK_BACK + 2; i++)
        ret->words[i] =
            read_instruction(module, pc + (i - LOOK_BACK) * INSTRUCTION_BYTES, careful_reads, &known_page);
}

/* At the trampoline's first instruction (a return address, or interrupted there) or at its second. */
static bool is_in_trampoline(const struct code *code)
{
    const uint8_t *here = (const uint8_t *)&code->words[LOOK_BACK];
    return sig_is_trampoline(here) || sig_is_trampoline(here - INSTRUCTION_BYTES);
}

static bool is_branch(uint32_t word)
{
    return word == 0xd61f0220 || word == 0xd61f0200; /* br x17, br x16 */
}

/* Arm Architecture Reference Manual, C6.2. */
static bool is_stub_instruction(uint32_t word)
{
    return word == 0xd503245f ||                /* bti c */
           (word & 0x9f00001f) == 0x90000010 || /* adrp x16, page */
           (word & 0xffc003ff) == 0xf9400211 || /* ldr x17, [x16, #offset] */
           (word & 0xffc003ff) == 0x91000210 || /* add x16, x16, #offset */
           word == 0xd503219f ||                /* autia1716 */
           is_branch(word);
}

static bool is_push(uint32_t word)
{
    return word == 0xa9bf7bf0; /* stp x16, x30, [sp, #-16]! */
}

/* Many functions begin with `bti c`, so the instruction after it must be a stub's too. */
static bool is_in_stub(const struct code *code)
{
    const uint32_t *here = &code->words[LOOK_BACK];
    if (here[0] == 0xd503245f)
        return is_stub_instruction(here[1]) || is_push(here[1]);
    return is_stub_instruction(here[0]) || (is_push(here[0]) && is_stub_instruction(here[1]));
}

/* Whether the push was executed: only a stub's instructions stand between it and the pc. */
static bool has_pushed(const struct code *code)
{
    for (int i = LOOK_BACK - 1; i >= 0; i--) {
        if (is_push(code->words[i]))
            return true;
        if (!is_stub_instruction(code->words[i]) || is_branch(code->words[i]))
            return false;
    }
    return false;
}

void sig_code_rule(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                   struct sig_rule *ret)
{
    struct code code;
    uint64_t pc =
        (lookup_pc + 1) & ~(uint64_t)(INSTRUCTION_BYTES - 1); /* lookup_pc may be a return address - 1 */
    bool interrupted = pc == lookup_pc;
    *ret = (struct sig_rule){.kind = SIG_RULE_NONE};
    read_code(module, pc, careful_reads, &code);
    if (is_in_trampoline(&code)) {
        ret->kind = SIG_RULE_SIGNAL;
        return;
    }
    if (!module || !interrupted || !is_in_stub(&code))
        return; /* generated code may look like a stub, and nothing returns into a real one */
    ret->kind = SIG_RULE_FRAME;
    ret->cfa_register = SIG_DWARF_SP;
    if (has_pushed(&code)) {
        ret->cfa_offset = PUSHED_BYTES;
        ret->ra = (struct sig_saved){.kind = SIG_SAVED_AT_CFA, .offset = -8};
        ret->extra = ret->ra;
    }
}

#endif
