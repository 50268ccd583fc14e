#include "html_numbers.h"

#include <errno.h>

enum { LEVEL = 6 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int html_numbers_init(struct html_numbers *numbers, struct json *json)
{
    *numbers = (struct html_numbers){.json = json};
    numbers->is_working = deflateInit(&numbers->stream, LEVEL) == Z_OK;
    return numbers->is_working ? 0 : -ENOMEM;
}

void html_numbers_deinit(struct html_numbers *numbers)
{
    if (numbers->is_working)
        deflateEnd(&numbers->stream);
}

/* ---- base64 ---- */

/* Three bytes are four letters. */
static void put_letters(struct html_numbers *numbers, unsigned count)
{
    char four[4];
    for (unsigned i = 0; i < count; i++)
        four[i] = letters[numbers->bits >> (18 - 6 * i) & 63];
    json_text_put(numbers->json, four, count);
    numbers->bits = numbers->bytes = 0;
}

static void put_packed(struct html_numbers *numbers, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        numbers->bits = numbers->bits << 8 | numbers->packed[i];
        if (++numbers->bytes == 3)
            put_letters(numbers, 4);
    }
}

static void end_letters(struct html_numbers *numbers)
{
    unsigned count = numbers->bytes + 1;
    if (numbers->bytes == 0)
        return;
    numbers->bits <<= 8 * (3 - numbers->bytes);
    put_letters(numbers, count);
}

/* ---- the stream ---- */

static void pack(struct html_numbers *numbers, int flush)
{
    z_stream *stream = &numbers->stream;
    stream->next_in = numbers->plain;
    stream->avail_in = (uInt)numbers->used;
    numbers->used = 0;
    if (!numbers->is_working)
        return;
    do {
        stream->next_out = numbers->packed;
        stream->avail_out = sizeof numbers->packed;
        deflate(stream, flush);
        put_packed(numbers, sizeof numbers->packed - stream->avail_out);
    } while (stream->avail_out == 0);
}

static void put_byte(struct html_numbers *numbers, unsigned byte)
{
    numbers->plain[numbers->used++] = (unsigned char)byte;
    if (numbers->used == sizeof numbers->plain)
        pack(numbers, Z_NO_FLUSH);
}

static void put_varint(struct html_numbers *numbers, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(numbers, (unsigned)(value & 0x7f) | 0x80);
    put_byte(numbers, (unsigned)value);
}

/* ---- numbers ---- */

void html_numbers_begin(struct html_numbers *numbers, const char *key)
{
    json_key(numbers->json, key);
    json_text_begin(numbers->json);
}

void html_numbers_end(struct html_numbers *numbers, bool is_last)
{
    pack(numbers, is_last ? Z_FINISH : Z_SYNC_FLUSH);
    end_letters(numbers);
    json_text_end(numbers->json);
}

void html_numbers_end_column(struct html_numbers *numbers)
{
    if (numbers->zeros == 0)
        return;
    put_varint(numbers, 0);
    put_varint(numbers, numbers->zeros - 1);
    numbers->zeros = 0;
}

void html_numbers_uint(struct html_numbers *numbers, uint64_t value)
{
    if (value == 0) {
        numbers->zeros++;
        return;
    }
    html_numbers_end_column(numbers);
    put_varint(numbers, value);
}

void html_numbers_int(struct html_numbers *numbers, int64_t value)
{
    html_numbers_uint(numbers, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}
