#include "arch.h"

/* What a signal handler returns to. */
const uint8_t trampoline_code[SIG_TRAMPOLINE_BYTES] = {
#if defined(__x86_64__)
    0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, /* mov $__NR_rt_sigreturn, %rax; syscall */
#else
    0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4, /* mov x8, #__NR_rt_sigreturn; svc #0 */
#endif
};

void set_register(ucontext_t *context, unsigned number, uint64_t value)
{
#if defined(__x86_64__)
    static const uint8_t greg_of[SIG_DWARF_COUNT] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    context->uc_mcontext.gregs[greg_of[number]] = (greg_t)value;
#else
    if (number == SIG_DWARF_SP)
        context->uc_mcontext.sp = value;
    else if (number == SIG_DWARF_PC)
        context->uc_mcontext.pc = value;
    else
        context->uc_mcontext.regs[number] = value;
#endif
}

void set_registers(ucontext_t *context, uint64_t pc, uint64_t sp, uint64_t fp)
{
    set_register(context, SIG_DWARF_PC, pc);
    set_register(context, SIG_DWARF_SP, sp);
    set_register(context, SIG_DWARF_FP, fp);
}

bool kernel_copies_memory(void)
{
    uint64_t from = 1, to = 0;
    return sig_memory_copy(&to, (uint64_t)(uintptr_t)&from, sizeof(to));
}
