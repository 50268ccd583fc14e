/*
 * Protocol buffer wire format, one message at a time into a buffer that grows (scratch memory).
 *
 * Source: Protocol Buffers encoding specification. Errors (no memory) are sticky: look at `failed` once, at
 * the end.
 */
#ifndef WALLPROF_PROTO_H
#define WALLPROF_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
    unsigned char *bytes;
    size_t used, capacity;
    bool failed;
};

void proto_init(struct proto *proto);
void proto_deinit(struct proto *proto);
void proto_clear(struct proto *proto);

/* A bare varint, for packed fields and message lengths. */
void proto_varint(struct proto *proto, uint64_t value);

/* A field; a value of 0 is left out, as proto3 has it. */
void proto_uint(struct proto *proto, uint32_t field, uint64_t value);

/* A length-delimited field, written also when empty (string_table[0]). */
void proto_bytes(struct proto *proto, uint32_t field, const void *data, size_t bytes);

/* A nested message or packed field built in another buffer. */
void proto_message(struct proto *proto, uint32_t field, const struct proto *message);

#endif
