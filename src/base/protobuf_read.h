/*
 * Protocol buffer wire format, read field by field out of memory that may hold anything.
 *
 * What is not well formed makes wire_next return false and sets `failed`, for good; at the end of the message
 * it returns false without. Nothing is copied.
 * Source: Protocol Buffers encoding specification.
 */
#ifndef WALLPROF_TOOL_WIRE_H
#define WALLPROF_TOOL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
    const unsigned char *at, *end;
    bool failed;
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;    /* of WIRE_VARINT */
    struct wire bytes; /* of WIRE_BYTES: a message, a string, or packed numbers */
};

static inline struct wire wire_of(const unsigned char *bytes, size_t count)
{
    return (struct wire){.at = bytes, .end = bytes + count};
}

static inline size_t wire_left(const struct wire *wire)
{
    return (size_t)(wire->end - wire->at);
}

/* The next field of a message. */
bool wire_next(struct wire *wire, struct wire_field *ret);

/* The numbers of one occurrence of a repeated field: one, or many packed. */
struct wire_numbers {
    struct wire packed; /* failed when they are not well formed */
    uint64_t single;
    bool has_single;
};

struct wire_numbers wire_numbers(const struct wire_field *field);
bool wire_next_number(struct wire_numbers *numbers, uint64_t *ret);

#endif
