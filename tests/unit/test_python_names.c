/* Names and lines of CPython's code, from memory as it is there; hostile memory costs names only. */
#include "lib/unit.h"

#include "interp/python_lines.h"
#include "interp/python_names.h"
#include "lib/fake_python.h"

#include <string.h>

enum { VERSION_3_11 = 0x030b02f0 };

static struct fake_python python;
static struct sig_interp_stack stack;
static struct interp_names names;

/* Two units on the first line, three a line further, one without a line, and one 5 lines further. */
static const uint8_t lines[] = {0x80 | 10 << 3 | 1, 1, 2, 0x80 | 11 << 3 | 2, 3, 4, 0x80 | 15 << 3,
                                0x80 | 13 << 3,     10};

static int setup(void **state)
{
    fake_python_init(&python, VERSION_3_11);
    return 0;
}

static struct sig_interp_frame frame_of(uint64_t code, int32_t at)
{
    fake_python_call(&python, code, at, true);
    assert_true(fake_python_walk(&python, &stack, 1));
    return stack.frames[0];
}

static bool read_names(const struct sig_interp_frame *frame)
{
    return python_names_read(&python.layout, &python.block.memory, frame, &names);
}

static void a_line_is_found_by_its_unit(void **state)
{
    static const struct {
        int32_t at;
        uint32_t line;
    } cases[] = {{-2, 100}, {0, 100}, {2, 100}, {4, 101}, {8, 101}, {10, 0}, {12, 106}, {14, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(python_line_at(lines, sizeof lines, 100, cases[i].at), cases[i].line);
}

static void lines_may_go_back(void **state)
{
    static const uint8_t back[] = {0x80 | 13 << 3, 2 * 7 + 1, 0x80 | 14 << 3, 0x40 | 2, 1, 0, 1, 1};
    assert_int_equal(python_line_at(back, sizeof back, 100, 0), 93);
    assert_int_equal(python_line_at(back, sizeof back, 100, 2), 93 + 33);
}

/* Two bytes on the first line, four on the next one, two without a line, and two that go back. */
static void lines_of_3_10_are_pairs(void **state)
{
    static const uint8_t table[] = {2, 0, 4, 1, 2, 0x80, 2, 0xff};
    static const struct {
        int32_t at;
        uint32_t line;
    } cases[] = {{-1, 100}, {0, 100}, {2, 101}, {5, 101}, {6, 0}, {8, 100}, {10, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(python_line_at_3_10(table, sizeof table, 100, cases[i].at), cases[i].line);
}

static void lines_before_3_10_have_no_end(void **state)
{
    static const uint8_t table[] = {2, 1, 0, 127, 4, 0xfe};
    static const struct {
        int32_t at;
        uint32_t line;
    } cases[] = {{-1, 100}, {0, 100}, {1, 100}, {2, 228}, {5, 228}, {6, 226}, {600, 226}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(python_line_at_before(table, sizeof table, 100, cases[i].at), cases[i].line);
    assert_int_equal(python_line_at_before(table, 0, 100, 8), 100);
}

/* Every byte at every place: no line is negative, and reading ends. */
static void any_bytes_are_a_table(void **state)
{
    uint8_t bytes[64];
    uint32_t word = 1;
    for (int round = 0; round < 20000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)((word = word * 1664525 + 1013904223) >> 24);
        for (int32_t at = -2; at < 1000; at += 50)
            assert_true(python_line_at(bytes, (size_t)round % sizeof bytes, 5, at) <= INT32_MAX &&
                        python_line_at_3_10(bytes, (size_t)round % sizeof bytes, 5, at) <= INT32_MAX &&
                        python_line_at_before(bytes, (size_t)round % sizeof bytes, 5, at) <= INT32_MAX);
    }
}

static void a_frame_has_name_file_and_line(void **state)
{
    uint64_t code = fake_python_code(&python, "Worker.take", 100, lines, sizeof lines);
    struct sig_interp_frame frame = frame_of(code, 4);
    assert_true(read_names(&frame));
    assert_string_equal(names.function, "Worker.take");
    assert_string_equal(names.file, "/home/user/app.py");
    assert_int_equal(names.first_line, 100);
    assert_int_equal(names.line, 101);
}

static void wide_names_become_utf8(void **state)
{
    static const uint16_t text[] = {'f', 0xe4, 0x4e2d, '\n'};
    uint64_t code = fake_python_code(&python, "f", 1, lines, sizeof lines);
    *fake_at(&python.block, code + python.layout.frames.code.qualname) =
        fake_python_wide_text(&python, text, 4);
    struct sig_interp_frame frame = frame_of(code, 0);
    assert_true(read_names(&frame));
    assert_string_equal(names.function, "f\xc3\xa4\xe4\xb8\xad?");
}

/* Their state begins with a whole byte, and their header is longer. */
static void texts_without_the_gil_are_read(void **state)
{
    static const uint16_t text[] = {'f', 0x4e2d};
    fake_python_init(&python, FAKE_PYTHON_FREE_THREADED);
    uint64_t code = fake_python_code(&python, "Worker.take", 100, lines, sizeof lines);
    struct sig_interp_frame frame = frame_of(code, 4);
    assert_true(read_names(&frame));
    assert_string_equal(names.function, "Worker.take");
    assert_int_equal(names.line, 101);
    *fake_at(&python.block, code + python.layout.frames.code.qualname) =
        fake_python_wide_text(&python, text, 2);
    frame = frame_of(code, 4);
    assert_true(read_names(&frame));
    assert_string_equal(names.function, "f\xe4\xb8\xad");
}

static void code_that_was_freed_has_no_name(void **state)
{
    uint64_t code = fake_python_code(&python, "f", 1, lines, sizeof lines);
    struct sig_interp_frame frame = frame_of(code, 0);
    *fake_at(&python.block, code + python.layout.frames.code.qualname) = fake_python_text(&python, "g");
    assert_false(read_names(&frame));
}

static void a_name_falls_back_to_the_short_one(void **state)
{
    uint64_t code = fake_python_code(&python, "f", 1, lines, sizeof lines);
    *fake_at(&python.block, code + python.layout.frames.code.qualname) = 0;
    struct sig_interp_frame frame = frame_of(code, 0);
    assert_true(read_names(&frame));
    assert_string_equal(names.function, "short");
}

static void huge_counts_are_cut(void **state)
{
    uint64_t code = fake_python_code(&python, "f", 7, lines, sizeof lines);
    const struct sig_python_layout *layout = &python.layout.frames;
    uint64_t table = *fake_at(&python.block, code + layout->code.line_table);
    uint64_t file = *fake_at(&python.block, code + layout->code.filename);
    struct sig_interp_frame frame = frame_of(code, 0);
    *fake_at(&python.block, table + 16) = UINT64_MAX;
    *fake_at(&python.block, file + python.layout.text.length) = UINT64_MAX / 2;
    assert_true(read_names(&frame));
    assert_int_equal(names.first_line, 7);
    assert_true(strlen(names.file) < sizeof names.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_found_by_its_unit),
        cmocka_unit_test(lines_may_go_back),
        cmocka_unit_test(lines_of_3_10_are_pairs),
        cmocka_unit_test(lines_before_3_10_have_no_end),
        cmocka_unit_test(any_bytes_are_a_table),
        cmocka_unit_test_setup(a_frame_has_name_file_and_line, setup),
        cmocka_unit_test_setup(wide_names_become_utf8, setup),
        cmocka_unit_test_setup(texts_without_the_gil_are_read, setup),
        cmocka_unit_test_setup(code_that_was_freed_has_no_name, setup),
        cmocka_unit_test_setup(a_name_falls_back_to_the_short_one, setup),
        cmocka_unit_test_setup(huge_counts_are_cut, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
