/*
 * Names for the linker's trampolines: an address in .plt, .plt.sec or .plt.got becomes "puts@plt".
 *
 * A trampoline jumps through a slot of the global offset table. The slot is read from its instructions and
 * looked up among the relocations, so the order of a linker's tables does not matter. Files of x86_64 and
 * aarch64 are understood on any machine. In others nothing is named.
 *
 * Called from: elf.c, for the addresses no symbol was found for.
 */
#ifndef WALLPROF_ELF_PLT_H
#define WALLPROF_ELF_PLT_H

#include "elf.h"
#include "elf_image.h"
#include "base/string_pool.h"

/* Names the queries without a name that lie in a trampoline. */
void elf_plt_name(const struct elf_image *image, struct string_pool *names, struct elf_query *queries,
                  size_t count);

#endif
