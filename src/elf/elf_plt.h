/*
 * Names for the linker's trampolines: an address in .plt, .plt.sec or .plt.got becomes "puts@plt".
 *
 * The slot of the global offset table that a trampoline jumps through is read off its instructions and looked
 * up among the relocations, so the order in which a linker lays out its tables does not matter. For files
 * of x86_64 and aarch64, whatever machine this is; of others nothing is named.
 *
 * Called from: elf.c, for the addresses no symbol was found for.
 */
#ifndef WALLPROF_ELF_PLT_H
#define WALLPROF_ELF_PLT_H

#include "elf.h"
#include "elf_image.h"
#include "base/string_pool.h"

/* Names the queries without a name that lie in a trampoline; the others are left alone. */
void elf_plt_name(const struct elf_image *image, struct name_store *names, struct elf_query *queries,
                  size_t count);

#endif
