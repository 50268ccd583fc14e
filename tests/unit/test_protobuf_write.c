/* The bytes are those of the Protocol Buffers encoding specification. */
#include "lib/unit.h"
#include "base/protobuf_write.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int setup(void **state)
{
    static struct protobuf_writer proto;
    *state = &proto;
    proto = (struct protobuf_writer){0};
    return 0;
}

static int teardown(void **state)
{
    protobuf_deinit(*state);
    return 0;
}

#define assert_bytes(proto, expected)                                                                        \
    do {                                                                                                     \
        assert_int_equal((proto)->used, sizeof(expected) - 1);                                               \
        assert_memory_equal((proto)->bytes, expected, sizeof(expected) - 1);                                 \
        assert_false((proto)->failed);                                                                       \
    } while (0)

struct varint_case {
    uint64_t value;
    const char *bytes;
    size_t size;
};

static void varints_are_seven_bits_a_byte(void **state)
{
    static const struct varint_case cases[] = {
        {0, "\x00", 1},
        {1, "\x01", 1},
        {127, "\x7f", 1},
        {128, "\x80\x01", 2},
        {150, "\x96\x01", 2},
        {300, "\xac\x02", 2},
        {16383, "\xff\x7f", 2},
        {16384, "\x80\x80\x01", 3},
        {86942, "\x9e\xa7\x05", 3},
        {UINT32_MAX, "\xff\xff\xff\xff\x0f", 5},
        {(uint64_t)-2, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
        {UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
        {UINT64_C(1) << 63, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10},
    };
    struct protobuf_writer *proto = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        protobuf_clear(proto);
        protobuf_varint(proto, cases[i].value);
        assert_int_equal(proto->used, cases[i].size);
        assert_memory_equal(proto->bytes, cases[i].bytes, cases[i].size);
    }
}

static void a_number_is_a_key_and_a_varint(void **state)
{
    struct protobuf_writer *proto = *state;
    protobuf_uint(proto, 1, 150);
    assert_bytes(proto, "\x08\x96\x01");
    protobuf_uint(proto, 15, 1);
    protobuf_uint(proto, 16, 2); /* the first field number that takes two bytes */
    assert_bytes(proto, "\x08\x96\x01\x78\x01\x80\x01\x02");
    protobuf_clear(proto);
    protobuf_uint(proto, 536870911, 1); /* the last there is */
    assert_bytes(proto, "\xf8\xff\xff\xff\x0f\x01");
}

static void zero_is_left_out(void **state)
{
    struct protobuf_writer *proto = *state;
    protobuf_uint(proto, 1, 0);
    assert_int_equal(proto->used, 0);
}

static void bytes_have_their_length(void **state)
{
    struct protobuf_writer *proto = *state;
    protobuf_bytes(proto, 2, "testing", 7);
    assert_bytes(proto, "\x12\x07testing");
    protobuf_bytes(proto, 6, "", 0); /* written all the same */
    protobuf_bytes(proto, 6, NULL, 0);
    protobuf_bytes(proto, 6, "\0z", 2);
    assert_bytes(proto, "\x12\x07testing\x32\x00\x32\x00\x32\x02\x00z");
}

static void messages_and_packed_fields_nest(void **state)
{
    struct protobuf_writer *proto = *state, inner = {0};
    protobuf_message(proto, 3, &inner);
    protobuf_uint(&inner, 1, 150);
    protobuf_message(proto, 3, &inner);
    assert_bytes(proto, "\x1a\x00\x1a\x03\x08\x96\x01");
    protobuf_clear(proto);
    protobuf_clear(&inner);
    protobuf_varint(&inner, 3);
    protobuf_varint(&inner, 270);
    protobuf_varint(&inner, 86942);
    protobuf_message(proto, 6, &inner);
    assert_bytes(proto, "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
    protobuf_deinit(&inner);
}

static void the_buffer_grows_and_keeps_what_it_has(void **state)
{
    struct protobuf_writer *proto = *state;
    enum { LARGE = 1 << 20 };
    unsigned char *large = malloc(LARGE);
    memset(large, 'x', LARGE);
    for (uint64_t i = 0; i < 100000; i++) {
        protobuf_varint(proto, i & 0x7f);
        assert_true(proto->used <= proto->capacity);
    }
    protobuf_bytes(proto, 1, large, LARGE);
    assert_int_equal(proto->used, 100000 + 1 + 3 + LARGE);
    for (size_t i = 0; i < 100000; i++) {
        if (proto->bytes[i] != (i & 0x7f))
            fail_msg("byte %zu is %d", i, proto->bytes[i]);
    }
    assert_memory_equal(proto->bytes + 100000, "\x0a\x80\x80\x40", 4);
    assert_memory_equal(proto->bytes + 100004, large, LARGE);
    size_t capacity = proto->capacity;
    protobuf_clear(proto);
    assert_int_equal(proto->used, 0);
    assert_int_equal(proto->capacity, capacity); /* memory is kept for the next message */
    free(large);
}

/* More than there is memory for: nothing is written from then on, and an outer message knows. */
static void no_memory_is_remembered(void **state)
{
    struct protobuf_writer *proto = *state, outer = {0};
    protobuf_uint(proto, 1, 150);
    protobuf_bytes(proto, 2, "", (size_t)1 << 60);
    assert_true(proto->failed);
    protobuf_varint(proto, 1);
    protobuf_uint(proto, 1, 1);
    protobuf_bytes(proto, 1, "x", 1);
    protobuf_clear(proto);
    assert_true(proto->failed);
    protobuf_message(&outer, 1, proto);
    assert_true(outer.failed);
    protobuf_deinit(&outer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(varints_are_seven_bits_a_byte),
        TEST(a_number_is_a_key_and_a_varint),
        TEST(zero_is_left_out),
        TEST(bytes_have_their_length),
        TEST(messages_and_packed_fields_nest),
        TEST(the_buffer_grows_and_keeps_what_it_has),
        TEST(no_memory_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
