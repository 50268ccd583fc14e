/* What tests must know of the machine, beyond sig_arch.h; and what an emulator of it leaves out. */
#ifndef WALLPROF_ARCH_H
#define WALLPROF_ARCH_H

#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_memory.h"

extern const uint8_t trampoline_code[SIG_TRAMPOLINE_BYTES];

/* By its DWARF number. */
void set_register(ucontext_t *context, unsigned number, uint64_t value);
void set_registers(ucontext_t *context, uint64_t pc, uint64_t sp, uint64_t fp);

/* qemu-user has no process_vm_readv: there nothing can be read through the kernel. */
bool kernel_copies_memory(void);

#endif
