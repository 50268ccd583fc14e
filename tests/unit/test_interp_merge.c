/* Native frames and an interpreter's frames become one stack, and nothing is lost where they do not agree. */
#include "lib/unit.h"

#include "interp/interp_merge.h"

#include <string.h>

enum { CAPACITY = 64 };

/* A stack as text, innermost first: E is the function that runs frames, M leads to it, G is generated code, C
 * is of a native function that is a frame too, W switches native stacks, others are native. A frame "-" is an
 * entry without code. Frames are small letters, and a capital one is an entry. The result has frames in small
 * letters. x and y are native functions with native frames, z is one whose native frame was not found. S is
 * an entry whose callers are on another stack. */
static const char *merge_as(const char *native, const char *frames, enum interp_mode mode, bool is_truncated,
                            bool is_cut, bool *ret_is_mismatch)
{
    static char text[CAPACITY + 1];
    arena_ref path[CAPACITY], locations[CAPACITY], merged[CAPACITY];
    uint8_t roles[CAPACITY];
    uint8_t marks[CAPACITY];
    struct interp_stacks stacks = {.mode = mode,
                                   .path = path,
                                   .roles = roles,
                                   .depth = strlen(native),
                                   .is_truncated = is_truncated,
                                   .frames = locations,
                                   .marks = marks,
                                   .frame_count = strlen(frames),
                                   .is_cut = is_cut};
    for (size_t i = 0; i < stacks.depth; i++) {
        path[i] = (arena_ref)native[i];
        roles[i] = native[i] == 'E'   ? INTERP_EVAL
                   : native[i] == 'M' ? INTERP_MACHINERY
                   : native[i] == 'G' ? INTERP_GENERATED
                   : native[i] == 'C' ? INTERP_CALLED
                   : native[i] == 'W' ? INTERP_SWITCHER
                                      : INTERP_NATIVE;
    }
    for (size_t i = 0; i < stacks.frame_count; i++) {
        marks[i] = frames[i] == 'S'   ? INTERP_ENTRY | INTERP_SWITCH
                   : frames[i] < 'a'  ? INTERP_ENTRY
                   : frames[i] == 'z' ? INTERP_UNCALLED
                   : frames[i] >= 'x' ? INTERP_UNCALLED | INTERP_OWN
                                      : 0;
        locations[i] = frames[i] == '-' ? INTERP_NO_FRAME : (arena_ref)frames[i] | 0x20;
    }
    size_t count = interp_merge(&stacks, merged, CAPACITY, ret_is_mismatch);
    for (size_t i = 0; i < count; i++)
        text[i] = (char)merged[i];
    text[count] = '\0';
    return text;
}

static const char *merge(const char *native, const char *frames)
{
    bool is_mismatch;
    const char *text = merge_as(native, frames, INTERP_MERGED, false, false, &is_mismatch);
    assert_false(is_mismatch);
    return text;
}

static void a_call_is_replaced_by_its_frames(void **state)
{
    assert_string_equal(merge("1E9", "abC"), "1abc9");
    assert_string_equal(merge("12E3E9", "aBcD"), "12ab3cd9");
}

static void machinery_is_folded_away(void **state)
{
    assert_string_equal(merge("1ME4ME9", "AB"), "1a4b9");
}

static void trampolines_are_folded_away(void **state)
{
    assert_string_equal(merge("1EGEG9", "AB"), "1ab9");
    assert_string_equal(merge("G1E2G9", "A"), "G1a2G9"); /* other generated code is not */
}

static void all_keeps_every_native_frame(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge_as("1ME4ME9", "AB", INTERP_ALL, false, false, &is_mismatch), "1MaE4MbE9");
}

static void native_functions_stand_in_place_of_their_frames(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge("1CE9", "xA"), "1xa9");
    assert_string_equal(merge("1CE2MCE9", "xaByC"), "1xab2yc9");
    assert_string_equal(merge("C2C3E9", "xyA"), "x2y3a9"); /* one calls the other */
    assert_string_equal(merge("1E9", "zA"), "1za9");
    assert_string_equal(merge("1CE9", "zxA"), "1zxa9");
    assert_string_equal(merge_as("1CE9", "xA", INTERP_ALL, false, false, &is_mismatch), "1xCaE9");
}

/* At the end of a program PHP calls a function in C, and no script. */
static void native_functions_alone_are_no_mismatch(void **state)
{
    assert_string_equal(merge("1C9", "x"), "1x9");
    assert_string_equal(merge("19", "z"), "19z");
    assert_string_equal(merge("1CE2C9", "xAy"), "1xa2y9");
}

static void frames_on_another_stack_are_no_mismatch(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge("1E9", "aSzbC"), "1as9zbc");
    assert_string_equal(merge_as("1E9", "aSBC", INTERP_MERGED, false, false, &is_mismatch), "1as9bc");
    assert_false(is_mismatch);
    assert_string_equal(merge_as("19", "aSBC", INTERP_MERGED, false, false, &is_mismatch), "19asbc");
    assert_true(is_mismatch);
}

static void a_call_that_has_just_begun_stays(void **state)
{
    assert_string_equal(merge("E1E9", "aB"), "E1ab9");
}

static void a_call_without_a_frame_stays(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge("1E2E3E9", "A-B"), "1a2E3b9");
    assert_string_equal(merge("1E9", "-"), "1E9");
    assert_string_equal(merge_as("1E2E9", "-A", INTERP_ALL, false, false, &is_mismatch), "1E2aE9");
}

static void more_calls_than_frames_are_a_mismatch(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge_as("E1E2E9", "A", INTERP_MERGED, false, false, &is_mismatch), "E1E2a9");
    assert_true(is_mismatch);
}

static void more_frames_than_calls_are_kept(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge_as("1E9", "ABc", INTERP_MERGED, false, false, &is_mismatch), "1abc9");
    assert_true(is_mismatch);
    assert_string_equal(merge_as("19", "A", INTERP_MERGED, false, false, &is_mismatch), "19a");
    assert_true(is_mismatch);
}

static void a_truncated_native_stack_goes_on_with_frames(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge_as("1E2T", "ABC", INTERP_MERGED, true, false, &is_mismatch), "1a2bcT");
    assert_false(is_mismatch);
}

static void frames_that_were_cut_belong_to_the_inner_calls(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge_as("1E2E9", "ab", INTERP_MERGED, false, true, &is_mismatch), "1ab2E9");
    assert_false(is_mismatch);
}

/* The outer calls are of another native stack, whose frames are not there. */
static void calls_of_another_native_stack_have_no_frames(void **state)
{
    bool is_mismatch;
    assert_string_equal(merge_as("1E2E3W4E9", "AB", INTERP_MERGED, false, false, &is_mismatch), "1a2b3W4E9");
    assert_false(is_mismatch);
    assert_string_equal(merge_as("1EWEWE9", "A", INTERP_MERGED, false, false, &is_mismatch), "1aWEWE9");
    assert_false(is_mismatch);
    assert_string_equal(merge_as("E1EW4E9", "A", INTERP_MERGED, false, false, &is_mismatch), "E1aW4E9");
    assert_false(is_mismatch);
    assert_string_equal(merge_as("W4E9", "A", INTERP_MERGED, false, false, &is_mismatch), "W4a9");
    assert_false(is_mismatch); /* it is about to switch */
    assert_string_equal(merge_as("EW4E9", "AB", INTERP_MERGED, false, false, &is_mismatch), "aW4b9");
    assert_false(is_mismatch); /* the library calls back */
}

static void the_result_is_bounded(void **state)
{
    bool is_mismatch;
    arena_ref path[] = {1, 2}, frames[] = {3, 4}, merged[3] = {0, 0, 77};
    const uint8_t roles[] = {INTERP_NATIVE, INTERP_EVAL};
    const uint8_t marks[] = {0, INTERP_ENTRY};
    const struct interp_stacks stacks = {.mode = INTERP_MERGED,
                                         .path = path,
                                         .roles = roles,
                                         .depth = 2,
                                         .frames = frames,
                                         .marks = marks,
                                         .frame_count = 2};
    assert_int_equal(interp_merge(&stacks, merged, 2, &is_mismatch), 2);
    assert_int_equal(merged[2], 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_replaced_by_its_frames),
        cmocka_unit_test(machinery_is_folded_away),
        cmocka_unit_test(trampolines_are_folded_away),
        cmocka_unit_test(all_keeps_every_native_frame),
        cmocka_unit_test(native_functions_stand_in_place_of_their_frames),
        cmocka_unit_test(native_functions_alone_are_no_mismatch),
        cmocka_unit_test(frames_on_another_stack_are_no_mismatch),
        cmocka_unit_test(a_call_that_has_just_begun_stays),
        cmocka_unit_test(a_call_without_a_frame_stays),
        cmocka_unit_test(more_calls_than_frames_are_a_mismatch),
        cmocka_unit_test(more_frames_than_calls_are_kept),
        cmocka_unit_test(a_truncated_native_stack_goes_on_with_frames),
        cmocka_unit_test(frames_that_were_cut_belong_to_the_inner_calls),
        cmocka_unit_test(calls_of_another_native_stack_have_no_frames),
        cmocka_unit_test(the_result_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
