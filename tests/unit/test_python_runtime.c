/* Layouts are those of known versions, and a thread's state is found by its ids, in lists that may be
 * hostile. */
#include "lib/unit.h"

#include "interp/python_runtime.h"
#include "lib/fake_python.h"

#include <string.h>

enum {
    VERSION_3_12 = 0x030c01f0,
    VERSION_3_13 = 0x030d00f0,
    CODE_TYPE = 0x5000,
    STATES = 4,
    FIRST_TID = 100,
    FIRST_C_ID = 0x9000
};

static struct fake_python python;
static uint64_t runtime, interpreter, states[STATES];

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
    const struct sig_interp_thread whose = {.native_id = native_id, .thread_id = c_id};
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

/* The table of 3.13.0, as far as it is used. */
static void fill_table(uint64_t table[PYTHON_OFFSETS_WORDS])
{
    static const struct {
        uint8_t at;
        uint16_t offset;
    } entries[] = {{5, 632}, {8, 7264}, {9, 7344}, {21, 8},  {23, 72},  {24, 152}, {25, 160}, {26, 232},
                   {29, 8},  {31, 56},  {32, 72},  {33, 70}, {35, 112}, {36, 120}, {37, 128}, {38, 136},
                   {39, 68}, {43, 200}, {66, 32},  {68, 32}, {69, 16},  {70, 40}};
    memset(table, 0, PYTHON_OFFSETS_WORDS * sizeof *table);
    memcpy(table, "xdebugpy", sizeof *table);
    table[1] = VERSION_3_13;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        table[entries[i].at] = entries[i].offset;
}

static void only_known_versions_have_a_layout(void **state)
{
    struct python_layout layout;
    for (uint32_t minor = 0; minor < 20; minor++)
        assert_int_equal(python_layout_of(3U << 24 | minor << 16, CODE_TYPE, &layout),
                         minor >= 8 && minor <= 12);
    assert_false(python_layout_of(0x020712f0, CODE_TYPE, &layout));
    assert_false(python_layout_of(0x040c0000, CODE_TYPE, &layout));
}

static void the_table_of_3_13_is_read(void **state)
{
    uint64_t table[PYTHON_OFFSETS_WORDS];
    struct python_layout layout;
    fill_table(table);
    assert_true(python_layout_read(VERSION_3_13, CODE_TYPE, table, &layout));
    assert_int_equal(layout.frames.state.frame, 72);
    assert_false(layout.frames.state.is_frame_in_record);
    assert_int_equal(layout.frames.code.instructions, 200);
    assert_int_equal(layout.threads_head, 7344);
    assert_int_equal(layout.frames.code_type, CODE_TYPE);
}

static void a_table_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        uint8_t at;
        uint64_t value;
    } wrong[] = {{0, 1},    {1, VERSION_3_12}, {2, 1},    {21, 1 << 16}, {25, 400}, {29, 12},
                 {31, 100}, {33, 72},          {35, 113}, {38, 4096},    {39, 66},  {26, 6}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t table[PYTHON_OFFSETS_WORDS];
        struct python_layout layout;
        fill_table(table);
        table[wrong[i].at] = wrong[i].value;
        assert_false(python_layout_read(VERSION_3_13, CODE_TYPE, table, &layout));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_state_is_found_by_the_kernels_id, setup),
        cmocka_unit_test_setup(the_c_librarys_id_decides_where_the_kernels_is_not_known, setup),
        cmocka_unit_test_setup(other_interpreters_have_threads_too, setup),
        cmocka_unit_test_setup(lists_in_circles_end, setup),
        cmocka_unit_test_setup(wild_pointers_find_nothing, setup),
        cmocka_unit_test(only_known_versions_have_a_layout),
        cmocka_unit_test(the_table_of_3_13_is_read),
        cmocka_unit_test(a_table_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
