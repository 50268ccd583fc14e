/* Lines come whole and in order wherever the buffer happens to end,
 * and with their true places in the file. */
#include "base/lines.h"

#include "lib/fake_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fixture {
    int fd;
    char *text; /* what is in the file */
    size_t bytes;
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.fd = memfd_create("lines", MFD_CLOEXEC)};
    *state = &fixture;
    return fixture.fd < 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    close(fixture->fd);
    free(fixture->text);
    return 0;
}

/* Adds count bytes c, then the text. */
static void append(struct fixture *fixture, char c, size_t count, const char *text)
{
    size_t length = strlen(text);
    fixture->text = realloc(fixture->text, fixture->bytes + count + length);
    memset(fixture->text + fixture->bytes, c, count);
    memcpy(fixture->text + fixture->bytes + count, text, length);
    fixture->bytes += count + length;
}

/* Reads the file and holds every line against what memchr finds. Returns how many there were. */
static size_t read_all(struct fixture *fixture)
{
    struct lines lines;
    struct line line;
    size_t count = 0, at = 0;
    assert_int_equal(ftruncate(fixture->fd, 0), 0);
    assert_int_equal(pwrite(fixture->fd, fixture->text, fixture->bytes, 0), fixture->bytes);
    assert_int_equal(lines_init(&lines, fixture->fd, 0, UINT64_MAX), 0);
    for (; lines_next(&lines, &line); count++) {
        const char *newline = memchr(fixture->text + at, '\n', fixture->bytes - at);
        assert_non_null(newline);
        size_t bytes = (size_t)(newline - (fixture->text + at));
        assert_int_equal(line.offset, at);
        assert_int_equal(line.bytes, bytes < LINE_MAX_BYTES ? bytes : LINE_MAX_BYTES);
        assert_memory_equal(line.text, fixture->text + at, line.bytes);
        at += bytes + 1;
    }
    if (at < fixture->bytes)
        assert_null(memchr(fixture->text + at, '\n', fixture->bytes - at));
    lines_deinit(&lines);
    return count;
}

static void an_empty_file_has_no_lines(void **state)
{
    assert_int_equal(read_all(*state), 0);
}

static void empty_lines_are_lines(void **state)
{
    append(*state, 0, 0, "\n\na\n\n");
    assert_int_equal(read_all(*state), 4);
}

static void a_last_line_without_a_newline_is_none(void **state)
{
    append(*state, 0, 0, "a\nb");
    assert_int_equal(read_all(*state), 1);
}

static void lines_of_every_length_are_whole(void **state)
{
    for (size_t length = 0; length < 700; length++)
        append(*state, (char)('a' + length % 26), length * 29 % 701, "\n");
    append(*state, 0, 3, "zeros inside\n");
    assert_int_equal(read_all(*state), 701);
}

static void long_lines_are_cut_and_the_next_is_found(void **state)
{
    static const size_t lengths[] = {LINE_MAX_BYTES - 1,
                                     LINE_MAX_BYTES,
                                     LINE_MAX_BYTES + 1,
                                     65535,
                                     65536,
                                     65537,
                                     2 * 65536 + 1000,
                                     1000000,
                                     3};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        append(*state, (char)('a' + i), lengths[i], "\n");
        append(*state, 0, 0, "short\n");
    }
    append(*state, 'z', 300000, "");
    assert_int_equal(read_all(*state), 2 * sizeof lengths / sizeof *lengths);
}

static void only_the_wanted_part_is_read(void **state)
{
    struct fixture *fixture = *state;
    struct lines lines;
    struct line line;
    append(fixture, 0, 0, "one\ntwo\nthree\n");
    read_all(fixture);
    lines_init(&lines, fixture->fd, 1, 10);
    assert_true(lines_next(&lines, &line));
    assert_int_equal(line.bytes, 2); /* ne */
    assert_int_equal(line.offset, 1);
    assert_true(lines_next(&lines, &line));
    assert_int_equal(line.offset, 4);
    assert_false(lines_next(&lines, &line)); /* th has no newline any more */
    lines_deinit(&lines);
    lines_init(&lines, fixture->fd, 100, 50);
    assert_false(lines_next(&lines, &line));
    lines_deinit(&lines);
}

static void a_file_that_cannot_be_read_has_no_lines(void **state)
{
    struct lines lines;
    struct line line;
    lines_init(&lines, -1, 0, UINT64_MAX);
    assert_false(lines_next(&lines, &line));
    lines_deinit(&lines);
}

#define LINES_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINES_TEST(an_empty_file_has_no_lines),
        LINES_TEST(empty_lines_are_lines),
        LINES_TEST(a_last_line_without_a_newline_is_none),
        LINES_TEST(lines_of_every_length_are_whole),
        LINES_TEST(long_lines_are_cut_and_the_next_is_found),
        LINES_TEST(only_the_wanted_part_is_read),
        LINES_TEST(a_file_that_cannot_be_read_has_no_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
