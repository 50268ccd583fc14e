/* What tests must know of the machine, beyond sig_arch.h; and what an emulator of it leaves out. */
#ifndef WALLPROF_TESTS_ARCH_H
#define WALLPROF_TESTS_ARCH_H

#include "sig_arch.h"
#include "sig_memory.h"

/* What a signal handler returns to. */
static const uint8_t trampoline_code[SIG_TRAMPOLINE_BYTES] = {
#if defined(__x86_64__)
    0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, /* mov $__NR_rt_sigreturn, %rax; syscall */
#else
    0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4, /* mov x8, #__NR_rt_sigreturn; svc #0 */
#endif
};

static inline void set_registers(ucontext_t *context, uint64_t pc, uint64_t sp, uint64_t fp)
{
#if defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context->uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
#else
    context->uc_mcontext.pc = pc;
    context->uc_mcontext.sp = sp;
    context->uc_mcontext.regs[SIG_DWARF_FP] = fp;
#endif
}

/* qemu-user has no process_vm_readv: there nothing can be read through the kernel. */
static inline bool kernel_copies_memory(void)
{
    uint64_t from = 1, to = 0;
    return sig_memory_copy(&to, (uint64_t)(uintptr_t)&from, sizeof(to));
}

#endif
