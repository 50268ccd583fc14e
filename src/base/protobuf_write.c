#include "protobuf_write.h"
#include "arena.h"

#include <string.h>

enum { FIRST_CAPACITY_BYTES = 4096, WIRE_VARINT = 0, WIRE_BYTES = 2, VARINT_MAX_BYTES = 10 };

void proto_init(struct proto *proto)
{
    *proto = (struct proto){0};
}

void proto_deinit(struct proto *proto)
{
    scratch_free(proto->bytes, proto->capacity);
    *proto = (struct proto){0};
}

void proto_clear(struct proto *proto)
{
    proto->used = 0;
}

static bool reserve(struct proto *proto, size_t bytes)
{
    size_t capacity = proto->capacity ? proto->capacity : FIRST_CAPACITY_BYTES;
    if (proto->failed)
        return false;
    if (proto->used + bytes <= proto->capacity)
        return true;
    while (capacity < proto->used + bytes)
        capacity *= 2;
    proto->bytes = scratch_grow(proto->bytes, proto->capacity, capacity);
    proto->capacity = proto->bytes ? capacity : 0;
    proto->failed = !proto->bytes;
    return !proto->failed;
}

void proto_varint(struct proto *proto, uint64_t value)
{
    if (!reserve(proto, VARINT_MAX_BYTES))
        return;
    while (value >= 0x80) {
        proto->bytes[proto->used++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    proto->bytes[proto->used++] = (unsigned char)value;
}

void proto_uint(struct proto *proto, uint32_t field, uint64_t value)
{
    if (value == 0)
        return;
    proto_varint(proto, (uint64_t)field << 3 | WIRE_VARINT);
    proto_varint(proto, value);
}

void proto_bytes(struct proto *proto, uint32_t field, const void *data, size_t bytes)
{
    proto_varint(proto, (uint64_t)field << 3 | WIRE_BYTES);
    proto_varint(proto, bytes);
    if (bytes == 0 || !reserve(proto, bytes))
        return;
    memcpy(proto->bytes + proto->used, data, bytes);
    proto->used += bytes;
}

void proto_message(struct proto *proto, uint32_t field, const struct proto *message)
{
    proto->failed |= message->failed;
    proto_bytes(proto, field, message->bytes, message->used);
}
