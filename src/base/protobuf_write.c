#include "protobuf_write.h"
#include "arena.h"

#include <string.h>

enum { FIRST_CAPACITY_BYTES = 4096, PROTOBUF_VARINT = 0, PROTOBUF_BYTES = 2, VARINT_MAX_BYTES = 10 };

void protobuf_deinit(struct protobuf_writer *writer)
{
    scratch_free(writer->bytes, writer->capacity);
    *writer = (struct protobuf_writer){0};
}

void protobuf_clear(struct protobuf_writer *writer)
{
    writer->used = 0;
}

static bool reserve_bytes(struct protobuf_writer *writer, size_t bytes)
{
    if (writer->failed)
        return false;
    writer->bytes =
        scratch_reserve(writer->bytes, &writer->capacity, writer->used + bytes, FIRST_CAPACITY_BYTES);
    writer->failed = !writer->bytes;
    return !writer->failed;
}

void protobuf_varint(struct protobuf_writer *writer, uint64_t value)
{
    if (!reserve_bytes(writer, VARINT_MAX_BYTES))
        return;
    while (value >= 0x80) {
        writer->bytes[writer->used++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    writer->bytes[writer->used++] = (unsigned char)value;
}

void protobuf_uint(struct protobuf_writer *writer, uint32_t field, uint64_t value)
{
    if (value == 0)
        return;
    protobuf_varint(writer, (uint64_t)field << 3 | PROTOBUF_VARINT);
    protobuf_varint(writer, value);
}

void protobuf_bytes(struct protobuf_writer *writer, uint32_t field, const void *data, size_t bytes)
{
    protobuf_varint(writer, (uint64_t)field << 3 | PROTOBUF_BYTES);
    protobuf_varint(writer, bytes);
    if (bytes == 0 || !reserve_bytes(writer, bytes))
        return;
    memcpy(writer->bytes + writer->used, data, bytes);
    writer->used += bytes;
}

void protobuf_message(struct protobuf_writer *writer, uint32_t field, const struct protobuf_writer *message)
{
    writer->failed |= message->failed;
    protobuf_bytes(writer, field, message->bytes, message->used);
}
