/* Names are bytes, by custom UTF-8. One with a NUL inside ends there. */
#include "perl_names.h"

#include "base/smaller.h"
#include "sig/interp/sig_interp_read.h"

#include <string.h>

enum { LENGTH_MAX = 1 << 20, STEP_BYTES = 64 }; /* of a name that is believed; of text that is read at once */

/* A name (HEK): its length, of 32 bits, and where its bytes begin. */
enum { NAME_LENGTH = 4, NAME_BYTES = 8 };

/* A glob's body, and a hash's. */
enum {
    GLOB_NAME = 32,
    GLOB_PACKAGE = 40,
    HASH_BODY = 0,
    HASH_FLAGS = 12,
    HASH_HAS_NAME = 0x2000000, /* SvOOK */
    HASH_ARRAY = 16,
    HASH_LAST = 24, /* in the body: the number of the last entry of the array */
    HASH_MORE = 32, /* after the body */
    MORE_COUNT = 28 /* how many names there are, of 32 bits; 0: one */
};

/* In a function's flags. */
enum { IS_NAMED = 0x8000, IS_LEXICAL = 0x10000 };

struct reader {
    const struct sig_perl_layout *layout;
    const struct sig_interp_memory *memory;
};

/* ---- text ---- */

static bool read_bytes(const struct reader *reader, void *to, uint64_t from, size_t bytes)
{
    return reader->memory->read(reader->memory, to, from, bytes, false);
}

static uint64_t read_word(const struct reader *reader, uint64_t address)
{
    uint64_t word;
    return address && read_bytes(reader, &word, address, sizeof word) ? word : 0;
}

static uint32_t read_half(const struct reader *reader, uint64_t address)
{
    uint32_t half;
    return address && read_bytes(reader, &half, address, sizeof half) ? half : 0;
}

/* Text of at most capacity - 1 bytes that has its length before it. False if there is none. */
static bool read_name(const struct reader *reader, uint64_t name, char *ret, size_t capacity)
{
    const uint32_t length = read_half(reader, name ? name + NAME_LENGTH : 0);
    const size_t bytes = smaller(length, capacity - 1);
    ret[0] = '\0';
    if (length == 0 || length > LENGTH_MAX || !read_bytes(reader, ret, name + NAME_BYTES, bytes)) {
        ret[0] = '\0';
        return false;
    }
    ret[bytes] = '\0';
    interp_names_clean(ret);
    return ret[0] != '\0';
}

/* Text that ends with a NUL. The page after it may not be there. */
static void read_text(const struct reader *reader, uint64_t text, char *ret, size_t capacity)
{
    size_t used = 0, step;
    ret[0] = '\0';
    for (; used < capacity - 1; used += step) {
        step = smaller(STEP_BYTES - (text + used) % STEP_BYTES, capacity - 1 - used);
        if (!read_bytes(reader, ret + used, text + used, step)) {
            ret[used] = '\0';
            break;
        }
        ret[used + step] = '\0';
        if (strlen(ret + used) < step)
            break;
    }
    interp_names_clean(ret);
}

/* ---- functions ---- */

/* False for a package that is gone. */
static bool read_package(const struct reader *reader, uint64_t package, char *ret, size_t capacity)
{
    const uint64_t body = read_word(reader, package ? package + HASH_BODY : 0);
    uint64_t more = body + HASH_MORE;
    if (!body || !(read_half(reader, package + HASH_FLAGS) & HASH_HAS_NAME))
        return false;
    if (reader->layout->is_name_in_array)
        more = read_word(reader, package + HASH_ARRAY) +
               (read_word(reader, body + HASH_LAST) + 1) * sizeof(uint64_t);
    uint64_t name = read_word(reader, more);
    if (read_half(reader, more + MORE_COUNT) != 0)
        name = read_word(reader, name);
    return read_name(reader, name, ret, capacity);
}

/* Package::name, as caller() has it. */
static bool read_function(const struct reader *reader, const uint64_t *body, char ret[INTERP_NAME_BYTES])
{
    const uint32_t flags = sig_interp_half(body, SIG_PERL_BODY_FLAGS);
    uint64_t name = sig_interp_word(body, SIG_PERL_BODY_NAME),
             package = sig_interp_word(body, SIG_PERL_BODY_PACKAGE);
    size_t used = 0;
    if (!(flags & IS_NAMED)) {
        const uint64_t glob = read_word(reader, name);
        name = read_word(reader, glob ? glob + GLOB_NAME : 0);
        package = read_word(reader, glob ? glob + GLOB_PACKAGE : 0);
    }
    if (!(flags & IS_LEXICAL)) {
        if (!read_package(reader, package, ret, INTERP_NAME_BYTES / 2))
            strcpy(ret, "__ANON__");
        used = strlen(ret);
        ret[used++] = ':';
        ret[used++] = ':';
    }
    return read_name(reader, name, ret + used, INTERP_NAME_BYTES - used);
}

static uint32_t line_or_none(uint32_t line)
{
    return line <= INT32_MAX ? line : 0;
}

/* Of the first statement; 0 if the function does not begin with one. */
static uint32_t first_line_of(const struct reader *reader, uint64_t start)
{
    const uint64_t function = read_word(reader, start ? start + SIG_PERL_OP_FUNCTION : 0);
    return function && (function == reader->layout->nextstate || function == reader->layout->dbstate)
               ? line_or_none(read_half(reader, start + SIG_PERL_STATEMENT_LINE))
               : 0;
}

static bool read_of_function(const struct reader *reader, uint64_t code, struct interp_names *ret)
{
    uint64_t body[SIG_PERL_BODY_BYTES / SIG_INTERP_WORD_BYTES];
    if (!read_bytes(reader, body, read_word(reader, code + SIG_PERL_CV_BODY), sizeof body) ||
        !read_function(reader, body, ret->function))
        return false;
    read_text(reader, sig_interp_word(body, SIG_PERL_BODY_FILE), ret->file, sizeof ret->file);
    ret->first_line = first_line_of(reader, sig_interp_word(body, SIG_PERL_BODY_START));
    return true;
}

static void read_of_statement(const struct reader *reader, uint64_t code, unsigned kind,
                              struct interp_names *ret)
{
    read_text(reader, read_word(reader, code + SIG_PERL_STATEMENT_FILE), ret->file, sizeof ret->file);
    ret->first_line = kind == SIG_PERL_MAIN || kind == SIG_PERL_TEXT ? 1 : ret->line;
}

static bool is_as_before(const struct reader *reader, const struct sig_interp_frame *frame)
{
    struct sig_interp_scratch scratch;
    struct sig_interp_stack none = {0};
    const struct sig_interp_walk walk = {.memory = reader->memory, .scratch = &scratch, .stack = &none};
    sig_interp_begin(&walk);
    return sig_perl_check(reader->layout, &walk, frame->code,
                          frame->check & (SIG_PERL_KIND_MASK | SIG_PERL_COMPILED), false) == frame->check;
}

static bool read_names(const struct reader *reader, const struct sig_interp_frame *frame, unsigned kind,
                       struct interp_names *ret)
{
    if (!is_as_before(reader, frame))
        return false;
    if ((kind == SIG_PERL_FUNCTION || kind == SIG_PERL_BEGIN) && !read_of_function(reader, frame->code, ret))
        return false;
    if (kind != SIG_PERL_FUNCTION && kind != SIG_PERL_BEGIN)
        read_of_statement(reader, frame->code, kind, ret);
    return is_as_before(reader, frame);
}

/* Evaluated text is given up when it has run, and so is BEGIN. What they are is known then too. */
bool perl_names_read(const struct sig_perl_layout *layout, const struct sig_interp_memory *memory,
                     const struct sig_interp_frame *frame, struct interp_names *ret)
{
    const struct reader reader = {layout, memory};
    static const char *const names[SIG_PERL_KIND_MASK + 1] = {
        [SIG_PERL_MAIN] = "{main}",   [SIG_PERL_TEXT] = "{eval}",   [SIG_PERL_SORT] = "{sort}",
        [SIG_PERL_DEFER] = "{defer}", [SIG_PERL_REGEX] = "{regex}", [SIG_PERL_BEGIN] = "BEGIN",
    };
    const unsigned kind = frame->check & SIG_PERL_KIND_MASK;
    ret->line = frame->at > 0 ? (uint32_t)frame->at : 0;
    ret->native_start = 0;
    if (kind != SIG_PERL_BEGIN && names[kind])
        strcpy(ret->function, names[kind]);
    if (read_names(&reader, frame, kind, ret))
        return true;
    if (!names[kind])
        return false;
    strcpy(ret->function, names[kind]);
    *ret->file = '\0';
    ret->first_line = 0;
    return true;
}
