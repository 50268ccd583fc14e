/*
 * Reads the protocol buffer wire format field by field, from memory that may hold anything.
 *
 * protobuf_next returns false at the end of the message, and also for what is not well formed. Then `failed`
 * is set, for good. Nothing is copied. Source: Protocol Buffers encoding specification.
 */
#ifndef WALLPROF_PROTOBUF_READ_H
#define WALLPROF_PROTOBUF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf_reader {
    const unsigned char *at, *end;
    bool failed;
};

enum protobuf_wire_type {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2,
    PROTOBUF_FIXED32 = 5
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_wire_type type;
    uint64_t value;               /* of PROTOBUF_VARINT */
    struct protobuf_reader bytes; /* of PROTOBUF_BYTES: a message, a string, or packed numbers */
};

static inline struct protobuf_reader protobuf_reader_of(const unsigned char *bytes, size_t count)
{
    return (struct protobuf_reader){.at = bytes, .end = bytes + count};
}

static inline size_t protobuf_left(const struct protobuf_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

/* The next field of a message. */
bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *ret);

/* The numbers of one occurrence of a repeated field: one, or many packed. */
struct protobuf_numbers {
    struct protobuf_reader packed; /* failed if they are not well formed */
    uint64_t single;
    bool has_single;
};

struct protobuf_numbers protobuf_numbers(const struct protobuf_field *field);
bool protobuf_next_number(struct protobuf_numbers *numbers, uint64_t *ret);

#endif
