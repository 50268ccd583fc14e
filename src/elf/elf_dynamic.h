/*
 * What a loaded object exports: one symbol by its name, function or data, through the object's hash table.
 *
 * The object can be unloaded meanwhile. So all is read through the kernel, and a name that is not there takes
 * few reads: the filter of the hash table denies most.
 *
 * Called from: the sampler thread. Allocates nothing, takes no lock.
 * Standard: System V gABI chapter 5, Dynamic Section; DT_GNU_HASH as binutils' bfd/elflink.c writes it.
 */
#ifndef WALLPROF_ELF_DYNAMIC_H
#define WALLPROF_ELF_DYNAMIC_H

#include "elf_image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Run-time addresses; nothing is held. */
struct elf_dynamic {
    struct elf_image image;
    uint64_t bias;                       /* run-time address minus address in the file */
    uint64_t symbols, strings, gnu_hash; /* offsets in the image */
    uint32_t bucket_count, first_symbol, bloom_count, bloom_shift;
};

struct elf_symbol {
    uint64_t address; /* run-time address */
    uint64_t bytes;   /* 0 if not known */
};

/* low, high: the object's bounds; the ELF header is at low. False if it has no such hash table. */
bool elf_dynamic_open(struct elf_dynamic *object, uint64_t bias, uint64_t low, uint64_t high);

/* The symbols of a name: a function may have several versions. At most so many; returns how many, 0 if the
 * object exports none, or is not there any more. */
size_t elf_dynamic_find_all(const struct elf_dynamic *object, const char *name, struct elf_symbol *ret,
                            size_t most);

/* One of them, or false. */
static inline bool elf_dynamic_find(const struct elf_dynamic *object, const char *name,
                                    struct elf_symbol *ret)
{
    return elf_dynamic_find_all(object, name, ret, 1) == 1;
}

#endif
