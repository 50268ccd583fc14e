#include "protobuf_read.h"

enum { VARINT_MAX_BYTES = 10, FIELD_NUMBER_MAX = (1 << 29) - 1 };

static bool fail(struct protobuf_reader *reader)
{
    reader->failed = true;
    reader->at = reader->end;
    return false;
}

static bool read_varint(struct protobuf_reader *reader, uint64_t *ret)
{
    uint64_t value = 0;
    for (int i = 0; i < VARINT_MAX_BYTES && reader->at < reader->end; i++) {
        unsigned char byte = *reader->at++;
        if (i == VARINT_MAX_BYTES - 1 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return fail(reader);
}

static bool skip_bytes(struct protobuf_reader *reader, uint64_t count)
{
    if (count > protobuf_left(reader))
        return fail(reader);
    reader->at += count;
    return true;
}

bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *ret)
{
    uint64_t key;
    if (reader->at == reader->end || !read_varint(reader, &key))
        return false;
    if (key >> 3 == 0 || key >> 3 > FIELD_NUMBER_MAX)
        return fail(reader);
    *ret =
        (struct protobuf_field){.number = (uint32_t)(key >> 3), .type = (enum protobuf_wire_type)(key & 7)};
    switch (key & 7) {
    case PROTOBUF_VARINT:
        return read_varint(reader, &ret->value);
    case PROTOBUF_FIXED64:
        return skip_bytes(reader, 8);
    case PROTOBUF_FIXED32:
        return skip_bytes(reader, 4);
    case PROTOBUF_BYTES:
        if (!read_varint(reader, &ret->value) || ret->value > protobuf_left(reader))
            return fail(reader);
        ret->bytes = protobuf_reader_of(reader->at, (size_t)ret->value);
        reader->at += ret->value;
        return true;
    default:
        return fail(reader);
    }
}

struct protobuf_numbers protobuf_numbers(const struct protobuf_field *field)
{
    struct protobuf_numbers numbers = {.packed = field->bytes};
    if (field->type == PROTOBUF_VARINT) {
        numbers.single = field->value;
        numbers.has_single = true;
    } else if (field->type != PROTOBUF_BYTES) {
        numbers.packed.failed = true;
    }
    return numbers;
}

bool protobuf_next_number(struct protobuf_numbers *numbers, uint64_t *ret)
{
    if (numbers->has_single) {
        numbers->has_single = false;
        *ret = numbers->single;
        return true;
    }
    return numbers->packed.at < numbers->packed.end && read_varint(&numbers->packed, ret);
}
