/*
 * A string table of an ELF image, of which only those pieces are read that somebody asks for. A compiler has
 * names of 1.3 MB, and a recording of it needs some hundred of them.
 *
 * Called from: the exporting thread, never from a handler. Allocates scratch memory only.
 */
#ifndef WALLPROF_ELF_STRINGS_H
#define WALLPROF_ELF_STRINGS_H

#include "elf_image.h"

struct elf_strings {
    const struct elf_image *image; /* borrowed */
    uint64_t offset;               /* of the table, in the image */
    char *data;                    /* the table, zero where it was not read; NULL: there are no strings */
    unsigned char *is_read;        /* for each piece; in the same block of memory */
    size_t bytes, memory_bytes;    /* of the table, up to its last NUL; and of the block */
};

/* NULL as section is allowed. Without memory, or if reading fails, there are no strings. To be freed. */
void elf_strings_open(struct elf_strings *strings, const struct elf_image *image, const Elf64_Shdr *section);
void elf_strings_free(struct elf_strings *strings);

/*
 * The string at an offset, or NULL when the offset is outside, no NUL follows inside the table, or reading
 * fails. It lies in the table's memory. Its first `bytes` bytes were read, and what follows may not have
 * been.
 */
const char *elf_strings_at(struct elf_strings *strings, uint64_t offset, size_t bytes);

/* Whether a string is in this table's memory. */
bool elf_strings_have(const struct elf_strings *strings, const char *string);

#endif
