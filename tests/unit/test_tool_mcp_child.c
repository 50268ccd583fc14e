/* What a child prints is kept in bounded memory, and it ends in time with all that it runs. */
#include "tool/mcp/mcp_child.h"

#include "lib/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_S = 600 };

static void assert_kept(const char *text, size_t most, bool keeps_end, const char *kept, size_t lost)
{
    struct mcp_text of;
    mcp_text_init(&of, most, keeps_end);
    for (; *text; text++) /* in the smallest pieces */
        mcp_text_add(&of, text, 1);
    mcp_text_finish(&of);
    assert_string_equal(of.bytes, kept);
    assert_int_equal(of.used, strlen(kept));
    assert_int_equal(of.lost, lost);
    mcp_text_deinit(&of);
}

static void the_beginning_is_kept_in_whole_lines(void **state)
{
    (void)state;
    assert_kept("one\ntwo\n", 8, false, "one\ntwo\n", 0);
    assert_kept("one\ntwo\nthree\n", 10, false, "one\ntwo\n", 6);
    assert_kept("abcdefgh", 4, false, "abcd", 4);
}

static void the_end_is_kept_in_whole_lines(void **state)
{
    (void)state;
    assert_kept("one\ntwo\n", 8, true, "one\ntwo\n", 0);
    assert_kept("one\ntwo\nthree\n", 9, true, "three\n", 8);
    assert_kept("abcdefgh", 4, true, "efgh", 4);
}

static void a_large_piece_is_kept_at_its_end(void **state)
{
    struct mcp_text text;
    (void)state;
    mcp_text_init(&text, 6, true);
    mcp_text_add(&text, "ab\n", 3);
    mcp_text_add(&text, "cdefghij\nkl\n", 12);
    mcp_text_finish(&text);
    assert_string_equal(text.bytes, "kl\n");
    assert_int_equal(text.lost, 12);
    mcp_text_deinit(&text);
}

static void what_is_no_text_becomes_text(void **state)
{
    struct mcp_text text;
    (void)state;
    mcp_text_init(&text, 100, false);
    mcp_text_add(&text, "a\0\xff\xc3\xa9", 5);
    mcp_text_finish(&text);
    assert_string_equal(text.bytes, "a??\xc3\xa9");
    mcp_text_deinit(&text);
}

/* ---- children ---- */

struct fixture {
    struct mcp_text out, err;
    struct mcp_watch watch;
    int status;
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.watch = {.fd = -1}};
    mcp_text_init(&fixture.out, 1000, false);
    mcp_text_init(&fixture.err, 1000, false);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    mcp_text_deinit(&fixture->out);
    mcp_text_deinit(&fixture->err);
    return 0;
}

static enum mcp_end run(struct fixture *fixture, struct mcp_child child, const char *script)
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    child.path = "/bin/sh";
    child.argv = argv;
    return mcp_child_run(&child, &fixture->watch, &fixture->out, &fixture->err, &fixture->status);
}

static void its_output_and_status_are_told_apart(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(
        run(fixture, (struct mcp_child){.limit_s = LONG_S}, "echo out; echo err >&2; cat; exit 3"),
        MCP_ENDED);
    assert_int_equal(WEXITSTATUS(fixture->status), 3);
    assert_string_equal(fixture->out.bytes, "out\n");
    assert_string_equal(fixture->err.bytes, "err\n");
}

static void more_than_a_pipe_holds_is_read(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(run(fixture, (struct mcp_child){.limit_s = LONG_S}, "head -c 1000000 /dev/zero"),
                     MCP_ENDED);
    assert_int_equal(fixture->status, 0);
    assert_int_equal(fixture->out.lost, 1000000 - 1000);
}

static void a_directory_that_is_not_there_is_said(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(run(fixture, (struct mcp_child){.limit_s = LONG_S, .directory = "/nonexistent"}, ":"),
                     MCP_ENDED);
    assert_int_equal(WEXITSTATUS(fixture->status), 127);
    assert_string_equal(fixture->err.bytes, "/nonexistent: No such file or directory\n");
}

/* What it has started keeps the pipe open. */
static void what_it_leaves_is_not_waited_for(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(run(fixture, (struct mcp_child){.limit_s = LONG_S}, "sleep 1000 & echo $!"), MCP_ENDED);
    pid_t left = atoi(fixture->out.bytes);
    assert_true(left > 0);
    assert_int_equal(kill(left, SIGKILL), 0);
}

/* A shell whose sleep was killed first must not end by itself. */
static void a_report_is_killed_with_all_that_it_runs(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(
        run(fixture, (struct mcp_child){.limit_s = 1}, "trap '' TERM; echo $$; while :; do sleep 1000; done"),
        MCP_LATE);
    assert_true(WIFSIGNALED(fixture->status));
    assert_int_equal(getsid(atoi(fixture->out.bytes)), -1);
}

/* The child is the shell, as `wallprof run` is: it goes on once the program has ended. */
static void a_program_is_told_to_end_and_its_run_goes_on(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(run(fixture, (struct mcp_child){.limit_s = 1, .is_run = true}, "sleep 1000; echo $?"),
                     MCP_LATE);
    assert_int_equal(fixture->status, 0);
    assert_string_equal(fixture->out.bytes, "143\n");
}

static bool stop(struct mcp_watch *watch)
{
    char byte;
    return read(watch->fd, &byte, 1) != 1;
}

static void the_watch_can_stop_it(void **state)
{
    struct fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    fixture->watch = (struct mcp_watch){.fd = ends[0], .goes_on = stop};
    assert_int_equal(run(fixture, (struct mcp_child){.limit_s = LONG_S}, "sleep 1000"), MCP_STOPPED);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_beginning_is_kept_in_whole_lines),
        cmocka_unit_test(the_end_is_kept_in_whole_lines),
        cmocka_unit_test(a_large_piece_is_kept_at_its_end),
        cmocka_unit_test(what_is_no_text_becomes_text),
        cmocka_unit_test_setup_teardown(its_output_and_status_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(more_than_a_pipe_holds_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_that_is_not_there_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(what_it_leaves_is_not_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_report_is_killed_with_all_that_it_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_program_is_told_to_end_and_its_run_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(the_watch_can_stop_it, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
