/* Layouts are those of known versions, and a thread's state is found by its ids, in lists that may be
 * hostile. */
#include "lib/unit.h"

#include "interp/python_runtime.h"
#include "lib/fake_python.h"

#include <string.h>

enum { VERSION_3_12 = 0x030c01f0, CODE_TYPE = 0x5000, STATES = 4, FIRST_TID = 100, FIRST_C_ID = 0x9000 };

static struct fake_python python;
static uint64_t runtime, interpreter, states[STATES];
static struct sig_interp_thread whose;

static void set_word(uint64_t address, uint64_t value)
{
    *fake_at(&python.block, address) = value;
}

/* One interpreter with a list of threads, the newest first. */
static int setup(void **state)
{
    fake_python_init(&python, VERSION_3_12);
    runtime = fake_alloc(&python.block, 64);
    interpreter = fake_alloc(&python.block, 64);
    set_word(runtime + python.layout.interpreters_head, interpreter);
    for (int i = 0; i < STATES; i++) {
        const struct sig_python_layout *frames = &python.layout.frames;
        states[i] = fake_alloc(&python.block, SIG_INTERP_STATE_WORDS);
        set_word(states[i] + frames->state.native_thread_id, FIRST_TID + (uint64_t)i);
        set_word(states[i] + frames->state.thread_id, FIRST_C_ID + (uint64_t)i);
        set_word(states[i] + python.layout.thread_next, i > 0 ? states[i - 1] : 0);
    }
    set_word(interpreter + python.layout.threads_head, states[STATES - 1]);
    return 0;
}

static uint64_t find(uint64_t native_id, uint64_t c_id)
{
    whose = (struct sig_interp_thread){.native_id = native_id, .thread_id = c_id};
    return python_runtime_find_state(&python.layout, runtime, &python.block.memory, &whose);
}

static void a_state_is_found_by_the_kernels_id(void **state)
{
    for (int i = 0; i < STATES; i++)
        assert_int_equal(find(FIRST_TID + (uint64_t)i, 0), states[i]);
    assert_int_equal(find(7, 0), 0);
}

static void the_c_librarys_id_decides_where_the_kernels_is_not_known(void **state)
{
    assert_int_equal(find(7, FIRST_C_ID + 1), states[1]);
    assert_int_equal(find(FIRST_TID + 2, FIRST_C_ID + 1), states[2]);
}

static void other_interpreters_have_threads_too(void **state)
{
    uint64_t first = fake_alloc(&python.block, 64);
    set_word(first + python.layout.interpreter_next, interpreter);
    set_word(runtime + python.layout.interpreters_head, first);
    assert_int_equal(find(FIRST_TID, 0), states[0]);
}

static void a_thread_may_have_a_state_in_each_interpreter(void **state)
{
    const struct sig_python_layout *frames = &python.layout.frames;
    const uint64_t first = fake_alloc(&python.block, 64), newest = fake_alloc(&python.block, 64);
    uint64_t other[2];
    for (int i = 0; i < 2; i++) {
        other[i] = fake_alloc(&python.block, SIG_INTERP_STATE_WORDS);
        set_word(other[i] + frames->state.native_thread_id, FIRST_TID + 1);
    }
    set_word(first + python.layout.threads_head, other[0]);
    set_word(newest + python.layout.threads_head, other[1]);
    set_word(newest + python.layout.interpreter_next, first);
    set_word(first + python.layout.interpreter_next, interpreter);
    set_word(runtime + python.layout.interpreters_head, newest);
    assert_int_equal(find(FIRST_TID + 1, 0), other[1]);
    assert_int_equal(whose.others[0], other[0]);
    assert_int_equal(whose.others[1], states[1]);
    assert_int_equal(whose.others[2], 0);
    assert_int_equal(find(FIRST_TID, 0), states[0]);
    assert_int_equal(whose.others[0], 0);
}

static void the_main_interpreter_alone_is_not_several(void **state)
{
    const uint64_t main_at = runtime + python.layout.interpreters_head + 8;
    set_word(main_at, interpreter);
    assert_false(python_runtime_are_several(&python.layout, runtime, &python.block.memory));
    set_word(runtime + python.layout.interpreters_head, fake_alloc(&python.block, 64));
    assert_true(python_runtime_are_several(&python.layout, runtime, &python.block.memory));
    python.layout.frames.state.status = 0; /* as before 3.12 */
    assert_false(python_runtime_are_several(&python.layout, runtime, &python.block.memory));
}

static void lists_in_circles_end(void **state)
{
    set_word(states[0] + python.layout.thread_next, states[STATES - 1]);
    set_word(interpreter + python.layout.interpreter_next, interpreter);
    assert_int_equal(find(7, 0), 0);
}

static void wild_pointers_find_nothing(void **state)
{
    set_word(states[2] + python.layout.thread_next, 0x7fff00000001);
    assert_int_equal(find(FIRST_TID, 0), 0);
    assert_int_equal(find(FIRST_TID + 3, 0), states[3]);
    set_word(runtime + python.layout.interpreters_head, UINT64_MAX);
    assert_int_equal(find(FIRST_TID + 3, 0), 0);
}

/* ---- layouts ---- */

static void only_known_versions_have_a_layout(void **state)
{
    struct python_layout layout;
    for (uint32_t minor = 0; minor < 20; minor++)
        assert_int_equal(python_layout_of(3U << 24 | minor << 16, CODE_TYPE, &layout),
                         minor >= 8 && minor <= 12);
    assert_false(python_layout_of(0x020712f0, CODE_TYPE, &layout));
    assert_false(python_layout_of(0x040c0000, CODE_TYPE, &layout));
}

static void read_table(uint32_t version, bool is_free_threaded, struct python_layout *ret)
{
    uint64_t table[PYTHON_OFFSETS_WORDS];
    fake_python_table(version, is_free_threaded, table);
    assert_true(python_layout_read(version, CODE_TYPE, table, ret));
    assert_int_equal(ret->is_free_threaded, is_free_threaded);
    assert_false(ret->frames.state.is_frame_in_record);
    assert_int_equal(ret->frames.state.frame, 72);
    assert_int_equal(ret->threads_head, 7344);
    assert_int_equal(ret->frames.code_type, CODE_TYPE);
}

static void the_table_of_3_13_is_read(void **state)
{
    struct python_layout layout;
    read_table(FAKE_PYTHON_3_13, false, &layout);
    assert_int_equal(layout.frames.code.instructions, 200);
    assert_int_equal(layout.frames.code.flags, 48);
    assert_int_equal(layout.frames.code.version, 92);
    assert_int_equal(layout.frames.code.copies, 0);
    assert_int_equal(layout.frames.frame.mark, 70);
    assert_int_equal(layout.text.wide_bytes, 56);
}

static void the_table_of_3_14_is_read(void **state)
{
    struct python_layout layout;
    read_table(FAKE_PYTHON_3_14, false, &layout);
    assert_int_equal(layout.frames.code.instructions, 208);
    assert_int_equal(layout.frames.code.bytes, 144);
    assert_int_equal(layout.frames.frame.mark, 74);
    assert_int_equal(layout.frames.frame.bytes, 80);
    assert_int_equal(layout.interpreters_head, 808);
    assert_int_equal(layout.bytes_data, 32);
}

static void objects_without_the_gil_are_longer(void **state)
{
    struct python_layout layout;
    read_table(FAKE_PYTHON_3_14, true, &layout);
    assert_int_equal(layout.frames.code.type, 24);
    assert_int_equal(layout.frames.code.flags, 64);
    assert_int_equal(layout.frames.code.version, 108);
    assert_int_equal(layout.frames.code.copies, 224);
    assert_int_equal(layout.frames.frame.copy, 72);
    assert_int_equal(layout.text.wide_bytes, 72);
    assert_int_equal(layout.bytes_count, 32);
}

static void a_table_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        uint8_t at;
        uint64_t value;
    } wrong[] = {{0, 1},   {1, VERSION_3_12}, {2, 2},     {21, 1 << 16}, {25, 400}, {29, 12}, {31, 100},
                 {33, 72}, {35, 113},         {38, 4096}, {39, 66},      {40, 54},  {41, 3},  {26, 6}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t table[PYTHON_OFFSETS_WORDS];
        struct python_layout layout;
        fake_python_table(FAKE_PYTHON_3_13, false, table);
        table[wrong[i].at] = wrong[i].value;
        assert_false(python_layout_read(FAKE_PYTHON_3_13, CODE_TYPE, table, &layout));
    }
}

static void copies_outside_of_what_is_read_are_refused(void **state)
{
    static const struct {
        uint8_t at;
        uint64_t value;
    } wrong[] = {{38, 73}, {38, 80}, {49, 380}, {49, 225}, {49, 16}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t table[PYTHON_OFFSETS_WORDS];
        struct python_layout layout;
        fake_python_table(FAKE_PYTHON_3_14, true, table);
        table[wrong[i].at] = wrong[i].value;
        assert_false(python_layout_read(FAKE_PYTHON_3_14, CODE_TYPE, table, &layout));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_state_is_found_by_the_kernels_id, setup),
        cmocka_unit_test_setup(the_c_librarys_id_decides_where_the_kernels_is_not_known, setup),
        cmocka_unit_test_setup(other_interpreters_have_threads_too, setup),
        cmocka_unit_test_setup(a_thread_may_have_a_state_in_each_interpreter, setup),
        cmocka_unit_test_setup(the_main_interpreter_alone_is_not_several, setup),
        cmocka_unit_test_setup(lists_in_circles_end, setup),
        cmocka_unit_test_setup(wild_pointers_find_nothing, setup),
        cmocka_unit_test(only_known_versions_have_a_layout),
        cmocka_unit_test(the_table_of_3_13_is_read),
        cmocka_unit_test(the_table_of_3_14_is_read),
        cmocka_unit_test(objects_without_the_gil_are_longer),
        cmocka_unit_test(copies_outside_of_what_is_read_are_refused),
        cmocka_unit_test(a_table_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
