/* A string table that is read in pieces has the strings that the whole table has, and reads no more. */
#include "lib/unit.h"
#include "elf/elf_strings.h"

#include <string.h>

enum { OFFSET = 100, TABLE = 5 * 4096 + 37, LONG_AT = 4000, LONG = 9001 };

static char file[OFFSET + TABLE];

/* Strings of one letter, and a long one over three pieces. The last NUL is the byte before `end`. */
static struct elf_strings open_table(struct elf_image *image, size_t end)
{
    static const Elf64_Shdr section = {.sh_type = SHT_STRTAB, .sh_offset = OFFSET, .sh_size = TABLE};
    struct elf_strings strings;
    memset(file, 'n', sizeof file);
    for (size_t i = 1; i < end; i += 2)
        file[OFFSET + i] = '\0';
    memset(file + OFFSET + LONG_AT, 'l', LONG);
    if (end > 0)
        file[OFFSET + end - 1] = '\0';
    *image = (struct elf_image){.fd = -1, .memory = (unsigned char *)file, .size_bytes = sizeof file};
    elf_strings_open(&strings, image, &section);
    return strings;
}

static void strings_are_those_of_the_file(void **state)
{
    struct elf_image image;
    struct elf_strings strings = open_table(&image, TABLE);
    (void)state;
    for (size_t at = 0; at < TABLE; at++) {
        const char *found = elf_strings_at(&strings, at, TABLE);
        assert_string_equal(found, file + OFFSET + at);
        assert_true(elf_strings_have(&strings, found));
    }
    assert_null(elf_strings_at(&strings, TABLE, 1));
    assert_null(elf_strings_at(&strings, UINT64_MAX, 1));
    assert_false(elf_strings_have(&strings, file));
    elf_strings_free(&strings);
}

static void only_what_is_asked_for_is_read(void **state)
{
    struct elf_image image;
    struct elf_strings strings = open_table(&image, TABLE);
    (void)state;
    assert_int_equal(strnlen(elf_strings_at(&strings, LONG_AT, 10), LONG), 4096 - LONG_AT);
    assert_int_equal(strnlen(elf_strings_at(&strings, LONG_AT, 200), LONG), 2 * 4096 - LONG_AT);
    assert_int_equal(strnlen(elf_strings_at(&strings, LONG_AT, LONG + 1), LONG + 1), LONG);
    assert_int_equal(strings.data[4 * 4096], 0);
    assert_string_equal(elf_strings_at(&strings, 4 * 4096, 1), "n");
    elf_strings_free(&strings);
}

static void what_no_nul_ends_is_no_string(void **state)
{
    static const size_t ends[] = {TABLE - 1, 5 * 4096, 5 * 4096 - 1, 2, 0};
    struct elf_image image;
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct elf_strings strings = open_table(&image, ends[i]);
        if (ends[i] > 0)
            assert_string_equal(elf_strings_at(&strings, ends[i] - 1, TABLE), "");
        assert_null(elf_strings_at(&strings, ends[i], TABLE));
        elf_strings_free(&strings);
    }
}

static void a_file_that_has_shrunk_has_no_strings(void **state)
{
    struct elf_image image;
    struct elf_strings strings = open_table(&image, TABLE);
    (void)state;
    image.size_bytes = OFFSET + 4096;
    assert_string_equal(elf_strings_at(&strings, 0, 10), "n");
    assert_null(elf_strings_at(&strings, 4096, 10));
    elf_strings_free(&strings);
    elf_strings_open(&strings, &image, NULL);
    assert_null(elf_strings_at(&strings, 0, 1));
    elf_strings_free(&strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_those_of_the_file),
        cmocka_unit_test(only_what_is_asked_for_is_read),
        cmocka_unit_test(what_no_nul_ends_is_no_string),
        cmocka_unit_test(a_file_that_has_shrunk_has_no_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
