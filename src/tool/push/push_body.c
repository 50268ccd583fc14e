#include "push_body.h"

#include <stdint.h>
#include <string.h>

static size_t middle_bytes(const struct push_body *body)
{
    return body->is_base64 ? (body->profile_bytes + 2) / 3 * 4 : body->profile_bytes;
}

size_t push_body_bytes(const struct push_body *body)
{
    return body->before_bytes + middle_bytes(body) + body->after_bytes;
}

/* The character at an index of the text: six bits of a group of three bytes. */
static char base64_at(const unsigned char *bytes, size_t count, size_t index)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t group = index / 4 * 3, part = index % 4;
    uint32_t bits = (uint32_t)bytes[group] << 16;
    if (group + 1 < count)
        bits |= (uint32_t)bytes[group + 1] << 8;
    if (group + 2 < count)
        bits |= bytes[group + 2];
    return group + part > count ? '=' : alphabet[bits >> (18 - 6 * part) & 0x3f];
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t read_middle(const struct push_body *body, size_t offset, char *ret, size_t capacity)
{
    size_t count = least(middle_bytes(body) - offset, capacity);
    if (!body->is_base64) {
        memcpy(ret, body->profile + offset, count);
        return count;
    }
    for (size_t i = 0; i < count; i++)
        ret[i] = base64_at(body->profile, body->profile_bytes, offset + i);
    return count;
}

static size_t read_text(const char *text, size_t bytes, size_t offset, char *ret, size_t capacity)
{
    size_t count = least(bytes - offset, capacity);
    memcpy(ret, text + offset, count);
    return count;
}

size_t push_body_read(const struct push_body *body, size_t offset, char *ret, size_t capacity)
{
    size_t middle = middle_bytes(body);
    if (offset < body->before_bytes)
        return read_text(body->before, body->before_bytes, offset, ret, capacity);
    offset -= body->before_bytes;
    if (offset < middle)
        return read_middle(body, offset, ret, capacity);
    offset -= middle;
    return offset < body->after_bytes ? read_text(body->after, body->after_bytes, offset, ret, capacity) : 0;
}
