#include "lines.h"

#include "arena.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 * 1024 };
_Static_assert(BUFFER_BYTES > 2 * LINE_MAX_BYTES, "bytes can be read after the head of a long line");

int lines_init(struct lines *lines, int fd, uint64_t offset, uint64_t end_offset)
{
    *lines = (struct lines){.fd = fd, .read_offset = offset, .end_offset = end_offset, .line_offset = offset};
    lines->buffer = scratch_alloc(BUFFER_BYTES);
    return lines->buffer ? 0 : -ENOMEM;
}

void lines_deinit(struct lines *lines)
{
    scratch_free(lines->buffer, BUFFER_BYTES);
    *lines = (struct lines){.fd = -1};
}

/* Moves what has not been returned. Of a line that is too long only the head is kept. */
static void move_rest_to_front(struct lines *lines)
{
    size_t kept = lines->used - lines->begin;
    if (kept > LINE_MAX_BYTES) {
        lines->left_out_bytes += kept - LINE_MAX_BYTES;
        kept = LINE_MAX_BYTES;
    }
    memmove(lines->buffer, lines->buffer + lines->begin, kept);
    lines->begin = 0;
    lines->used = kept;
}

static bool fill_buffer(struct lines *lines)
{
    move_rest_to_front(lines);
    uint64_t left = lines->end_offset > lines->read_offset ? lines->end_offset - lines->read_offset : 0;
    size_t room = BUFFER_BYTES - lines->used;
    ssize_t got;
    do
        got = pread(lines->fd, lines->buffer + lines->used, room < left ? room : left,
                    (off_t)lines->read_offset);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    lines->used += (size_t)got;
    lines->read_offset += (uint64_t)got;
    return true;
}

bool lines_next(struct lines *lines, struct line *ret)
{
    for (;;) {
        const char *text = lines->buffer + lines->begin;
        const char *newline = memchr(text, '\n', lines->used - lines->begin);
        if (newline) {
            size_t bytes = (size_t)(newline - text);
            *ret = (struct line){text, bytes < LINE_MAX_BYTES ? bytes : LINE_MAX_BYTES, lines->line_offset};
            lines->line_offset += lines->left_out_bytes + bytes + 1;
            lines->left_out_bytes = 0;
            lines->begin += bytes + 1;
            return true;
        }
        if (!fill_buffer(lines))
            return false;
    }
}

bool lines_read_number(const char **at, const char *end, unsigned base, uint64_t *ret)
{
    const char *begin = *at;
    for (*ret = 0; *at < end; ++*at) {
        char c = **at, lower = (char)(c | 0x20);
        unsigned digit = c >= '0' && c <= '9'           ? (unsigned)(c - '0')
                         : lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10
                                                        : base;
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(*ret, base, ret) || __builtin_add_overflow(*ret, digit, ret))
            return false;
    }
    return *at > begin;
}
