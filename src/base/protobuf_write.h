/*
 * Writes the protocol buffer wire format, one message at a time, into a buffer that grows (scratch memory).
 *
 * Source: Protocol Buffers encoding specification. Errors (no memory) are sticky: check `failed` at the end.
 */
#ifndef WALLPROF_PROTOBUF_WRITE_H
#define WALLPROF_PROTOBUF_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero at first. */
struct protobuf_writer {
    unsigned char *bytes;
    size_t used, capacity;
    bool failed;
};

void protobuf_deinit(struct protobuf_writer *writer);
void protobuf_clear(struct protobuf_writer *writer);

/* Writes a bare varint, for packed fields. */
void protobuf_varint(struct protobuf_writer *writer, uint64_t value);

/* Writes a field. A value of 0 is left out, as in proto3. */
void protobuf_uint(struct protobuf_writer *writer, uint32_t field, uint64_t value);

/* Writes a length-delimited field, even if it is empty (string_table[0]). */
void protobuf_bytes(struct protobuf_writer *writer, uint32_t field, const void *data, size_t bytes);

/* Writes a nested message or packed field that was built in another buffer. */
void protobuf_message(struct protobuf_writer *writer, uint32_t field, const struct protobuf_writer *message);

#endif
