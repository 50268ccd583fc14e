/*
 * Functions of the vDSO, the object that the kernel maps into every process.
 *
 * They are found in the object itself, not through the loader's lists or dlsym. So this works before anything
 * else does. Called from: any thread. Standard: vdso(7); System V gABI chapter 5, Dynamic Section.
 */
#ifndef WALLPROF_VDSO_H
#define WALLPROF_VDSO_H

#include "sig/sys/sig_clock.h"

#include <elf.h>

/* NULL where there is no vDSO (emulators), or it has no such function. */
sig_clock_fn *vdso_clock_gettime(void);

/* For tests: the address of a function in the object that begins with this header; 0 if there is none. */
Elf64_Addr vdso_function(const Elf64_Ehdr *object, const char *name);

#endif
