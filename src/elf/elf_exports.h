/*
 * The functions that a loaded object shows, found by its hash table.
 *
 * For many names at once this takes a fifth of the time of dlsym, which is a fifth of our constructor's.
 *
 * Called from: any thread, where the object stays loaded. Neither locks nor allocates.
 * Standard: System V gABI chapter 5, Dynamic Section; DT_GNU_HASH as binutils' bfd/elflink.c writes it.
 */
#ifndef WALLPROF_ELF_EXPORTS_H
#define WALLPROF_ELF_EXPORTS_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_exports {
    uint64_t bias; /* run-time address minus address in the file */
    const Elf64_Sym *symbols;
    const char *strings;
    const uint16_t *versions; /* NULL: its symbols have none */
    const uint32_t *hash;     /* DT_GNU_HASH */
};

/* This library as the loader lists it, or NULL. The list is read as it is: dladdr would search all symbols of
 * the object too. */
const struct link_map *elf_exports_own_object(void);

/* A pointer of a dynamic section: the loader has added the base to some, but not for every object. */
static inline uint64_t elf_exports_pointer(uint64_t base, uint64_t pointer)
{
    return pointer < base ? base + pointer : pointer;
}

/* By which DT_GNU_HASH has a name (dl_new_hash of glibc). */
static inline uint32_t elf_exports_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* False if there is no such hash table. */
bool elf_exports_of(const struct link_map *object, struct elf_exports *ret);

/* Whether the object has a function in a default version. *ret: its run-time address; 0 where the loader asks
 * a resolver for it (STT_GNU_IFUNC). */
bool elf_exports_find(const struct elf_exports *exports, const char *name, uintptr_t *ret);

#endif
