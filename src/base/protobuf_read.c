#include "protobuf_read.h"

enum { VARINT_MAX_BYTES = 10, FIELD_NUMBER_MAX = (1 << 29) - 1 };

static bool fail(struct wire *wire)
{
    wire->failed = true;
    wire->at = wire->end;
    return false;
}

static bool take_varint(struct wire *wire, uint64_t *ret)
{
    uint64_t value = 0;
    for (int i = 0; i < VARINT_MAX_BYTES && wire->at < wire->end; i++) {
        unsigned char byte = *wire->at++;
        if (i == VARINT_MAX_BYTES - 1 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return fail(wire);
}

static bool skip_bytes(struct wire *wire, uint64_t count)
{
    if (count > wire_left(wire))
        return fail(wire);
    wire->at += count;
    return true;
}

bool wire_next(struct wire *wire, struct wire_field *ret)
{
    uint64_t key;
    if (wire->at == wire->end || !take_varint(wire, &key))
        return false;
    if (key >> 3 == 0 || key >> 3 > FIELD_NUMBER_MAX)
        return fail(wire);
    *ret = (struct wire_field){.number = (uint32_t)(key >> 3), .type = (enum wire_type)(key & 7)};
    switch (key & 7) {
    case WIRE_VARINT:
        return take_varint(wire, &ret->value);
    case WIRE_FIXED64:
        return skip_bytes(wire, 8);
    case WIRE_FIXED32:
        return skip_bytes(wire, 4);
    case WIRE_BYTES:
        if (!take_varint(wire, &ret->value) || ret->value > wire_left(wire))
            return fail(wire);
        ret->bytes = wire_of(wire->at, (size_t)ret->value);
        wire->at += ret->value;
        return true;
    default:
        return fail(wire);
    }
}

struct wire_numbers wire_numbers(const struct wire_field *field)
{
    struct wire_numbers numbers = {.packed = field->bytes};
    if (field->type == WIRE_VARINT) {
        numbers.single = field->value;
        numbers.has_single = true;
    } else if (field->type != WIRE_BYTES) {
        numbers.packed.failed = true;
    }
    return numbers;
}

bool wire_next_number(struct wire_numbers *numbers, uint64_t *ret)
{
    if (numbers->has_single) {
        numbers->has_single = false;
        *ret = numbers->single;
        return true;
    }
    return numbers->packed.at < numbers->packed.end && take_varint(&numbers->packed, ret);
}
