/* What is written is held against RFC 8259, byte for byte. */
#include "base/json.h"

#include "lib/fake_files.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct fixture {
    struct fake_directory directory;
    struct sink *sink;
    struct json json;
};

static int setup(void **state)
{
    static struct fixture fixture;
    int error;
    *state = &fixture;
    fake_directory_create(&fixture.directory);
    fixture.sink = sink_create(fixture.directory.fd, "out.json", SINK_PLAIN, &error);
    assert_non_null(fixture.sink);
    json_init(&fixture.json, fixture.sink);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_directory_remove(&fixture->directory);
    return 0;
}

static void assert_written(struct fixture *fixture, const char *expected)
{
    assert_int_equal(sink_commit(fixture->sink), 0);
    struct fake_bytes file = fake_read(&fixture->directory, "out.json");
    assert_string_equal((const char *)file.bytes, expected);
    assert_int_equal(file.size, strlen(expected));
    fake_bytes_free(&file);
}

static void commas_are_between_values_only(void **state)
{
    struct fixture *fixture = *state;
    struct json *json = &fixture->json;
    json_begin_object(json);
    json_key(json, "none");
    json_begin_array(json);
    json_end_array(json);
    json_key(json, "some");
    json_begin_array(json);
    json_uint(json, 1);
    json_begin_object(json);
    json_end_object(json);
    json_newline(json);
    json_begin_array(json);
    json_null(json);
    json_bool(json, true);
    json_end_array(json);
    json_bool(json, false);
    json_end_array(json);
    json_key(json, "last");
    json_string(json, "");
    json_end_object(json);
    assert_written(fixture, "{\"none\":[],\"some\":[1,{}\n,[null,true],false],\"last\":\"\"}");
}

static void numbers_are_exact(void **state)
{
    struct fixture *fixture = *state;
    struct json *json = &fixture->json;
    json_begin_array(json);
    json_uint(json, 0);
    json_uint(json, UINT64_MAX);
    json_digits(json, UINT64_MAX);
    json_int(json, -1);
    json_int(json, INT64_MIN);
    json_end_array(json);
    assert_written(fixture, "[0,18446744073709551615,\"18446744073709551615\",-1,-9223372036854775808]");
}

static void times_have_no_needless_digits(void **state)
{
    static const int64_t values_ns[] = {
        0, 1, 1000000, 1500000, -1500000, 10000000, 123456789, -1, INT64_MAX, INT64_MIN,
    };
    struct fixture *fixture = *state;
    json_begin_array(&fixture->json);
    for (size_t i = 0; i < COUNT(values_ns); i++)
        json_ms(&fixture->json, values_ns[i]);
    json_us(&fixture->json, 1234567);
    json_us(&fixture->json, -1500);
    json_end_array(&fixture->json);
    assert_written(fixture, "[0,0.000001,1,1.5,-1.5,10,123.456789,-0.000001,9223372036854.775807,"
                            "-9223372036854.775808,1234.567,-1.5]");
}

struct text_case {
    const char *text, *written;
};

static const struct text_case text_cases[] = {
    {"plain", "plain"},
    {"\"\\/", "\\\"\\\\/"},
    {"\b\t\n\x01\x1f\x7f", "\\u0008\\u0009\\u000a\\u0001\\u001f\\u007f"},
    {"</script><!--&", "\\u003c/script\\u003e\\u003c!--\\u0026"},
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", "\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa"},
    {"\xff<\xc3(", "?\\u003c?("},
    {"\xe2\x80", "??"}, /* cut off at the end */
    {"\xc0\xbc/script\xed\xa0\x80", "?"
                                    "?/script\?\?\?"}, /* an overlong '<', a surrogate */
};

static void text_is_valid_wherever_it_stands(void **state)
{
    struct fixture *fixture = *state;
    char expected[1024] = "[";
    json_begin_array(&fixture->json);
    for (size_t i = 0; i < COUNT(text_cases); i++) {
        json_string(&fixture->json, text_cases[i].text);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s\"%s\"", i ? "," : "",
                 text_cases[i].written);
    }
    json_end_array(&fixture->json);
    strcat(expected, "]");
    assert_written(fixture, expected);
}

static void keys_are_text_too(void **state)
{
    struct fixture *fixture = *state;
    json_begin_object(&fixture->json);
    json_key(&fixture->json, "\"<\xff");
    json_null(&fixture->json);
    json_end_object(&fixture->json);
    assert_written(fixture, "{\"\\\"\\u003c?\":null}");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(commas_are_between_values_only),   TEST(numbers_are_exact), TEST(times_have_no_needless_digits),
        TEST(text_is_valid_wherever_it_stands), TEST(keys_are_text_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
