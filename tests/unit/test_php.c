/* The frames of PHP are read from memory as they are there, with names and lines; hostile memory costs frames
 * and names only. */
#include "lib/unit.h"

#include "interp/php_names.h"
#include "lib/fake_php.h"

#include <string.h>

static const char file[] = "/srv/shop/app.php";

static struct fake_php php;
static struct sig_interp_stack stack;
static struct interp_names names;

static int setup(void **state)
{
    fake_php_init(&php, FAKE_PHP_8_2);
    return 0;
}

static void walk(uint32_t expected)
{
    assert_true(fake_php_walk(&php, &stack, FAKE_PHP_FRAMES));
    assert_int_equal(stack.count, expected);
    assert_int_equal(stack.end, SIG_INTERP_WHOLE);
}

static uint64_t function_named(const char *name)
{
    return fake_php_function(&php, 0, name, file);
}

static bool name_frame(uint32_t i)
{
    return php_names_read(&php.layout, &php.block.memory, &stack.frames[i], &names);
}

static void assert_frame(uint32_t i, const char *function, uint32_t line)
{
    assert_true(name_frame(i));
    assert_string_equal(names.function, function);
    assert_int_equal(names.line, line);
}

/* ---- layouts ---- */

static void only_known_versions_have_a_layout(void **state)
{
    static const uint32_t interfaces[] = {20210902, 20220829, 20230831, 20240924};
    struct sig_php_layout layout;
    uint32_t version;
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(php_layout_of(interfaces[i], &layout, &version));
        assert_int_equal(version, 8U << 24 | (i + 1) << 16);
        assert_true(layout.function.bytes <= SIG_INTERP_STATE_WORDS * 8 && layout.function.bytes % 8 == 0);
        assert_true(layout.frame.bytes <= SIG_INTERP_FRAME_WORDS * 8 && layout.frame.bytes % 8 == 0);
    }
    assert_false(php_layout_of(20200930, &layout, &version));
    assert_false(php_layout_of(20250925, &layout, &version));
    assert_false(php_layout_of(0, &layout, &version));
}

/* ---- frames ---- */

static void frames_are_innermost_first(void **state)
{
    fake_php_call(&php, function_named(NULL), 0, true);
    fake_php_call(&php, function_named("outer"), 1, false);
    fake_php_call(&php, function_named("inner"), 2, false);
    walk(3);
    assert_int_equal(stack.frames[0].at, 2 * SIG_PHP_INSTRUCTION_BYTES);
    assert_false(stack.frames[0].is_entry || stack.frames[1].is_entry);
    assert_true(stack.frames[2].is_entry);
    assert_frame(0, "inner", FAKE_PHP_FIRST_LINE + 3);
    assert_string_equal(names.file, file);
    assert_int_equal(names.first_line, FAKE_PHP_FIRST_LINE);
    assert_frame(1, "outer", FAKE_PHP_FIRST_LINE + 2);
    assert_frame(2, "{main}", FAKE_PHP_FIRST_LINE + 1);
}

static void a_program_that_runs_no_script_has_none(void **state)
{
    assert_true(fake_php_walk(&php, &stack, FAKE_PHP_FRAMES));
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, SIG_INTERP_NONE);
}

static void functions_in_c_have_native_frames(void **state)
{
    fake_php_call(&php, function_named("f"), 0, true);
    fake_php_call(&php, fake_php_internal(&php, "sleep", 0x1230), 0,
                  true); /* called by one in C: marked too */
    walk(2);
    assert_true(stack.frames[0].is_native);
    assert_false(stack.frames[0].is_entry);
    assert_false(stack.frames[1].is_native);
    assert_frame(0, "sleep", 0);
    assert_string_equal(names.file, "");
    assert_int_equal(names.native_start, 0x1230);
    assert_frame(1, "f", FAKE_PHP_FIRST_LINE + 1);
    assert_int_equal(names.native_start, 0);
}

static void the_register_has_the_innermost_instruction(void **state)
{
    const uint64_t outer = function_named("outer"), inner = function_named("inner");
    fake_php_call(&php, outer, 1, true);
    fake_php_call(&php, inner, 1, false);
    php.instruction = fake_php_instruction(&php, inner, 5);
    walk(2);
    assert_int_equal(stack.frames[0].at, 5 * SIG_PHP_INSTRUCTION_BYTES);
    assert_int_equal(stack.frames[1].at, SIG_PHP_INSTRUCTION_BYTES);
    php.instruction = fake_php_instruction(&php, outer, 5); /* of another function */
    walk(2);
    assert_int_equal(stack.frames[0].at, SIG_PHP_INSTRUCTION_BYTES);
    php.instruction = fake_php_instruction(&php, inner, 5) + 8; /* no instruction */
    walk(2);
    assert_int_equal(stack.frames[0].at, SIG_PHP_INSTRUCTION_BYTES);
    php.instruction = fake_php_instruction(&php, inner, FAKE_PHP_LINES); /* after the last one */
    walk(2);
    assert_int_equal(stack.frames[0].at, SIG_PHP_INSTRUCTION_BYTES);
}

static void an_instruction_of_the_engines_is_none(void **state)
{
    const uint64_t frame = fake_php_call(&php, function_named("f"), 3, true);
    fake_set(&php.block, frame + php.layout.frame.instruction, php.record + 64);
    walk(1);
    assert_true(stack.frames[0].at < 0);
    assert_frame(0, "f", FAKE_PHP_FIRST_LINE);
}

static void generators_that_wait_stand_inside_of_who_asks(void **state)
{
    const uint64_t running = fake_php_generator(&php, function_named("running"), 0, 0);
    const uint64_t middle = fake_php_generator(&php, function_named("middle"), 1, running);
    const uint64_t outer = fake_php_generator(&php, function_named("outer"), 2, middle);
    fake_php_call(&php, function_named("asks"), 3, true);
    fake_php_delegate(&php, outer);
    fake_php_call(&php, function_named("running"), 0, true);
    walk(4);
    assert_frame(0, "running", FAKE_PHP_FIRST_LINE + 1);
    assert_frame(1, "middle", FAKE_PHP_FIRST_LINE + 2);
    assert_frame(2, "outer", FAKE_PHP_FIRST_LINE + 3);
    assert_frame(3, "asks", FAKE_PHP_FIRST_LINE + 4);
    assert_true(stack.frames[0].is_entry && stack.frames[3].is_entry);
    assert_false(stack.frames[1].is_entry || stack.frames[2].is_entry);
}

static void a_record_of_the_engines_own_is_no_frame(void **state)
{
    uint64_t object = fake_alloc(&php.block, 24); /* as large as a generator, with any words */
    fake_set(&php.block, object + php.layout.generator.object_class, fake_php_class(&php, "Shop"));
    fake_set(&php.block, object + php.layout.generator.parent, object);
    fake_php_call(&php, function_named("asks"), 3, true);
    fake_php_delegate(&php, object);
    fake_php_call(&php, function_named("magic"), 0, true);
    walk(2);
    assert_frame(1, "asks", FAKE_PHP_FIRST_LINE + 4);
}

static void generators_in_a_circle_end(void **state)
{
    const uint64_t first = fake_php_generator(&php, function_named("first"), 0, 0);
    const uint64_t second = fake_php_generator(&php, function_named("second"), 0, first);
    fake_set(&php.block, first + php.layout.generator.parent, second);
    fake_php_call(&php, function_named("asks"), 3, true);
    fake_php_delegate(&php, first);
    fake_php_call(&php, function_named("running"), 0, true);
    assert_true(fake_php_walk(&php, &stack, FAKE_PHP_FRAMES));
    assert_int_equal(stack.count, FAKE_PHP_FRAMES);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void a_fiber_begins_on_a_stack_of_its_own(void **state)
{
    fake_php_call(&php, function_named("starts"), 0, true);
    fake_php_call(&php, fake_php_internal(&php, NULL, 0), 0, false);
    fake_php_call(&php, function_named("in_fiber"), 0, true);
    walk(2);
    assert_true(stack.frames[0].is_switch && stack.frames[0].is_entry);
    assert_false(stack.frames[1].is_switch);
}

static void a_chain_in_a_circle_ends(void **state)
{
    const uint64_t frame = fake_php_call(&php, function_named("f"), 0, true);
    fake_set(&php.block, frame + php.layout.frame.previous, frame);
    assert_true(fake_php_walk(&php, &stack, 20));
    assert_int_equal(stack.count, 20);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
    fake_set(&php.block, frame + php.layout.frame.function, 0);
    assert_true(fake_php_walk(&php, &stack, 20));
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void wild_pointers_end_the_walk(void **state)
{
    static const uint64_t wild[] = {1, 8, 4096, 0x7fff00000003, 0x7fff00000008, UINT64_MAX, UINT64_MAX - 7};
    const uint64_t outer = fake_php_call(&php, function_named("f"), 0, true);
    const uint64_t inner = fake_php_call(&php, function_named("g"), 0, false);
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        fake_set(&php.block, inner + php.layout.frame.previous, wild[i]);
        assert_true(fake_php_walk(&php, &stack, FAKE_PHP_FRAMES));
        assert_int_equal(stack.count, 1);
        assert_int_equal(stack.end, SIG_INTERP_CUT);
        fake_set(&php.block, inner + php.layout.frame.previous, outer);
        const uint64_t function = *fake_at(&php.block, outer + php.layout.frame.function);
        fake_set(&php.block, outer + php.layout.frame.function, wild[i]);
        assert_true(fake_php_walk(&php, &stack, FAKE_PHP_FRAMES));
        assert_int_equal(stack.count, 1);
        fake_set(&php.block, outer + php.layout.frame.function, function);
    }
}

static void what_is_no_function_ends_the_walk(void **state)
{
    const uint64_t function = function_named("f");
    fake_php_call(&php, function, 0, true);
    *(uint8_t *)fake_at(&php.block, function) = 3;
    assert_true(fake_php_walk(&php, &stack, FAKE_PHP_FRAMES));
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void only_frames_that_have_called_hold_their_functions(void **state)
{
    fake_php_call(&php, function_named("outer"), 0, true);
    fake_php_call(&php, function_named("inner"), 0, false);
    php.block.refuses_held = true;
    assert_true(fake_php_walk(&php, &stack, FAKE_PHP_FRAMES));
    assert_int_equal(stack.count, 1);
}

/* ---- names ---- */

static void methods_have_their_class(void **state)
{
    fake_php_call(&php, fake_php_function(&php, fake_php_class(&php, "App\\Shop"), "fetch", file), 0, true);
    walk(1);
    assert_frame(0, "App\\Shop::fetch", FAKE_PHP_FIRST_LINE + 1);
}

static void names_are_text(void **state)
{
    fake_php_call(&php, function_named("a\nb\xff"), 0, true);
    walk(1);
    assert_true(name_frame(0));
    assert_string_equal(names.function, "a?b?");
}

static void evaluated_text_says_so(void **state)
{
    const uint64_t function = function_named(NULL);
    *(uint8_t *)fake_at(&php.block, function) = SIG_PHP_EVAL;
    fake_php_call(&php, function, 0, true);
    walk(1);
    assert_frame(0, "{eval}", FAKE_PHP_FIRST_LINE + 1);
}

/* The next request's functions come to lie where those of the last one were, with the same pointers. */
static void other_names_at_the_same_address_rename_nothing(void **state)
{
    const uint16_t fields[] = {php.layout.function.filename, php.layout.function.name};
    const uint64_t function = function_named("fetch");
    fake_php_call(&php, function, 0, true);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const uint64_t string = *fake_at(&php.block, function + fields[i]);
        char *bytes = (char *)fake_at(&php.block, string + SIG_PHP_STRING_BYTES);
        const size_t length = strlen(bytes);
        walk(1);
        for (size_t at = 0; at < length; at++) {
            bytes[at]++;
            assert_false(name_frame(0));
            bytes[at]--;
            assert_true(name_frame(0));
        }
        bytes[length]++; /* after its end: anything */
        assert_true(name_frame(0));
        fake_set(&php.block, string + SIG_PHP_STRING_HASH, 77); /* known from now on: another check */
        assert_false(name_frame(0));
    }
}

static void names_that_cannot_be_read_are_none(void **state)
{
    const uint64_t function = function_named("f");
    fake_php_call(&php, function, 0, true);
    walk(1);
    fake_set(&php.block, function + php.layout.function.filename, 8);
    walk(1);
    assert_true(name_frame(0));
    assert_string_equal(names.file, "");
    fake_set(&php.block, function + php.layout.function.name, UINT64_MAX - 7);
    walk(1);
    assert_false(name_frame(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_known_versions_have_a_layout),
        cmocka_unit_test_setup(frames_are_innermost_first, setup),
        cmocka_unit_test_setup(a_program_that_runs_no_script_has_none, setup),
        cmocka_unit_test_setup(functions_in_c_have_native_frames, setup),
        cmocka_unit_test_setup(the_register_has_the_innermost_instruction, setup),
        cmocka_unit_test_setup(an_instruction_of_the_engines_is_none, setup),
        cmocka_unit_test_setup(generators_that_wait_stand_inside_of_who_asks, setup),
        cmocka_unit_test_setup(a_record_of_the_engines_own_is_no_frame, setup),
        cmocka_unit_test_setup(generators_in_a_circle_end, setup),
        cmocka_unit_test_setup(a_fiber_begins_on_a_stack_of_its_own, setup),
        cmocka_unit_test_setup(a_chain_in_a_circle_ends, setup),
        cmocka_unit_test_setup(wild_pointers_end_the_walk, setup),
        cmocka_unit_test_setup(what_is_no_function_ends_the_walk, setup),
        cmocka_unit_test_setup(only_frames_that_have_called_hold_their_functions, setup),
        cmocka_unit_test_setup(methods_have_their_class, setup),
        cmocka_unit_test_setup(names_are_text, setup),
        cmocka_unit_test_setup(evaluated_text_says_so, setup),
        cmocka_unit_test_setup(other_names_at_the_same_address_rename_nothing, setup),
        cmocka_unit_test_setup(names_that_cannot_be_read_are_none, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
