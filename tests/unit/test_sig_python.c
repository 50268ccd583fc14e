/* The frames of CPython are read from memory as they are there, and hostile memory costs frames only. */
#include "lib/unit.h"

#include "lib/fake_python.h"

#include <string.h>

enum { VERSION_3_10 = 0x030a0df0, VERSION_3_11 = 0x030b02f0, VERSION_3_12 = 0x030c01f0 };

static struct fake_python python;
static struct sig_interp_stack stack;

static int setup(void **state)
{
    fake_python_init(&python, VERSION_3_11);
    return 0;
}

static uint64_t code_named(const char *name)
{
    return fake_python_code(&python, name, 10, (const uint8_t *)"\x80\x00", 2);
}

static void frames_are_innermost_first(void **state)
{
    uint64_t outer = code_named("outer"), inner = code_named("inner");
    fake_python_call(&python, outer, 4, true);
    fake_python_call(&python, inner, 8, false);
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.end, SIG_INTERP_WHOLE);
    assert_int_equal(stack.count, 2);
    assert_int_equal(stack.frames[0].code, inner);
    assert_int_equal(stack.frames[0].at, 8);
    assert_false(stack.frames[0].is_entry);
    assert_int_equal(stack.frames[1].code, outer);
    assert_int_equal(stack.frames[1].at, 4);
    assert_true(stack.frames[1].is_entry);
}

static void each_frame_object_has_its_own_call(void **state)
{
    fake_python_init(&python, VERSION_3_10);
    *fake_at(&python.block, python.state + python.layout.frames.state.thread_id) = FAKE_PYTHON_THREAD_ID;
    fake_python_call(&python, code_named("outer"), 6, true);
    fake_python_call(&python, code_named("inner"), -2, true);
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 2);
    assert_true(stack.frames[0].is_entry && stack.frames[1].is_entry);
    assert_true(stack.frames[0].at < 0);
    assert_int_equal(stack.frames[1].at, 6);
}

static void a_shim_makes_the_frame_inside_it_an_entry(void **state)
{
    fake_python_init(&python, VERSION_3_12);
    fake_python_shim(&python);
    fake_python_call(&python, code_named("outer"), 0, false);
    fake_python_call(&python, code_named("middle"), 0, false);
    fake_python_shim(&python);
    fake_python_call(&python, code_named("inner"), 0, false);
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 3);
    assert_true(stack.frames[0].is_entry);
    assert_false(stack.frames[1].is_entry);
    assert_true(stack.frames[2].is_entry);
}

static void a_shim_without_a_frame_is_a_call_of_its_own(void **state)
{
    fake_python_init(&python, VERSION_3_12);
    fake_python_shim(&python);
    fake_python_call(&python, code_named("outer"), 0, false);
    fake_python_shim(&python);
    fake_python_shim(&python);
    fake_python_call(&python, code_named("inner"), 0, false);
    fake_python_shim(&python);
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 4);
    for (uint32_t i = 0; i < stack.count; i++) {
        assert_true(stack.frames[i].is_entry);
        assert_int_equal(stack.frames[i].code == 0, i % 2 == 0);
    }
}

/* 3.14: what a frame executes is a reference with a mark in its lowest bits. */
static void marks_of_references_are_ignored(void **state)
{
    fake_python_init(&python, FAKE_PYTHON_3_14);
    const uint64_t code = code_named("f");
    fake_python_shim(&python);
    const uint64_t frame = fake_python_call(&python, code, 6, false);
    *fake_at(&python.block, frame + python.layout.frames.frame.code) = code | 1;
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 1);
    assert_int_equal(stack.frames[0].code, code);
    assert_int_equal(stack.frames[0].at, 6);
    assert_true(stack.frames[0].is_entry);
}

static void a_copy_of_the_instructions_is_as_good(void **state)
{
    fake_python_init(&python, FAKE_PYTHON_FREE_THREADED);
    const uint64_t code = code_named("f");
    fake_python_call(&python, code, 4, false);
    fake_python_copy_code(&python, code, fake_python_call(&python, code, 4, false), 10);
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 2);
    assert_int_equal(stack.frames[0].at, 10);
    assert_int_equal(stack.frames[1].at, 4);
    const uint64_t copies = *fake_at(&python.block, code + python.layout.frames.code.copies);
    *fake_at(&python.block, copies) = 1; /* there is no such copy any more */
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_true(stack.frames[0].at < 0);
    assert_int_equal(stack.frames[1].at, 4);
}

/* The thread's first state is the one that it does not use now: its frames are the outer ones. */
static void frames_of_several_interpreters_follow_each_other(void **state)
{
    fake_python_init(&python, VERSION_3_12);
    const uint64_t outer = code_named("outer"), inner = code_named("inner");
    fake_python_shim(&python);
    fake_python_call(&python, outer, 4, false);
    fake_python_enter_other(&python);
    fake_python_shim(&python);
    fake_python_call(&python, inner, 8, false);
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 2);
    assert_int_equal(stack.end, SIG_INTERP_WHOLE);
    assert_int_equal(stack.frames[0].code, inner);
    assert_int_equal(stack.frames[1].code, outer);
    assert_true(stack.frames[0].is_entry && stack.frames[1].is_entry);
    fake_set_half(&python.block, python.state + python.layout.frames.state.status, 0); /* it has come back */
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.frames[0].code, outer);
}

static void another_interpreters_state_may_be_gone(void **state)
{
    fake_python_init(&python, VERSION_3_12);
    fake_python_shim(&python);
    fake_python_call(&python, code_named("outer"), 4, false);
    fake_python_enter_other(&python);
    fake_python_call(&python, code_named("inner"), 8, false);
    *fake_at(&python.block, python.state + python.layout.frames.state.native_thread_id) = 1;
    *fake_at(&python.block, python.state + python.layout.frames.state.thread_id) = 1;
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 1);
}

static void a_thread_without_frames_has_none(void **state)
{
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, SIG_INTERP_NONE);
}

static void another_threads_state_is_refused(void **state)
{
    fake_python_call(&python, code_named("f"), 0, true);
    *fake_at(&python.block, python.state + python.layout.frames.state.native_thread_id) = 1;
    assert_true(
        fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES)); /* by the C library's id, as after fork */
    *fake_at(&python.block, python.state + python.layout.frames.state.thread_id) = 1;
    assert_false(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 0);
}

static void recursion_reads_its_code_once(void **state)
{
    uint64_t code = code_named("f");
    for (int i = 0; i < 40; i++)
        fake_python_call(&python, code, 2, i == 0);
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 40);
    assert_true(python.block.reads <= 2 + 40 + 1);
}

static void a_cycle_ends_with_the_room(void **state)
{
    uint64_t first = fake_python_call(&python, code_named("f"), 0, true);
    uint64_t second = fake_python_call(&python, code_named("g"), 0, false);
    *fake_at(&python.block, first + python.layout.frames.frame.previous) = second;
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, FAKE_PYTHON_FRAMES);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void a_cycle_of_shims_ends(void **state)
{
    fake_python_init(&python, VERSION_3_12);
    uint64_t shim = fake_python_shim(&python);
    *fake_at(&python.block, shim + python.layout.frames.frame.previous) = shim;
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, FAKE_PYTHON_FRAMES);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void wild_pointers_end_the_walk(void **state)
{
    static const uint64_t wild[] = {1, 8, 4096, 0x7fff00000003, 0x7fff00000008, UINT64_MAX, UINT64_MAX - 7};
    uint64_t outer = fake_python_call(&python, code_named("f"), 0, true);
    fake_python_call(&python, code_named("g"), 0, false);
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        *fake_at(&python.block, python.frame + python.layout.frames.frame.previous) = wild[i];
        assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
        assert_int_equal(stack.count, 1);
        assert_int_equal(stack.end, SIG_INTERP_CUT);
        *fake_at(&python.block, python.frame + python.layout.frames.frame.previous) = outer;
        *fake_at(&python.block, outer + python.layout.frames.frame.code) = wild[i];
        assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
        assert_int_equal(stack.count, 1);
    }
}

static void an_object_that_is_no_code_ends_the_walk(void **state)
{
    uint64_t code = code_named("f");
    fake_python_call(&python, code, 0, true);
    *fake_at(&python.block, code + 8) = 0x6000;
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void an_instruction_outside_has_not_begun(void **state)
{
    fake_python_call(&python, code_named("f"), -2, true);
    fake_python_call(&python, code_named("f"), 1 << 29, false);
    assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
    assert_true(stack.frames[0].at < 0 && stack.frames[1].at < 0);
}

/* A number of the code object changes, and so does its check. */
static void assert_checked(uint16_t offset)
{
    uint64_t code = code_named("f");
    fake_python_call(&python, code, 0, true);
    fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES);
    uint64_t before = stack.frames[0].check;
    fake_set_half(&python.block, code + offset, 11);
    fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES);
    assert_true(before != 0 && before != stack.frames[0].check);
}

static void other_code_has_another_check(void **state)
{
    assert_checked(python.layout.frames.code.first_line);
}

static void code_of_another_number_has_another_check(void **state)
{
    fake_python_init(&python, VERSION_3_12);
    assert_checked(python.layout.frames.code.version);
}

/* Its chunk may go away while it is read, and the innermost frame may give its code back. */
static void only_code_of_outer_frames_is_held(void **state)
{
    static const uint32_t versions[] = {VERSION_3_11, VERSION_3_12};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        fake_python_init(&python, versions[i]);
        const struct sig_python_layout *layout = &python.layout.frames;
        const uint64_t outer = code_named("outer"), inner = code_named("inner");
        const uint64_t low = fake_python_call(&python, outer, 0, true);
        const uint64_t top = fake_python_call(&python, inner, 0, false) + layout->frame.bytes;
        *fake_at(&python.block, python.state + layout->state.chunk) = low;
        *fake_at(&python.block, python.state + layout->state.chunk_top) = top;
        python.block.refuses_held = true;
        assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
        assert_int_equal(stack.count, 1);
        assert_int_equal(stack.frames[0].code, inner);
        assert_int_equal(stack.end, SIG_INTERP_CUT);
        python.block.refuses_held = false;
        assert_true(fake_python_walk(&python, &stack, FAKE_PYTHON_FRAMES));
        assert_int_equal(stack.count, 2);
    }
}

static void frames_that_do_not_fit_are_cut(void **state)
{
    for (int i = 0; i < 10; i++)
        fake_python_call(&python, code_named("f"), 0, i == 0);
    assert_true(fake_python_walk(&python, &stack, 4));
    assert_int_equal(stack.count, 4);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(frames_are_innermost_first, setup),
        cmocka_unit_test_setup(each_frame_object_has_its_own_call, setup),
        cmocka_unit_test_setup(a_shim_makes_the_frame_inside_it_an_entry, setup),
        cmocka_unit_test_setup(a_shim_without_a_frame_is_a_call_of_its_own, setup),
        cmocka_unit_test_setup(marks_of_references_are_ignored, setup),
        cmocka_unit_test_setup(a_copy_of_the_instructions_is_as_good, setup),
        cmocka_unit_test_setup(frames_of_several_interpreters_follow_each_other, setup),
        cmocka_unit_test_setup(another_interpreters_state_may_be_gone, setup),
        cmocka_unit_test_setup(a_thread_without_frames_has_none, setup),
        cmocka_unit_test_setup(another_threads_state_is_refused, setup),
        cmocka_unit_test_setup(recursion_reads_its_code_once, setup),
        cmocka_unit_test_setup(a_cycle_ends_with_the_room, setup),
        cmocka_unit_test_setup(a_cycle_of_shims_ends, setup),
        cmocka_unit_test_setup(wild_pointers_end_the_walk, setup),
        cmocka_unit_test_setup(an_object_that_is_no_code_ends_the_walk, setup),
        cmocka_unit_test_setup(an_instruction_outside_has_not_begun, setup),
        cmocka_unit_test_setup(other_code_has_another_check, setup),
        cmocka_unit_test_setup(code_of_another_number_has_another_check, setup),
        cmocka_unit_test_setup(only_code_of_outer_frames_is_held, setup),
        cmocka_unit_test_setup(frames_that_do_not_fit_are_cut, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
