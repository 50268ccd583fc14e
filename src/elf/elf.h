/*
 * Function names out of ELF files. A hostile or truncated file gives fewer names, never a fault.
 *
 * Files are read section by section into scratch memory: a mapped file that shrinks would raise SIGBUS.
 *
 * Called from: the exporting thread, never from a handler. Allocates scratch memory only.
 * Standard: System V gABI chapters 4 and 5; GNU build-id note as written by ld --build-id.
 */
#ifndef WALLPROF_ELF_H
#define WALLPROF_ELF_H

#include "base/string_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address to be named. The caller sorts the array by elf_address and zeroes the other fields. */
struct elf_query {
    uint64_t elf_address;    /* as in the file: run-time address minus load bias */
    uint64_t symbol_address; /* out: st_value of the symbol found */
    const char *name;        /* out: the linker's name, or NULL; in the pool */
    uint64_t symbol_bytes;   /* out: the size of the symbol; 0 for a label, which has none */
    uint8_t symbol_rank;     /* private to elf.c */
};

/*
 * Names queries[0..count), with copies in `names`, from .symtab and .dynsym of the file at path. If
 * build_id_bytes is not 0, the file is used only if it has that build-id: a binary replaced on disk is not
 * believed. A query that has a name keeps it, unless the new symbol is better, or as good and starts nearer.
 *
 * Returns the number of queries that have a name now, or -errno: open's, -ENOEXEC for a file that is no ELF
 * of this machine's class and byte order, -ESTALE for another build-id.
 */
int elf_name_addresses(struct string_pool *names, const char *path, const uint8_t *build_id,
                       size_t build_id_bytes, struct elf_query *queries, size_t count);

/* The same for an image that the caller opened and knows to be the right one. */
struct elf_image;
int elf_name_from_image(struct string_pool *names, const struct elf_image *image, struct elf_query *queries,
                        size_t count);

/* The same for an image in memory (the vDSO, which has no file). */
int elf_name_addresses_in_image(struct string_pool *names, const void *image, size_t image_bytes,
                                struct elf_query *queries, size_t count);

/*
 * The GNU build-id in a note segment or section, in memory that is known to be readable. Returns its length
 * in bytes; 0 if there is none, or if it is longer than capacity.
 */
size_t elf_build_id_in_notes(const void *notes, size_t notes_bytes, uint8_t *build_id, size_t capacity);

#endif
