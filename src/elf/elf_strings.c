#include "elf_strings.h"

#include "base/arena.h"

#include <string.h>

enum { PIECE_BYTES = 4096 };

static bool read_piece(struct elf_strings *strings, size_t piece, size_t table_bytes)
{
    size_t at = piece * PIECE_BYTES, left = table_bytes - at;
    if (!strings->is_read[piece])
        strings->is_read[piece] = elf_image_read(strings->image, strings->offset + at, strings->data + at,
                                                 left < PIECE_BYTES ? left : PIECE_BYTES);
    return strings->is_read[piece];
}

/* Where the last string ends: 0 if there is none. It is in the last piece, but for a table that is hostile.
 */
static size_t find_end(struct elf_strings *strings, size_t table_bytes, size_t pieces)
{
    while (pieces-- > 0 && read_piece(strings, pieces, table_bytes)) {
        size_t at = pieces * PIECE_BYTES, left = table_bytes - at;
        const char *nul = memrchr(strings->data + at, 0, left < PIECE_BYTES ? left : PIECE_BYTES);
        if (nul)
            return (size_t)(nul - strings->data) + 1;
    }
    return 0;
}

void elf_strings_open(struct elf_strings *strings, const struct elf_image *image, const Elf64_Shdr *section)
{
    size_t bytes = section ? elf_section_bytes(image, section) : 0;
    size_t pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    *strings = (struct elf_strings){.image = image, .memory_bytes = bytes + pieces};
    strings->data = bytes ? scratch_alloc(strings->memory_bytes) : NULL;
    if (!strings->data)
        return;
    strings->offset = section->sh_offset;
    strings->is_read = (unsigned char *)strings->data + bytes;
    strings->bytes = find_end(strings, bytes, pieces);
}

void elf_strings_free(struct elf_strings *strings)
{
    scratch_free(strings->data, strings->memory_bytes);
    *strings = (struct elf_strings){.data = NULL};
}

const char *elf_strings_at(struct elf_strings *strings, uint64_t offset, size_t bytes)
{
    if (offset >= strings->bytes)
        return NULL;
    size_t left = strings->bytes - offset, end = offset + (bytes < left ? bytes : left);
    for (size_t piece = offset / PIECE_BYTES; piece * PIECE_BYTES < end; piece++) {
        if (!read_piece(strings, piece, strings->bytes))
            return NULL;
    }
    return strings->data + offset;
}

bool elf_strings_have(const struct elf_strings *strings, const char *string)
{
    return strings->data && string >= strings->data && string < strings->data + strings->bytes;
}
