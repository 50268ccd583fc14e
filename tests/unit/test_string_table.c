/* Every string once, in order of first use, and valid UTF-8 whatever went in. */
#include "lib/unit.h"
#include "base/string_table.h"
#include "lib/narrow_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int setup(void **state)
{
    static struct string_table table;
    *state = &table;
    string_table_init(&table);
    return 0;
}

static int teardown(void **state)
{
    string_table_deinit(*state);
    return 0;
}

static void the_first_string_is_empty(void **state)
{
    struct string_table *table = *state;
    assert_int_equal(string_table_count(table), 1);
    assert_string_equal(string_table_at(table, 0), "");
    assert_int_equal(string_table_intern(table, ""), 0);
    assert_int_equal(string_table_count(table), 1);
}

static void equal_strings_are_one(void **state)
{
    struct string_table *table = *state;
    char copy[] = "main";
    assert_int_equal(string_table_intern(table, "main"), 1);
    assert_int_equal(string_table_intern(table, "mai"), 2);
    assert_int_equal(string_table_intern(table, "main "), 3);
    assert_int_equal(string_table_intern(table, copy), 1);
    copy[0] = 'r';
    assert_string_equal(string_table_at(table, 1), "main");
    assert_int_equal(string_table_intern(table, copy), 4);
    assert_int_equal(string_table_intern(table, "mai"), 2);
    assert_int_equal(string_table_count(table), 5);
    assert_false(table->failed);
}

static void a_hundred_thousand_strings_stay_what_they_are(void **state)
{
    struct string_table *table = *state;
    char text[64];
    for (uint32_t i = 1; i < 100000; i++) {
        snprintf(text, sizeof(text), "_ZN4name%uE%u", i * 7, i);
        if (string_table_intern(table, text) != i)
            fail_msg("%s is not number %u", text, i);
    }
    for (uint32_t i = 1; i < 100000; i++) {
        snprintf(text, sizeof(text), "_ZN4name%uE%u", i * 7, i);
        if (string_table_intern(table, text) != i || strcmp(string_table_at(table, i), text) != 0)
            fail_msg("%s is not number %u any more", text, i);
    }
    assert_int_equal(string_table_count(table), 100000);
    assert_true(table->count * 2 <= table->slots_capacity);
}

static void a_string_may_be_long(void **state)
{
    enum { LONG = 1 << 20 };
    struct string_table *table = *state;
    char *text = malloc(LONG);
    memset(text, 'x', LONG);
    text[LONG - 1] = '\0';
    assert_int_equal(string_table_intern(table, text), 1);
    assert_int_equal(string_table_intern(table, "short"), 2);
    assert_int_equal(string_table_intern(table, text), 1);
    assert_string_equal(string_table_at(table, 1), text);
    assert_string_equal(string_table_at(table, 2), "short");
    free(text);
}

/* What has no memory any more is not read, and stays so. */
static void without_memory_it_is_empty(void **state)
{
    struct string_table *table = *state;
    char text[32];
    struct rlimit before = narrow_memory_begin(64 << 10);
    for (int i = 0; i < 100000 && !table->failed; i++) {
        snprintf(text, sizeof text, "string %d", i);
        string_table_intern(table, text);
    }
    narrow_memory_end(before);
    assert_true(table->failed);
    assert_int_equal(string_table_count(table), 0);
    assert_int_equal(string_table_intern(table, "more"), 0);
}

struct utf8_case {
    const char *text, *expected;
};

/* Unicode 15, table 3-7: which sequences are well formed, and the first ones beyond each border. */
static const struct utf8_case utf8_cases[] = {
    {"plain ~\x01\x7f", "plain ~\x01\x7f"},
    {"\xc2\x80", "\xc2\x80"},
    {"\xdf\xbf", "\xdf\xbf"},
    {"\xe0\xa0\x80", "\xe0\xa0\x80"},
    {"\xe2\x82\xac", "\xe2\x82\xac"},
    {"\xed\x9f\xbf", "\xed\x9f\xbf"},
    {"\xee\x80\x80", "\xee\x80\x80"},
    {"\xef\xbf\xbf", "\xef\xbf\xbf"},
    {"\xf0\x90\x80\x80", "\xf0\x90\x80\x80"},
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
    {"\x80", "?"},
    {"\xbf", "?"},
    {"\xff\xfe", "??"},
    {"\xc0\x80", "??"},                         /* overlong */
    {"\xc1\xbf", "??"},                         /* overlong */
    {"\xe0\x9f\xbf", "???"},                    /* overlong */
    {"\xf0\x8f\xbf\xbf", "????"},               /* overlong */
    {"\xed\xa0\x80", "???"},                    /* surrogate */
    {"\xed\xbf\xbf", "???"},                    /* surrogate */
    {"\xf4\x90\x80\x80", "????"},               /* beyond U+10FFFF */
    {"\xf5\x80\x80\x80", "????"},               /* beyond U+10FFFF */
    {"\xe2\x82", "??"},                         /* cut */
    {"\xf0\x9f\x98", "???"},                    /* cut */
    {"a\xc3", "a?"},                            /* cut */
    {"\xc3(", "?("},                            /* what follows is kept */
    {"\xe2\x82\xe2\x82\xac", "??\xe2\x82\xac"}, /* also when it begins in the midst */
    {"a\xffz", "a?z"},
};

static void strings_are_made_utf8(void **state)
{
    struct string_table *table = *state;
    for (size_t i = 0; i < COUNT(utf8_cases); i++) {
        uint32_t index = string_table_intern(table, utf8_cases[i].text);
        assert_string_equal(string_table_at(table, index), utf8_cases[i].expected);
    }
}

/* A decoder of the old kind: a code point, then what it must not be. */
static bool is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        unsigned length = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        uint32_t point = length == 1 ? *at : *at & (0x7fU >> length);
        if (length == 0)
            return false;
        for (unsigned i = 1; i < length; i++) {
            if (at[i] >> 6 != 2)
                return false;
            point = point << 6 | (at[i] & 0x3f);
        }
        if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            return false;
        at += length;
    }
    return true;
}

/* Every sequence of two bytes, and every lead with every second byte of a longer one. */
static void no_sequence_gets_through_that_is_not_utf8(void **state)
{
    struct string_table *table = *state;
    for (unsigned lead = 1; lead < 256; lead++) {
        for (unsigned second = 1; second < 256; second++) {
            for (int tail = 0; tail <= 2; tail++) {
                char text[5] = {(char)lead, (char)second, tail > 0 ? '\x80' : 0, tail > 1 ? '\x80' : 0};
                const char *kept = string_table_at(table, string_table_intern(table, text));
                assert_true(is_utf8(kept));
                assert_int_equal(strlen(kept), strlen(text));
                if (is_utf8(text))
                    assert_string_equal(kept, text);
            }
        }
    }
}

static void strings_equal_after_repair_are_one(void **state)
{
    struct string_table *table = *state;
    assert_int_equal(string_table_intern(table, "a\xff"), 1);
    assert_int_equal(string_table_intern(table, "a\xfe"), 1);
    assert_int_equal(string_table_intern(table, "a?"), 1);
    assert_int_equal(string_table_count(table), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_first_string_is_empty),
        TEST(equal_strings_are_one),
        TEST(a_hundred_thousand_strings_stay_what_they_are),
        TEST(a_string_may_be_long),
        TEST(without_memory_it_is_empty),
        TEST(strings_are_made_utf8),
        TEST(no_sequence_gets_through_that_is_not_utf8),
        TEST(strings_equal_after_repair_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
