/* A name that is cut is made valid again (utf8.h). Characters are of 1, 2 or 4 bytes, by their text's kind.
 */
#include "python_names.h"

#include "base/smaller.h"
#include "base/utf8.h"
#include "python_lines.h"

#include <string.h>

enum {
    WORD_BYTES = 8,
    INTERNED_BITS = 2, /* of a text's state, below what follows */
    KIND_MASK = 7,
    COMPACT_BIT = 1 << 3,
    ASCII_BIT = 1 << 4,
    HEADER_WORDS = SIG_INTERP_STATE_WORDS,
    LINE_TABLE_BYTES = 64 * 1024, /* 13,000 lines of code in one function */
    PIECE_BYTES = 4096
};

struct reader {
    const struct python_layout *layout;
    const struct sig_interp_memory *memory;
};

static bool read_memory(const struct reader *reader, void *to, uint64_t from, size_t bytes)
{
    return from + bytes > from && reader->memory->read(reader->memory, to, from, bytes, false);
}

/* ---- text ---- */

struct text {
    uint32_t length, kind; /* characters, and the bytes of each */
    uint64_t characters;
};

static bool read_text_header(const struct reader *reader, uint64_t address, struct text *ret)
{
    const struct python_layout *layout = reader->layout;
    uint64_t length;
    uint32_t state;
    if (!read_memory(reader, &length, address + layout->text.length, sizeof length) ||
        !read_memory(reader, &state, address + layout->text.state, sizeof state))
        return false;
    state >>= layout->text.is_interned_a_byte ? 8 : INTERNED_BITS;
    ret->kind = state & KIND_MASK;
    ret->length = length < INTERP_FILE_BYTES ? (uint32_t)length : INTERP_FILE_BYTES;
    ret->characters = address + (state & ASCII_BIT ? layout->text.ascii_bytes : layout->text.wide_bytes);
    return (state & COMPACT_BIT) && (ret->kind == 1 || ret->kind == 2 || ret->kind == 4);
}

static uint32_t character_at(const unsigned char *characters, uint32_t kind, uint32_t index)
{
    uint32_t character = 0;
    memcpy(&character, characters + (size_t)index * kind, kind);
    return character < ' ' || character == 127 ? '?' : character;
}

/* Appends a character in UTF-8, at most 4 bytes. Returns how many. */
static size_t put_character(char *to, uint32_t character)
{
    if (character < 0x80)
        return to[0] = (char)character, 1;
    if (character < 0x800) {
        to[0] = (char)(0xc0 | character >> 6);
        to[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        to[0] = (char)(0xe0 | character >> 12);
        to[1] = (char)(0x80 | (character >> 6 & 0x3f));
        to[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | (character >> 18 & 7));
    to[1] = (char)(0x80 | (character >> 12 & 0x3f));
    to[2] = (char)(0x80 | (character >> 6 & 0x3f));
    to[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

/* A text of at most capacity - 1 bytes, with its NUL. False if there is none. */
static bool read_text(const struct reader *reader, uint64_t address, char *ret, size_t capacity)
{
    enum { CHARACTER_BYTES_MAX = 4 };
    unsigned char characters[PIECE_BYTES];
    struct text text;
    size_t used = 0;
    if (!read_text_header(reader, address, &text) ||
        !read_memory(reader, characters, text.characters, (size_t)text.length * text.kind))
        return false;
    for (uint32_t i = 0; i < text.length && used + CHARACTER_BYTES_MAX < capacity; i++)
        used += put_character(ret + used, character_at(characters, text.kind, i));
    ret[used] = '\0';
    utf8_repair(ret);
    return used > 0;
}

/* ---- code ---- */

static uint64_t pointer_at(const uint64_t *header, uint16_t offset)
{
    return header[offset / WORD_BYTES];
}

static uint32_t first_line_of(const struct reader *reader, const uint64_t *header)
{
    const uint16_t offset = reader->layout->frames.code.first_line;
    const uint32_t line = (uint32_t)(header[offset / WORD_BYTES] >> offset % WORD_BYTES * 8);
    return line <= INT32_MAX ? line : 0;
}

/* The table is read only up to where the instruction's entry must be: an entry has at least a byte. */
static uint32_t line_of(const struct reader *reader, const uint64_t *header, int32_t at)
{
    static uint8_t table[LINE_TABLE_BYTES]; /* the sampler thread's */
    const uint64_t bytes_object = pointer_at(header, reader->layout->frames.code.line_table);
    uint64_t count;
    if (at < 0 || !read_memory(reader, &count, bytes_object + reader->layout->bytes_count, sizeof count))
        return first_line_of(reader, header);
    count = smaller(count, sizeof table);
    if (count > 0 && !read_memory(reader, table, bytes_object + reader->layout->bytes_data, (size_t)count))
        return 0;
    const uint32_t first_line = first_line_of(reader, header);
    switch (reader->layout->lines) {
    case PYTHON_LINES_3_10:
        return python_line_at_3_10(table, (size_t)count, first_line, at);
    case PYTHON_LINES_BEFORE_310:
        return python_line_at_before(table, (size_t)count, first_line, at);
    default:
        return python_line_at(table, (size_t)count, first_line, at);
    }
}

static bool read_header(const struct reader *reader, const struct sig_interp_frame *frame, uint64_t *header)
{
    return read_memory(reader, header, frame->code, reader->layout->frames.code.bytes) &&
           sig_python_code_check(&reader->layout->frames, header) == frame->check;
}

bool python_names_read(const struct python_layout *layout, const struct sig_interp_memory *memory,
                       const struct sig_interp_frame *frame, struct interp_names *ret)
{
    const struct reader reader = {layout, memory};
    uint64_t header[HEADER_WORDS];
    if (!read_header(&reader, frame, header) ||
        (!read_text(&reader, pointer_at(header, layout->frames.code.qualname), ret->function,
                    sizeof ret->function) &&
         !read_text(&reader, pointer_at(header, layout->frames.code.name), ret->function,
                    sizeof ret->function)))
        return false;
    if (!read_text(&reader, pointer_at(header, layout->frames.code.filename), ret->file, sizeof ret->file))
        ret->file[0] = '\0';
    ret->native_start = 0;
    ret->first_line = first_line_of(&reader, header);
    ret->line = line_of(&reader, header, frame->at);
    return read_header(&reader, frame, header);
}
