#include "fake_pprof.h"

#include <stdlib.h>
#include <string.h>

/* ---- wire ---- */

struct fake_message {
    const unsigned char *at, *end;
};

struct fake_field {
    uint32_t number, wire;
    uint64_t value;            /* of a varint */
    struct fake_message bytes; /* of a length-delimited one */
};

static uint64_t fake_varint(struct fake_message *message)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(message->at < message->end && shift < 70);
        unsigned char byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
}

static bool fake_next_field(struct fake_message *message, struct fake_field *ret)
{
    if (message->at == message->end)
        return false;
    uint64_t key = fake_varint(message);
    *ret = (struct fake_field){.number = (uint32_t)(key >> 3), .wire = key & 7};
    ret->value = fake_varint(message);
    if (ret->wire == 0)
        return true;
    assert_int_equal(ret->wire, 2);
    assert_true(ret->value <= (uint64_t)(message->end - message->at));
    ret->bytes = (struct fake_message){message->at, message->at + ret->value};
    message->at += ret->value;
    return true;
}

/* One more element of a growing array, zeroed. */
static void *fake_append(void *array, size_t *count, size_t bytes)
{
    if ((*count & (*count - 1)) == 0)
        *(void **)array = realloc(*(void **)array, bytes * (*count ? *count * 2 : 1));
    return memset(*(char **)array + bytes * (*count)++, 0, bytes);
}

/* A repeated number, packed or not. */
static void fake_read_numbers(const struct fake_field *field, struct fake_numbers *ret)
{
    struct fake_message packed = field->bytes;
    if (field->wire == 0) {
        assert_true(ret->count < FAKE_STACK_MAX);
        ret->at[ret->count++] = field->value;
    }
    while (packed.at < packed.end) {
        assert_true(ret->count < FAKE_STACK_MAX);
        ret->at[ret->count++] = fake_varint(&packed);
    }
}

/* Numbers only, each at most once. */
static void fake_read_plain(struct fake_message message, uint64_t *fields, uint32_t field_count)
{
    struct fake_field field;
    uint32_t seen = 0;
    while (fake_next_field(&message, &field)) {
        assert_true(field.wire == 0 && field.number > 0 && field.number < field_count);
        assert_false(seen >> field.number & 1);
        seen |= 1U << field.number;
        fields[field.number] = field.value;
    }
}

/* ---- messages ---- */

static struct fake_value_type fake_read_value_type(struct fake_message message)
{
    uint64_t fields[3] = {0};
    fake_read_plain(message, fields, 3);
    return (struct fake_value_type){fields[1], fields[2]};
}

static void fake_read_sample(struct fake_message message, struct fake_sample *ret)
{
    struct fake_field field;
    while (fake_next_field(&message, &field)) {
        if (field.number == 100) /* only we read it: pprof_changes.h */
            continue;
        if (field.number == 1 || field.number == 2)
            fake_read_numbers(&field, field.number == 1 ? &ret->locations : &ret->values);
        else {
            uint64_t fields[5] = {0};
            assert_true(field.number == 3 && field.wire == 2 && ret->label_count < FAKE_FEW_MAX);
            fake_read_plain(field.bytes, fields, 5);
            ret->labels[ret->label_count++] = (struct fake_label){fields[1], fields[2], fields[3], fields[4]};
        }
    }
}

static void fake_read_location(struct fake_message message, struct fake_location *ret)
{
    struct fake_field field;
    while (fake_next_field(&message, &field)) {
        assert_true(field.number > 0 && field.number < 6);
        if (field.number != 4) {
            ret->field[field.number] = field.value;
            continue;
        }
        uint64_t fields[4] = {0};
        assert_true(field.wire == 2 && ret->line_count < FAKE_FEW_MAX);
        fake_read_plain(field.bytes, fields, 4);
        ret->function_ids[ret->line_count] = fields[1];
        ret->lines[ret->line_count++] = fields[2];
    }
}

static void fake_read_field(struct fake_pprof *ret, const struct fake_field *field)
{
    switch (field->number) {
    case 1:
        assert_true(ret->sample_type_count < FAKE_FEW_MAX);
        ret->sample_types[ret->sample_type_count++] = fake_read_value_type(field->bytes);
        return;
    case 2:
        fake_read_sample(field->bytes, fake_append(&ret->samples, &ret->sample_count, sizeof(*ret->samples)));
        return;
    case 3: {
        struct fake_mapping *mapping = fake_append(&ret->mappings, &ret->mapping_count, sizeof(*mapping));
        fake_read_plain(field->bytes, mapping->field, 11);
        return;
    }
    case 4:
        fake_read_location(field->bytes,
                           fake_append(&ret->locations, &ret->location_count, sizeof(*ret->locations)));
        return;
    case 5: {
        struct fake_function *function =
            fake_append(&ret->functions, &ret->function_count, sizeof(*function));
        fake_read_plain(field->bytes, function->field, 6);
        return;
    }
    case 6: {
        size_t bytes = (size_t)(field->bytes.end - field->bytes.at);
        assert_int_equal(field->wire, 2);
        assert_null(memchr(field->bytes.at, 0, bytes));
        char **string = fake_append(&ret->strings, &ret->string_count, sizeof(*string));
        *string = strndup((const char *)field->bytes.at, bytes);
        return;
    }
    case 11:
        ret->period_type = fake_read_value_type(field->bytes);
        return;
    case 13:
        fake_read_numbers(field, &ret->comments);
        return;
    default:
        assert_true(field->wire == 0 && field->number > 0 && field->number < 16);
        ret->field[field->number] = field->value;
    }
}

void fake_pprof_read(const struct fake_bytes *plain, struct fake_pprof *ret)
{
    struct fake_message message = {plain->bytes, plain->bytes + plain->size};
    struct fake_field field;
    *ret = (struct fake_pprof){0};
    while (fake_next_field(&message, &field))
        fake_read_field(ret, &field);
}

void fake_pprof_free(struct fake_pprof *pprof)
{
    for (size_t i = 0; i < pprof->string_count; i++)
        free(pprof->strings[i]);
    free(pprof->strings);
    free(pprof->samples);
    free(pprof->mappings);
    free(pprof->locations);
    free(pprof->functions);
    *pprof = (struct fake_pprof){0};
}

const char *fake_string(const struct fake_pprof *pprof, uint64_t index)
{
    assert_true(index < pprof->string_count);
    return pprof->strings[index];
}
