#include "page_numbers.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define KEY "\"numbers\":\""

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Returns how many bytes the letters are. */
static size_t decode(const char *from, size_t count, unsigned char *ret)
{
    uint32_t bits = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bits = bits << 6 | (uint32_t)(strchr(letters, from[i]) - letters);
        if (i % 4 != 0)
            ret[bytes++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    return bytes;
}

static const unsigned char *read_varint(const unsigned char *at, uint64_t *ret)
{
    *ret = 0;
    for (int shift = 0;; shift += 7) {
        *ret |= (uint64_t)(*at & 0x7f) << shift;
        if (*at++ < 0x80)
            return at;
    }
}

static void show(FILE *to, const unsigned char *at, const unsigned char *end)
{
    const char *blank = "";
    while (at < end) {
        uint64_t value, more = 0;
        at = read_varint(at, &value);
        if (value == 0)
            at = read_varint(at, &more);
        for (uint64_t i = 0; i <= more; i++, blank = " ")
            fprintf(to, "%s%" PRIu64, blank, value);
    }
}

/* One piece of the stream. */
static bool show_piece(FILE *to, z_stream *stream, const char *text, size_t count)
{
    enum { PLAIN_BYTES = 1 << 20 };
    unsigned char *packed = malloc(count + 1), *plain = malloc(PLAIN_BYTES);
    stream->next_in = packed;
    stream->avail_in = (uInt)decode(text, count, packed);
    stream->next_out = plain;
    stream->avail_out = PLAIN_BYTES;
    int status = inflate(stream, Z_SYNC_FLUSH);
    bool is_right = (status == Z_OK || status == Z_STREAM_END) && stream->avail_in == 0;
    show(to, plain, stream->next_out);
    free(packed);
    free(plain);
    return is_right;
}

char *page_numbers_shown(const char *data)
{
    char *shown = NULL;
    size_t bytes;
    z_stream stream = {0};
    bool is_right = inflateInit(&stream) == Z_OK;
    FILE *to = open_memstream(&shown, &bytes);
    for (const char *at; is_right && (at = strstr(data, KEY)); data = at) {
        at += strlen(KEY);
        fwrite(data, 1, (size_t)(at - data), to);
        size_t count = strspn(at, letters);
        is_right = show_piece(to, &stream, at, count);
        at += count;
    }
    fputs(data, to);
    fclose(to);
    inflateEnd(&stream);
    if (is_right)
        return shown;
    free(shown);
    return NULL;
}
