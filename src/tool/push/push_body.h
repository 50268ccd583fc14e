/*
 * The body of a request: the profile's bytes, or a text with these bytes as base64 in its middle. It is
 * generated when it is read, from any offset. So it takes no memory and can be sent again.
 *
 * Called from: push_request makes it, push_http reads it. Standard: RFC 4648, section 4.
 */
#ifndef WALLPROF_PUSH_BODY_H
#define WALLPROF_PUSH_BODY_H

#include <stdbool.h>
#include <stddef.h>

struct push_body {
    const char *before, *after; /* "" where there is none */
    size_t before_bytes, after_bytes;
    const unsigned char *profile; /* not owned */
    size_t profile_bytes;
    bool is_base64;
};

size_t push_body_bytes(const struct push_body *body);

/* Reads up to capacity bytes from an offset; 0 at the end. */
size_t push_body_read(const struct push_body *body, size_t offset, char *ret, size_t capacity);

#endif
