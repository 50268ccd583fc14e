/*
 * Reads an ELF image piece by piece, from a file, from memory, or from an object that is loaded in this
 * process. Every access is checked against its size.
 *
 * A section header is returned only if it lies inside the image. The bytes of a section are copies, so later
 * changes of the file do no harm.
 *
 * Called from: the exporting thread, never from a handler. Allocates scratch memory only.
 */
#ifndef WALLPROF_ELF_IMAGE_H
#define WALLPROF_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image {
    int fd;                      /* owned; -1 for an image in memory */
    const unsigned char *memory; /* not owned; NULL for a file */
    uint64_t loaded_at;          /* run-time address of offset 0 of a loaded object (elf_loaded.h), else 0 */
    uint64_t size_bytes;
    Elf64_Ehdr header;
    Elf64_Shdr *sections; /* owned; NULL when there are none */
    size_t section_count;
};

/* A copy of a part of an image, in scratch memory. */
struct elf_bytes {
    void *data; /* NULL when there is nothing */
    size_t bytes;
};

/* 0; or -errno with nothing held: open's, -EISDIR, -ENOEXEC for what is no ELF64 of this byte order. */
int elf_image_open(struct elf_image *image, const char *path);
int elf_image_init(struct elf_image *image, const void *memory, size_t size_bytes);
void elf_image_deinit(struct elf_image *image);

/* Whether this is the header of an ELF64 of the machine's byte order. */
bool elf_header_is_ours(const Elf64_Ehdr *header);

/* Reads exactly that many bytes, or returns false. */
bool elf_image_read(const struct elf_image *image, uint64_t offset, void *buffer, size_t bytes);

/* The bytes of a section that exist: its size, cut at the end of the image and at 1 GiB. */
size_t elf_section_bytes(const struct elf_image *image, const Elf64_Shdr *section);

/* A copy of the section as far as it exists, {NULL, 0} if not at all; NULL as section is allowed. */
struct elf_bytes elf_section_load(const struct elf_image *image, const Elf64_Shdr *section);
void elf_bytes_free(struct elf_bytes *bytes);

/*
 * Calls visit for every whole entry of a table, in order. The table is read piece by piece, in constant
 * memory. The entry is a copy, aligned as a 64-bit number. Ends early without memory, or if reading fails.
 */
typedef void elf_visit_fn(void *context, const void *entry);
void elf_table_visit(const struct elf_image *image, const Elf64_Shdr *table, size_t entry_bytes,
                     elf_visit_fn *visit, void *context);

/* The first section of a type whose entries have the given size, or NULL. */
const Elf64_Shdr *elf_section_of_type(const struct elf_image *image, uint32_t type, size_t entry_bytes);

/* The string table that a section is linked to, or NULL; and that of the names of sections, or NULL. */
const Elf64_Shdr *elf_section_strings(const struct elf_image *image, const Elf64_Shdr *section);
const Elf64_Shdr *elf_section_names(const struct elf_image *image);

/* The first section of a name, or NULL. */
const Elf64_Shdr *elf_section_named(const struct elf_image *image, const char *name);

/* The string at an offset, or NULL when the offset is outside or no NUL follows inside the table. */
const char *elf_string(const struct elf_bytes *strings, uint64_t offset);

/* Whether a note of the image says that this is its GNU build-id. */
bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *build_id, size_t build_id_bytes);

#endif
