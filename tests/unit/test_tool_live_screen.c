/* Screens of a process that runs, line by line, and what keys change of them. The numbers are those of
 * waiting_profile.h. */
#include "tool/live/live_screen.h"
#include "tool/io/text.h"

#include "lib/unit.h"
#include "lib/waiting_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

static const char functions_screen[] =
    "PID 7: ./shop --orders 7\n"
    "last 1.00 s of 2.00 s, functions by wall, recorded from outside\n"
    "now: running 250 ms | child 500 ms | lock 450 ms | file 200 ms | network 100 ms…\n"
    "all: running 500 ms | child 1.00 s | lock 900 ms | file 400 ms | network 200 ms…\n"
    "waiting: 23.3% mutex journal_mutex (held by writer-2 85.7%), 13.3% file /var/jo…\n\n"
    "    WALL     %     CPU OFF-CPU  IN ALL  WAITS FOR        FUNCTION\n"
    "  600 ms 40.0%       0  600 ms  1.20 s  lock, file       append\n"
    "  500 ms 33.3%       0  500 ms  1.00 s  child            main\n"
    "  250 ms 16.7%  250 ms       0  500 ms                   compute\n"
    "  100 ms  6.7%       0  100 ms  200 ms  network          fetch\n"
    " 50.0 ms  3.3%       0 50.0 ms  100 ms  lock             lookup\n\n\n\n\n\n\n\n\n\n\n\n"
    "q quit  h help  w/c/o sort  v view  / filter  space freeze  r reset  s save\n";

static const char threads_screen[] =
    "PID 7: ./shop --orders 7\n"
    "last 1.00 s of 2.00 s, threads by wall, recorded from outside\n"
    "now: running 250 ms | child 500 ms | lock 450 ms | file 200 ms | network 100 ms…\n"
    "all: running 500 ms | child 1.00 s | lock 900 ms | file 400 ms | network 200 ms…\n"
    "waiting: 23.3% mutex journal_mutex (held by writer-2 85.7%), 13.3% file /var/jo…\n\n"
    "    WALL     CPU OFF-CPU  THREAD             % MOSTLY IN\n"
    "  500 ms       0  500 ms  main (11)       100% main (child)\n"
    "  350 ms 50.0 ms  300 ms  writer-1 (12)  85.7% append (lock)\n"
    "  350 ms 50.0 ms  300 ms  writer-2 (13)  85.7% append (file)\n"
    "  300 ms  150 ms  150 ms  reader (14)    50.0% compute\n\n\n\n\n\n\n\n\n\n\n\n\n"
    "q quit  h help  w/c/o sort  v view  / filter  space freeze  r reset  s save\n";

static const char waits_screen[] =
    "PID 7: ./shop --orders 7\n"
    "last 2.00 s of 2.00 s, waits, recorded from outside\n"
    "now: running 500 ms | child 1.00 s | lock 900 ms | file 400 ms | network 200 ms…\n"
    "all: running 500 ms | child 1.00 s | lock 900 ms | file 400 ms | network 200 ms…\n"
    "waiting: 23.3% mutex journal_mutex (held by writer-2 85.7%), 13.3% file /var/jo…\n\n"
    "    TIME     %  WAITS FOR  ON                                  HELD BY\n"
    "  1.00 s 33.3%  child      thread writer-1\n"
    "  700 ms 23.3%  lock       mutex journal_mutex                 writer-2 85.7%\n"
    "  400 ms 13.3%  file       file /var/journal\n"
    "  200 ms  6.7%  lock       mutex table_lock                    reader 100%\n"
    "  150 ms  5.0%  network    tcp 10.0.0.7:5432\n"
    " 50.0 ms  1.7%  network    [not known]\n\n\n\n\n\n\n\n\n\n\n"
    "q quit  h help  w/c/o sort  v view  / filter  space freeze  r reset  s save\n";

static const char small_screen[] = "PID 7: ./shop --orders 7\n"
                                   "last 2.00 s of 2.00 s, functions by wal…\n"
                                   "now: running 500 ms | child 1.00 s | lo…\n"
                                   "all: running 500 ms | child 1.00 s | lo…\n"
                                   "waiting: 23.3% mutex journal_mutex (hel…\n\n"
                                   "    WALL     %  IN ALL  FUNCTION\n"
                                   "  1.20 s 40.0%  1.20 s  append\n"
                                   "  1.00 s 33.3%  1.00 s  main\n"
                                   "q quit  h help  w/c/o sort  v view  / f…\n";

static const char table_text[] =
    "PID 7: ./shop --orders 7\n"
    "last 2.00 s of 2.00 s, functions by wall, recorded from outside\n"
    "now: running 500 ms | child 1.00 s | lock 900 ms | file 400 ms | network 200 ms…\n"
    "all: running 500 ms | child 1.00 s | lock 900 ms | file 400 ms | network 200 ms…\n"
    "waiting: 23.3% mutex journal_mutex (held by writer-2 85.7%), 13.3% file /var/jo…\n\n"
    "    WALL     %     CPU OFF-CPU  IN ALL  WAITS FOR        FUNCTION\n"
    "  1.20 s 40.0%       0  1.20 s  1.20 s  lock, file       append\n"
    "  1.00 s 33.3%       0  1.00 s  1.00 s  child            main\n"
    "  800 ms 26.7%  in 9 more functions\n";

struct fixture {
    struct waiting_profile before, now;
    struct live_view view;
    struct live_screen screen;
    char *text;
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    waiting_profile_init(&fixture.before);
    waiting_profile_init(&fixture.now);
    fixture.before.fake.profile.duration_ns = 1000 * MS;
    fixture.now.fake.profile.duration_ns = 2000 * MS;
    fixture.now.fake.profile.command = "./shop --orders 7";
    fixture.screen = (struct live_screen){.now = &fixture.now.fake.profile,
                                          .view = &fixture.view,
                                          .title = "PID 7",
                                          .how = "recorded from outside",
                                          .lines = 20,
                                          .rows = 24,
                                          .columns = 80};
    text_init();
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    live_view_deinit(&fixture->view);
    fake_profile_deinit(&fixture->before.fake);
    fake_profile_deinit(&fixture->now.fake);
    free(fixture->text);
    return 0;
}

static const char *draw(struct fixture *fixture)
{
    size_t bytes;
    free(fixture->text);
    FILE *stream = open_memstream(&fixture->text, &bytes);
    assert_non_null(stream);
    assert_int_equal(live_screen_write(&fixture->screen, stream), 0);
    assert_int_equal(fclose(stream), 0);
    return fixture->text;
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

static enum live_act press(struct fixture *fixture, const char *keys)
{
    enum live_act act = LIVE_NOTHING;
    for (; *keys; keys++)
        act = live_view_key(&fixture->view, (unsigned char)*keys, "wallprof.7.pb.gz");
    return act;
}

/* The n-th line, from 1 on. */
static const char *line(struct fixture *fixture, int number)
{
    static char ret[256];
    const char *text = draw(fixture);
    while (--number > 0)
        text = strchr(text, '\n') + 1;
    snprintf(ret, sizeof ret, "%.*s", (int)strcspn(text, "\n"), text);
    return ret;
}

/* A half of all there is was there before. */
static void halve(struct fixture *fixture)
{
    const struct tree *tree = &fixture->before.fake.tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = root; node; node = tree_next(tree, root, node)) {
            struct values *self = &tree_node(tree, node)->self;
            *self = (struct values){self->samples / 2, self->cpu_ns / 2, self->rundelay_ns / 2,
                                    self->blocked_ns / 2};
        }
    }
    fixture->screen.before = &fixture->before.fake.profile;
}

/* ---- views ---- */

static void functions_have_the_interval_and_all(void **state)
{
    struct fixture *fixture = *state;
    halve(fixture);
    assert_string_equal(draw(fixture), functions_screen);
}

static void threads_have_what_they_were_mostly_in(void **state)
{
    struct fixture *fixture = *state;
    halve(fixture);
    press(fixture, "2");
    assert_string_equal(draw(fixture), threads_screen);
}

static void waits_have_who_held_what(void **state)
{
    struct fixture *fixture = *state;
    press(fixture, "3");
    assert_string_equal(draw(fixture), waits_screen);
}

static void a_small_screen_has_what_fits(void **state)
{
    struct fixture *fixture = *state;
    fixture->screen.rows = 10;
    fixture->screen.columns = 40;
    assert_string_equal(draw(fixture), small_screen);
}

static void a_table_has_no_keys_and_so_many_rows(void **state)
{
    struct fixture *fixture = *state;
    fixture->screen.rows = 0;
    fixture->screen.lines = 2;
    assert_string_equal(draw(fixture), table_text);
}

static void a_recording_that_is_stopped_is_said(void **state)
{
    struct fixture *fixture = *state;
    fixture->before.fake.profile.duration_ns = 2000 * MS;
    fixture->screen.before = &fixture->before.fake.profile;
    assert_string_equal(line(fixture, 2), "last 0 of 2.00 s, functions by wall, recorded from outside");
    assert_string_equal(line(fixture, 3),
                        "now: nothing is recorded; the process or its recording is stopped");
    fixture->screen.before = fixture->screen.now; /* it has just begun anew */
    assert_string_equal(line(fixture, 3), "now: running 0");
}

/* Whatever the view. */
static void no_screen_is_larger_than_the_terminal(void **state)
{
    struct fixture *fixture = *state;
    for (int rows = 6; rows < 30; rows++) {
        for (int columns = 20; columns < 130; columns += 11) {
            fixture->screen.rows = rows;
            fixture->screen.columns = columns;
            press(fixture, rows % 5 == 4 ? "h" : "v");
            assert_int_equal(count_lines(draw(fixture)), rows);
            for (int i = 1; i <= rows; i++)
                assert_true(text_width(line(fixture, i)) <= columns);
            press(fixture, rows % 5 == 4 ? " " : "m");
        }
    }
}

/* ---- keys ---- */

static void keys_sort(void **state)
{
    struct fixture *fixture = *state;
    press(fixture, "c");
    assert_string_equal(line(fixture, 2), "last 2.00 s of 2.00 s, functions by cpu, recorded from outside");
    assert_string_equal(line(fixture, 8), "  500 ms  100%  500 ms       0  500 ms                   compute");
    press(fixture, "o");
    assert_string_equal(line(fixture, 8), "  1.20 s 48.0%  1.20 s       0  1.20 s  lock, file       append");
    press(fixture, "2w");
    assert_string_equal(line(fixture, 8), "  1.00 s       0  1.00 s  main (11)       100% main (child)");
    press(fixture, "c");
    assert_string_equal(line(fixture, 8), "  600 ms  300 ms  300 ms  reader (14)    50.0% compute");
}

static void a_pattern_leaves_the_stacks_with_it(void **state)
{
    struct fixture *fixture = *state;
    press(fixture, "/look|x\x7f");
    assert_string_equal(line(fixture, 24), "only: look|_");
    press(fixture, "\x7f\r");
    assert_string_equal(line(fixture, 2),
                        "last 2.00 s of 2.00 s, functions by wall, only look, recorded from outside");
    assert_string_equal(line(fixture, 8), "  100 ms  100%       0  100 ms  100 ms  lock             lookup");
    assert_string_equal(line(fixture, 9), "");
    press(fixture, "/(\r");
    assert_string_equal(line(fixture, 24), "'look(': Unmatched ( or \\(");
    assert_string_equal(fixture->view.filter_text, "look");
    press(fixture, "/nobody\033");
    assert_string_equal(fixture->view.filter_text, "look");
    press(fixture, "/\x7f\x7f\x7f\x7f\r");
    assert_string_equal(fixture->view.filter_text, "");
    assert_null(fixture->view.request.focus);
}

static void a_frozen_screen_says_so(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(press(fixture, " "), LIVE_NOTHING);
    assert_string_equal(line(fixture, 2),
                        "FROZEN: last 2.00 s of 2.00 s, functions by wall, recorded from outside");
    assert_int_equal(press(fixture, " "), LIVE_THAW);
    assert_string_equal(line(fixture, 2), "last 2.00 s of 2.00 s, functions by wall, recorded from outside");
}

static void a_profile_goes_to_the_file_that_is_typed(void **state)
{
    struct fixture *fixture = *state;
    press(fixture, "s");
    assert_string_equal(line(fixture, 24), "write to: wallprof.7.pb.gz_");
    assert_int_equal(press(fixture, "\x7f\x7f\r"), LIVE_WRITE);
    assert_string_equal(fixture->view.typed, "wallprof.7.pb.");
    assert_int_equal(press(fixture, "s\033"), LIVE_NOTHING);
    assert_int_equal(fixture->view.prompt, LIVE_NO_PROMPT);
}

static void q_ends_but_not_in_a_line_that_is_typed(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(press(fixture, "q"), LIVE_QUIT);
    assert_int_equal(press(fixture, "/q"), LIVE_NOTHING);
    assert_string_equal(fixture->view.typed, "q");
    assert_int_equal(press(fixture, "\033q"), LIVE_QUIT);
    assert_int_equal(press(fixture, "r"), LIVE_RESET);
    assert_int_equal(press(fixture, "hq"), LIVE_QUIT);
}

static void help_ends_with_any_key_but_q(void **state)
{
    struct fixture *fixture = *state;
    press(fixture, "h");
    assert_string_equal(line(fixture, 1), "h, ?     this help");
    assert_int_equal(press(fixture, " "), LIVE_NOTHING);
    assert_string_equal(line(fixture, 1), "PID 7: ./shop --orders 7");
    assert_int_equal(press(fixture, "hq"), LIVE_QUIT);
}

static void a_screen_without_a_reading_says_so_and_has_help(void **state)
{
    struct fixture *fixture = *state;
    fixture->screen.now = NULL;
    assert_string_equal(line(fixture, 1), "PID 7");
    assert_string_equal(line(fixture, 2), "nothing is recorded yet");
    assert_string_equal(line(fixture, 24),
                        "q quit  h help  w/c/o sort  v view  / filter  space freeze  r reset  s save");
    press(fixture, "h");
    assert_string_equal(line(fixture, 1), "h, ?     this help");
}

static void waits_for_work_are_shown_on_demand(void **state)
{
    struct fixture *fixture = *state;
    press(fixture, "3i");
    assert_string_equal(line(fixture, 8), "  1.00 s 25.0%  idle       cond queue_cond");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(functions_have_the_interval_and_all),
        TEST(threads_have_what_they_were_mostly_in),
        TEST(waits_have_who_held_what),
        TEST(a_small_screen_has_what_fits),
        TEST(a_table_has_no_keys_and_so_many_rows),
        TEST(a_recording_that_is_stopped_is_said),
        TEST(no_screen_is_larger_than_the_terminal),
        TEST(keys_sort),
        TEST(a_pattern_leaves_the_stacks_with_it),
        TEST(a_frozen_screen_says_so),
        TEST(a_profile_goes_to_the_file_that_is_typed),
        TEST(q_ends_but_not_in_a_line_that_is_typed),
        TEST(help_ends_with_any_key_but_q),
        TEST(a_screen_without_a_reading_says_so_and_has_help),
        TEST(waits_for_work_are_shown_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
