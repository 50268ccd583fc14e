/*
 * The one symbol of an image that covers an address, function or data, read in constant memory.
 *
 * elf.h names many addresses of code at once. Here one is named while the program runs: the symbols pass by
 * in pieces, and of the strings only the name is read.
 *
 * Called from: the sampler thread. Allocates scratch memory only.
 * Standard: System V gABI chapter 4, Symbol Table.
 */
#ifndef WALLPROF_ELF_COVERING_H
#define WALLPROF_ELF_COVERING_H

#include "elf_image.h"

#include <stdbool.h>
#include <stdint.h>

/* A longer name is not taken. */
enum { ELF_COVERING_NAME_BYTES = 224 };

struct elf_covering {
    uint64_t elf_address; /* of the symbol, as in the file */
    char name[ELF_COVERING_NAME_BYTES];
};

/*
 * Looks in .symtab and, where that has none, in .dynsym. elf_address: as in the file. *bytes_left: of symbol
 * tables, how much may be read; what is read is taken from it. A table with more than that is passed over.
 * False if no symbol with a size and a name covers the address.
 */
bool elf_covering_find(const struct elf_image *image, uint64_t elf_address, uint64_t *bytes_left,
                       struct elf_covering *ret);

#endif
