/* The frames of Perl are read from memory as they are there, with names and lines; hostile memory costs
 * frames and names only. */
#include "lib/unit.h"

#include "interp/interp_runtime.h"
#include "interp/perl_names.h"
#include "lib/fake_perl.h"

#include <string.h>
#include <unistd.h>

enum { CALLED_OFTEN = FAKE_PERL_SUB | FAKE_PERL_MULTICALL, TEXT = FAKE_PERL_EVALUATED | FAKE_PERL_IS_TEXT };

static const char file[] = "/srv/Shop.pm";

static struct fake_perl perl;
static struct sig_interp_stack stack;
static struct interp_names names;

static int setup(void **state)
{
    fake_perl_init(&perl, 36);
    return 0;
}

static void walk(uint32_t expected)
{
    assert_true(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
    assert_int_equal(stack.count, expected);
    assert_int_equal(stack.end, SIG_INTERP_WHOLE);
}

static uint64_t function_named(const char *name)
{
    return fake_perl_function(&perl, fake_perl_package(&perl, "Shop"), name, file, 20);
}

/* A function that goes on at the line. */
static uint64_t call(uint8_t type, const char *name, bool returns, uint32_t line)
{
    return fake_perl_call(&perl, type, function_named(name), returns, file, line);
}

static bool name_frame(uint32_t i)
{
    return perl_names_read(&perl.layout, &perl.block.memory, &stack.frames[i], &names);
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
    static const uint8_t known[] = {32, 34, 36, 38, 40}, unknown[] = {0, 30, 33, 37, 42, 255};
    struct sig_perl_layout layout;
    for (size_t i = 0; i < sizeof known; i++) {
        assert_true(perl_layout_of(known[i], &layout));
        assert_true(layout.bytes <= SIG_INTERP_FRAME_WORDS * 8 && layout.bytes % 8 == 0);
        assert_true(layout.stack < layout.bytes && layout.statement < layout.bytes);
    }
    for (size_t i = 0; i < sizeof unknown; i++)
        assert_false(perl_layout_of(unknown[i], &layout));
}

/* ---- frames ---- */

static void assert_two_calls(uint8_t minor)
{
    fake_perl_init(&perl, minor);
    call(FAKE_PERL_SUB, "outer", true, 21);
    fake_perl_call(&perl, FAKE_PERL_LOOP, 0, true, file, 22);
    call(FAKE_PERL_SUB, "inner", true, 23);
    walk(3);
    assert_frame(0, "Shop::inner", 23);
    assert_string_equal(names.file, file);
    assert_int_equal(names.first_line, 20);
    assert_frame(1, "Shop::outer", 22);
    assert_frame(2, "{main}", FAKE_PERL_LINE);
    assert_string_equal(names.file, "/srv/shop.pl");
    assert_int_equal(names.first_line, 1);
    assert_false(stack.frames[0].is_entry || stack.frames[1].is_entry || stack.frames[1].is_main);
    assert_true(stack.frames[2].is_entry && stack.frames[2].is_main);
}

static void frames_are_innermost_first(void **state)
{
    for (uint8_t minor = 32; minor <= 40; minor += 2)
        assert_two_calls(minor);
}

static void a_thread_without_an_interpreter_has_none(void **state)
{
    fake_set(&perl.block, perl.state, 0);
    assert_true(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, SIG_INTERP_NONE);
    perl.state = 8;
    assert_false(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
}

static void what_returns_nowhere_was_called_natively(void **state)
{
    call(FAKE_PERL_SUB, "calls", true, 21);
    fake_perl_stack(&perl);
    call(FAKE_PERL_SUB, "DESTROY", false, 22);
    call(FAKE_PERL_SUB, "inner", true, 23);
    walk(4);
    assert_false(stack.frames[0].is_entry);
    assert_true(stack.frames[1].is_entry);
    assert_false(stack.frames[2].is_entry);
    assert_frame(1, "Shop::DESTROY", 22);
}

static void blocks_that_are_called_natively_are_frames(void **state)
{
    call(FAKE_PERL_SUB, "sorts", true, 21);
    fake_perl_stack(&perl);
    fake_perl_call(&perl, FAKE_PERL_SORT_BLOCK, 0, true, file, 22);
    fake_perl_call(&perl, FAKE_PERL_SUB | FAKE_PERL_REGEX_BLOCK, function_named("f"), false, file, 23);
    fake_perl_call(&perl, FAKE_PERL_DEFER, 0, true, file, 24);
    walk(5);
    assert_frame(0, "{defer}", 24);
    assert_frame(1, "{regex}", 23);
    assert_frame(2, "{sort}", 22);
    assert_int_equal(names.first_line, 22);
    assert_frame(3, "Shop::sorts", 21);
    assert_true(stack.frames[0].is_entry && stack.frames[2].is_entry);
}

/* Its last instruction is the block's too. */
static void what_ends_a_block_is_no_entry(void **state)
{
    fake_perl_stack(&perl);
    fake_perl_call(&perl, FAKE_PERL_SORT_BLOCK, 0, true, file, 22);
    call(FAKE_PERL_SUB, "compares", false, 23);
    walk(3);
    assert_false(stack.frames[0].is_entry);
    assert_true(stack.frames[1].is_entry);
    fake_perl_stack(&perl); /* but what a block's value calls natively is one */
    call(FAKE_PERL_SUB, "FETCH", false, 24);
    walk(4);
    assert_true(stack.frames[0].is_entry);
    assert_false(stack.frames[1].is_entry);
}

static void evaluated_text_and_files_are_frames(void **state)
{
    fake_perl_call(&perl, FAKE_PERL_EVALUATED, perl.state, true, "/srv/Included.pm", 3);
    fake_perl_call(&perl, TEXT, 0, true, "(eval 7)", 2);
    fake_perl_call(&perl, FAKE_PERL_EVALUATED | FAKE_PERL_IS_BLOCK, 0, false, "(eval 7)", 4);
    walk(3);
    assert_frame(0, "{eval}", 4);
    assert_string_equal(names.file, "(eval 7)");
    assert_frame(1, "{main}", 3);
    assert_string_equal(names.file, "/srv/Included.pm");
    assert_false(stack.frames[0].is_entry || stack.frames[1].is_entry || stack.frames[1].is_main);
}

/* ---- calls that are not being run ---- */

static void a_call_that_begins_is_no_frame_yet(void **state)
{
    fake_perl_call(&perl, FAKE_PERL_SUB, function_named("DESTROY"), false, NULL, 0);
    fake_perl_run(&perl, 0, 0);
    walk(1);
    assert_frame(0, "{main}", FAKE_PERL_LINE);
    fake_perl_run(&perl, 0, perl.layout.entersub);
    walk(1);
    fake_perl_run(&perl, 0, perl.layout.nextstate);
    walk(2);
    fake_perl_run(&perl, 8, perl.layout.entersub); /* it calls another one */
    walk(2);
}

static void between_two_comparisons_there_is_no_frame(void **state)
{
    static const uint8_t types[] = {FAKE_PERL_SORT_BLOCK, CALLED_OFTEN};
    for (size_t i = 0; i < sizeof types; i++) {
        setup(state);
        fake_perl_stack(&perl);
        call(types[i], "compares", false, 22);
        walk(2);
        fake_perl_run(&perl, 8, perl.layout.sort);
        walk(1);
        assert_frame(0, "{main}", FAKE_PERL_LINE);
        fake_set(&perl.block, perl.interpreter + SIG_PERL_OP, 0);
        walk(1);
    }
}

static void between_two_blocks_of_a_pattern_there_is_no_frame(void **state)
{
    const uint8_t type = FAKE_PERL_SUB | FAKE_PERL_REGEX_BLOCK;
    fake_perl_stack(&perl);
    fake_perl_call(&perl, type, function_named("f"), false, NULL, 0);
    walk(1);
    fake_perl_call(&perl, FAKE_PERL_LOOP, 0, true, file, 22); /* it runs */
    walk(2);
}

/* ---- what is held ---- */

/* A thread's outermost statement is that of the thread that has made it. */
static void the_outermost_statement_is_not_held(void **state)
{
    call(FAKE_PERL_SUB, "runs", false, 21);
    perl.block.refuses_held = true;
    walk(2);
    call(FAKE_PERL_SUB, "inner", true, 22); /* its caller is held */
    assert_true(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
    assert_int_equal(stack.count, 1);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void what_comes_with_perl_is_no_program(void **state)
{
    assert_true(perl_language.is_library("/usr/share/perl/5.36/Thread/Queue.pm"));
    assert_true(perl_language.is_library("/usr/share/perl/5.36.0/Thread/Queue.pm"));
    assert_true(perl_language.is_library("/usr/lib/x86_64-linux-gnu/perl/5.36/threads.pm"));
    assert_true(perl_language.is_library("/usr/lib/x86_64-linux-gnu/perl-base/strict.pm"));
    assert_false(perl_language.is_library("/usr/share/perl5/Moose.pm"));
    assert_false(perl_language.is_library("/usr/local/share/perl/5.36.0/Shop.pm"));
    assert_false(perl_language.is_library("/usr/local/lib/x86_64-linux-gnu/perl/5.36.0/Shop.pm"));
    assert_false(perl_language.is_library("/srv/shop.pl"));
}

/* ---- hostile memory ---- */

static void stacks_in_a_circle_end(void **state)
{
    call(FAKE_PERL_SUB, "f", true, 21);
    fake_set(&perl.block, perl.stack + 16, perl.stack);
    assert_true(fake_perl_walk(&perl, &stack, 20));
    assert_int_equal(stack.count, 20);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
    fake_set_half(&perl.block, perl.stack + 32, UINT32_MAX); /* without a context */
    assert_true(fake_perl_walk(&perl, &stack, 20));
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void wild_numbers_of_contexts_end_the_walk(void **state)
{
    static const uint32_t wild[] = {FAKE_PERL_CONTEXTS + 1, INT32_MAX, 0x80000000, UINT32_MAX - 1};
    call(FAKE_PERL_SUB, "f", true, 21);
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        fake_set_half(&perl.block, perl.stack + 32, wild[i]);
        assert_true(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
        assert_int_equal(stack.count, 0);
        assert_int_equal(stack.end, SIG_INTERP_CUT);
    }
}

static void wild_pointers_end_the_walk(void **state)
{
    static const uint64_t wild[] = {1, 8, 4096, 0x7fff00000003, 0x7fff00000008, UINT64_MAX, UINT64_MAX - 7};
    const uint64_t outer = call(FAKE_PERL_SUB, "f", true, 21);
    call(FAKE_PERL_SUB, "g", true, 22);
    const uint64_t function = *fake_at(&perl.block, outer + 72), body = *fake_at(&perl.block, function);
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        fake_set(&perl.block, outer + 72, wild[i]);
        assert_true(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
        assert_int_equal(stack.count, 1);
        assert_int_equal(stack.end, SIG_INTERP_CUT);
        fake_set(&perl.block, outer + 72, function);
        fake_set(&perl.block, function, wild[i]);
        assert_true(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
        assert_int_equal(stack.count, 1);
        fake_set(&perl.block, function, body);
        fake_set(&perl.block, body + SIG_PERL_BODY_START, wild[i]); /* its statement lacks */
        walk(3);
    }
}

static void what_is_no_function_ends_the_walk(void **state)
{
    const uint64_t function = function_named("f");
    fake_perl_call(&perl, FAKE_PERL_SUB, function, true, file, 21);
    fake_set_half(&perl.block, function + SIG_PERL_CV_FLAGS, 12);
    assert_true(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
    assert_int_equal(stack.count, 0);
    assert_int_equal(stack.end, SIG_INTERP_CUT);
}

static void only_frames_that_have_called_hold_their_functions(void **state)
{
    call(FAKE_PERL_SUB, "outer", true, 21);
    call(FAKE_PERL_SUB, "inner", true, 22);
    perl.block.refuses_held = true;
    assert_true(fake_perl_walk(&perl, &stack, FAKE_PERL_FRAMES));
    assert_int_equal(stack.count, 1);
}

/* ---- names ---- */

static void names_are_text(void **state)
{
    call(FAKE_PERL_SUB, "a\nb\xff", true, 21);
    walk(2);
    assert_frame(0, "Shop::a?b?", 21);
}

static void a_package_that_is_gone_has_perls_name_for_it(void **state)
{
    fake_perl_call(&perl, FAKE_PERL_SUB,
                   fake_perl_function(&perl, fake_perl_package(&perl, NULL), "f", file, 20), true, file, 21);
    walk(2);
    assert_frame(0, "__ANON__::f", 21);
}

static void functions_of_a_block_have_no_package(void **state)
{
    const uint64_t function = function_named("f"), body = *fake_at(&perl.block, function),
                   glob = *fake_at(&perl.block, perl.glob);
    fake_set_half(&perl.block, body + SIG_PERL_BODY_FLAGS, 0x18000);
    fake_set(&perl.block, body + SIG_PERL_BODY_NAME, *fake_at(&perl.block, glob + 32));
    fake_perl_call(&perl, FAKE_PERL_SUB, function, true, file, 21);
    walk(2);
    assert_frame(0, "f", 21);
}

/* The next function comes to lie where the last one was, with the same pointers. */
static void another_function_at_the_same_address_renames_nothing(void **state)
{
    const uint64_t function = function_named("f"), body = *fake_at(&perl.block, function),
                   start = *fake_at(&perl.block, body + SIG_PERL_BODY_START);
    fake_perl_call(&perl, FAKE_PERL_SUB, function, true, file, 21);
    walk(2);
    assert_frame(0, "Shop::f", 21);
    fake_set_half(&perl.block, start + SIG_PERL_STATEMENT_NUMBER, 7777);
    assert_false(name_frame(0));
}

static void text_that_is_gone_says_what_it_was(void **state)
{
    fake_perl_call(&perl, TEXT, 0, true, "(eval 7)", 2);
    walk(2);
    fake_set_half(&perl.block, stack.frames[0].code + SIG_PERL_STATEMENT_NUMBER, 7777);
    assert_frame(0, "{eval}", 2);
    assert_string_equal(names.file, "");
    assert_frame(1, "{main}", FAKE_PERL_LINE);
}

static void begin_that_is_gone_says_what_it_was(void **state)
{
    const uint64_t function = function_named("BEGIN"), body = *fake_at(&perl.block, function);
    fake_set_half(&perl.block, function + SIG_PERL_CV_FLAGS, 0x1000000 | 13);
    fake_set_half(&perl.block, body + SIG_PERL_BODY_FLAGS, 0x100);
    fake_perl_call(&perl, FAKE_PERL_SUB, function, true, file, 21);
    walk(2);
    assert_frame(0, "Shop::BEGIN", 21);
    fake_set(&perl.block, function, 0);
    assert_frame(0, "BEGIN", 21);
    assert_string_equal(names.file, "");
}

/* The compiler has one statement, for all files and lines. */
static void what_is_compiled_is_known_by_its_file(void **state)
{
    const uint64_t compiled = perl.interpreter + 400,
                   name = *fake_at(&perl.block, fake_perl_statement(&perl, "/srv/a.pm", 1) + 48);
    fake_set(&perl.block, perl.interpreter + perl.layout.statement, compiled);
    fake_set_half(&perl.block, compiled + SIG_PERL_STATEMENT_LINE, 5);
    fake_set(&perl.block, compiled + SIG_PERL_STATEMENT_FILE, name);
    walk(1);
    fake_set_half(&perl.block, compiled + SIG_PERL_STATEMENT_LINE, 6); /* it goes on */
    assert_frame(0, "{main}", 5);
    assert_string_equal(names.file, "/srv/a.pm");
    ((char *)fake_at(&perl.block, name))[5] = 'b'; /* another file */
    assert_frame(0, "{main}", 5);
    assert_string_equal(names.file, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_known_versions_have_a_layout),
        cmocka_unit_test(frames_are_innermost_first),
        cmocka_unit_test_setup(a_thread_without_an_interpreter_has_none, setup),
        cmocka_unit_test_setup(what_returns_nowhere_was_called_natively, setup),
        cmocka_unit_test_setup(blocks_that_are_called_natively_are_frames, setup),
        cmocka_unit_test_setup(what_ends_a_block_is_no_entry, setup),
        cmocka_unit_test_setup(evaluated_text_and_files_are_frames, setup),
        cmocka_unit_test_setup(a_call_that_begins_is_no_frame_yet, setup),
        cmocka_unit_test(between_two_comparisons_there_is_no_frame),
        cmocka_unit_test_setup(between_two_blocks_of_a_pattern_there_is_no_frame, setup),
        cmocka_unit_test_setup(the_outermost_statement_is_not_held, setup),
        cmocka_unit_test(what_comes_with_perl_is_no_program),
        cmocka_unit_test_setup(stacks_in_a_circle_end, setup),
        cmocka_unit_test_setup(wild_numbers_of_contexts_end_the_walk, setup),
        cmocka_unit_test_setup(wild_pointers_end_the_walk, setup),
        cmocka_unit_test_setup(what_is_no_function_ends_the_walk, setup),
        cmocka_unit_test_setup(only_frames_that_have_called_hold_their_functions, setup),
        cmocka_unit_test_setup(names_are_text, setup),
        cmocka_unit_test_setup(a_package_that_is_gone_has_perls_name_for_it, setup),
        cmocka_unit_test_setup(functions_of_a_block_have_no_package, setup),
        cmocka_unit_test_setup(another_function_at_the_same_address_renames_nothing, setup),
        cmocka_unit_test_setup(text_that_is_gone_says_what_it_was, setup),
        cmocka_unit_test_setup(begin_that_is_gone_says_what_it_was, setup),
        cmocka_unit_test_setup(what_is_compiled_is_known_by_its_file, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
