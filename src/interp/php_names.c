/* Names are bytes, by custom UTF-8. One with a NUL inside (class@anonymous) ends there, as for PHP's users.
 */
#include "php_names.h"

#include "base/smaller.h"
#include "sig/interp/sig_interp_read.h"

#include <string.h>

enum { LINE_AT = 24, LENGTH_MAX = 1 << 20 }; /* of an instruction; of a name that is believed */

struct reader {
    const struct sig_php_layout *layout;
    const struct sig_interp_walk *walk;
};

/* ---- text ---- */

/* A text of at most capacity - 1 bytes, with its NUL. False if there is none. */
static bool read_text(const struct reader *reader, uint64_t string, char *ret, size_t capacity)
{
    const struct sig_interp_memory *memory = reader->walk->memory;
    uint64_t length;
    ret[0] = '\0';
    if (string == 0 || string % sizeof length != 0 ||
        !memory->read(memory, &length, string + SIG_PHP_STRING_LENGTH, sizeof length, false) || length == 0 ||
        length > LENGTH_MAX)
        return false;
    const size_t bytes = smaller(length, capacity - 1);
    if (!memory->read(memory, ret, string + SIG_PHP_STRING_BYTES, bytes, false)) {
        ret[0] = '\0';
        return false;
    }
    ret[bytes] = '\0';
    interp_names_clean(ret);
    return ret[0] != '\0';
}

/* ---- functions ---- */

/* Class::name. A class may lack. */
static bool read_function(const struct reader *reader, const uint64_t *record, char ret[INTERP_NAME_BYTES])
{
    const struct sig_interp_memory *memory = reader->walk->memory;
    const uint64_t scope = sig_interp_word(record, reader->layout->function.scope);
    uint64_t class_name;
    size_t used = 0;
    if (scope &&
        memory->read(memory, &class_name, scope + reader->layout->class_name, sizeof class_name, false) &&
        read_text(reader, class_name, ret, INTERP_NAME_BYTES / 2)) {
        used = strlen(ret);
        ret[used++] = ':';
        ret[used++] = ':';
    }
    return read_text(reader, sig_interp_word(record, reader->layout->function.name), ret + used,
                     INTERP_NAME_BYTES - used);
}

static uint32_t line_or_none(uint32_t line)
{
    return line <= INT32_MAX ? line : 0;
}

static uint32_t line_of(const struct reader *reader, const uint64_t *record, int32_t at)
{
    const struct sig_interp_memory *memory = reader->walk->memory;
    const uint64_t opcodes = sig_interp_word(record, reader->layout->function.opcodes);
    uint32_t line;
    if (at >= 0 && memory->read(memory, &line, opcodes + (uint32_t)at + LINE_AT, sizeof line, false))
        return line_or_none(line);
    return line_or_none(sig_interp_half(record, reader->layout->function.first_line));
}

static bool read_record(const struct reader *reader, const struct sig_interp_frame *frame, uint64_t *record)
{
    sig_interp_begin(reader->walk);
    return sig_interp_read(reader->walk, record, frame->code, reader->layout->function.bytes, false) &&
           sig_php_function_check(reader->layout, reader->walk, record, false) == frame->check;
}

static bool read_names(const struct reader *reader, const struct sig_interp_frame *frame, uint64_t *record,
                       struct interp_names *ret)
{
    const bool is_internal = sig_interp_byte(record, 0) == SIG_PHP_INTERNAL;
    const bool is_named = read_function(reader, record, ret->function);
    *ret->file = '\0';
    ret->first_line = ret->line = 0;
    ret->native_start = is_internal ? sig_interp_word(record, reader->layout->function.handler) : 0;
    if (is_internal || (!is_named && sig_interp_word(record, reader->layout->function.name) != 0))
        return is_named;
    if (!is_named)
        strcpy(ret->function, sig_interp_byte(record, 0) == SIG_PHP_EVAL ? "{eval}" : "{main}");
    read_text(reader, sig_interp_word(record, reader->layout->function.filename), ret->file,
              sizeof ret->file);
    ret->first_line = line_or_none(sig_interp_half(record, reader->layout->function.first_line));
    ret->line = line_of(reader, record, frame->at);
    return true;
}

bool php_names_read(const struct sig_php_layout *layout, const struct sig_interp_memory *memory,
                    const struct sig_interp_frame *frame, struct interp_names *ret)
{
    struct sig_interp_scratch scratch;
    struct sig_interp_stack none = {0};
    const struct sig_interp_walk walk = {.memory = memory, .scratch = &scratch, .stack = &none};
    const struct reader reader = {layout, &walk};
    uint64_t record[SIG_INTERP_STATE_WORDS];
    return read_record(&reader, frame, record) && read_names(&reader, frame, record, ret) &&
           read_record(&reader, frame, record);
}
