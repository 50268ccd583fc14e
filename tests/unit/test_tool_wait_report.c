/* What reports say of waits: rows by kind, thing and holder, the line at the top, and findings. Exact
 * numbers, of waiting_profile.h. */
#include "tool/report/finding.h"
#include "tool/report/hints.h"
#include "tool/report/report.h"
#include "tool/report/report_answer.h"
#include "tool/io/text.h"

#include "lib/unit.h"
#include "lib/waiting_profile.h"

#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)

struct fixture {
    struct waiting_profile waiting;
    struct report report;
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    waiting_profile_init(&fixture.waiting);
    fixture.report = (struct report){.row_count = 0};
    text_init();
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    report_free(&fixture->report);
    fake_profile_deinit(&fixture->waiting.fake);
    return 0;
}

static void make(struct fixture *fixture, const struct report_request *request)
{
    report_free(&fixture->report);
    assert_int_equal(report_make(&fixture->report, &fixture->waiting.fake.profile, request), 0);
    report_sort(&fixture->report, METRIC_WALL, false);
}

/* ---- rows ---- */

/* "NAME MS, ...", the largest first; all of it is what is shown. */
static void assert_rows(struct fixture *fixture, enum report_by by, const char *expected)
{
    char text[1024] = "";
    uint64_t sum_ns = 0;
    make(fixture, &(struct report_request){.by = by});
    for (size_t i = 0; i < fixture->report.row_count; i++) {
        const struct report_row *row = &fixture->report.rows[i];
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s %d", i ? ", " : "", row->name,
                 (int)(tree_wall_ns(&row->flat) / MS));
        sum_ns += tree_wall_ns(&row->flat);
        assert_int_equal(tree_wall_ns(&row->cum), tree_wall_ns(&row->flat));
    }
    assert_string_equal(text, expected);
    assert_int_equal(sum_ns, tree_wall_ns(&fixture->report.selected));
}

static void rows_can_be_of_waits(void **state)
{
    assert_rows(*state, REPORT_BY_WAIT, "child 1000, lock 900, running 500, file 400, network 200");
    assert_rows(*state, REPORT_BY_ON,
                "thread writer-1 1000, mutex journal_mutex 700, [running] 500, file /var/journal 400, "
                "mutex table_lock 200, tcp 10.0.0.7:5432 150, [network] 50");
    assert_rows(*state, REPORT_BY_HOLDER, "[no holder known] 1660, writer-2 600, [running] 500, reader 240");
}

static void waits_for_a_cpu_are_a_row_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->waiting.fake;
    arena_ref root = fake_profile_thread(fake, 30, "late"),
              node = waiting_profile_add(&fixture->waiting, root, WAITING_STACK("/run", "/append", "fsync"),
                                         "file /b", NULL, 10, 20);
    tree_node(&fake->tree, node)->self.rundelay_ns = 30 * MS;
    fake->profile.has_rundelay = true;
    assert_rows(fixture, REPORT_BY_WAIT, "child 1000, lock 900, running 510, file 420, network 200, cpu 30");
}

static void all_of_a_row_is_one_value(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, &(struct report_request){.by = REPORT_BY_WAIT});
    for (size_t i = 0; i < fixture->report.row_count; i++) {
        const struct report_row *row = &fixture->report.rows[i];
        const bool runs = strcmp(row->name, "running") == 0;
        assert_int_equal(row->flat.cpu_ns, runs ? 500 * MS : 0);
        assert_int_equal(row->flat.samples, tree_wall_ns(&row->flat) / 10 / MS);
    }
}

/* ---- things ---- */

static void a_thing_has_who_held_it_most(void **state)
{
    struct fixture *fixture = *state;
    struct wait_thing things[16];
    make(fixture, &(struct report_request){.by = REPORT_BY_FUNCTION});
    assert_int_equal(wait_sums_things(&fixture->report.wait_sums, things, 16), 7);
    const struct wait_thing *journal = &things[2]; /* after the idle wait and the join */
    assert_string_equal(journal->on, "mutex journal_mutex");
    assert_string_equal(journal->holder, "writer-2");
    assert_int_equal(journal->kind, WAIT_LOCK);
    assert_int_equal(journal->ns, 700 * MS);
    assert_int_equal(journal->holder_ns, 600 * MS);
    assert_int_equal(journal->held_ns, 640 * MS);
    assert_null(things[6].on); /* the network */
    assert_int_equal(things[6].ns, 50 * MS);
    assert_int_equal(wait_sums_things(&fixture->report.wait_sums, things, 3), 3);
    assert_string_equal(things[2].on, "mutex journal_mutex");
}

static void the_line_at_the_top_has_the_longest(void **state)
{
    struct fixture *fixture = *state;
    char text[ANSWER_TEXT_BYTES];
    make(fixture, &(struct report_request){.by = REPORT_BY_FUNCTION});
    assert_true(answer_waiting(&fixture->report, text));
    assert_string_equal(text, "waiting: 23.3% mutex journal_mutex (held by writer-2 85.7%), "
                              "13.3% file /var/journal, 6.7% mutex table_lock (held by reader 100%), "
                              "5.0% tcp 10.0.0.7:5432");
    make(fixture, &(struct report_request){.by = REPORT_BY_FUNCTION, .thread = "main"});
    assert_true(answer_waiting(&fixture->report, text)); /* it waits for others only */
    assert_string_equal(text, "waiting: 100% thread writer-1");
    make(fixture, &(struct report_request){.by = REPORT_BY_FUNCTION, .label = "on=tcp*"});
    assert_true(answer_waiting(&fixture->report, text));
    assert_string_equal(text, "waiting: 100% tcp 10.0.0.7:5432");
}

/* A shell's own time says little. */
static void who_waited_for_a_child_is_told_how_to_record_it(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = &fixture->waiting.fake.profile;
    char text[HINT_BYTES];
    make(fixture, &(struct report_request){.by = REPORT_BY_FUNCTION});
    assert_false(hints_of_children(&fixture->report, profile, text));
    const arena_ref root = fake_profile_thread(&fixture->waiting.fake, 9, "shell");
    waiting_profile_add(&fixture->waiting, root, WAITING_STACK("/run", "waitpid"), "child 7 sort", NULL, 0,
                        900);
    make(fixture, &(struct report_request){.by = REPORT_BY_FUNCTION, .thread = "shell"});
    assert_true(hints_of_children(&fixture->report, profile, text));
    assert_string_equal(text,
                        "It waited for child 7 sort. To record what that did too: wallprof run --merge.");
    profile->is_merged = true; /* it is recorded too */
    assert_false(hints_of_children(&fixture->report, profile, text));
}

static void a_long_name_loses_its_middle(void **state)
{
    char ret[ANSWER_THING_BYTES], name[200] = "file /srv/a";
    (void)state;
    assert_string_equal(answer_thing(name, ret), name);
    for (int i = 0; i < 30; i++)
        strcat(name, "\xc3\xa4");
    strcat(name, "/the-end");
    answer_thing(name, ret);
    assert_memory_equal(ret, "file /srv/a\xc3\xa4", 13);
    assert_non_null(strstr(ret, "\xc3\xa4...\xc3\xa4"));
    assert_string_equal(ret + strlen(ret) - 8, "/the-end");
}

static void a_finding_says_which_lock(void **state)
{
    struct fixture *fixture = *state;
    struct finding finding;
    struct wait_thing thing;
    char text[ANSWER_TEXT_BYTES];
    make(fixture, &(struct report_request){.by = REPORT_BY_FUNCTION});
    const struct report_row *row = &fixture->report.rows[0];
    assert_string_equal(row->name, "append");
    assert_int_equal(finding_look(&finding, &fixture->report, &fixture->waiting.fake.profile, row), 0);
    assert_true(finding_waits_for(&finding, &thing));
    assert_string_equal(thing.on, "mutex journal_mutex");
    assert_string_equal(thing.holder, "writer-2");
    assert_int_equal(thing.ns, 600 * MS);
    assert_int_equal(thing.holder_ns, 500 * MS);
    assert_true(answer_things(&finding.waits, 3000 * MS, "for:", text));
    assert_string_equal(text, "for: 20.0% mutex journal_mutex (held by writer-2 83.3%), 13.3% file "
                              "/var/journal, 6.7% mutex table_lock (held by reader 100%)");
    finding_free(&finding);
}

/* Things of known and of unknown names, and idle waits on what others wait for too. */
static void locks_are_not_called_by_the_events_that_tell_them(void **state)
{
    static const struct {
        enum wait_kind kind;
        const char *on;
        uint64_t ns;
    } waits[] = {{WAIT_LOCK, "epoll of 1 pipe, 1 signalfd", 50},
                 {WAIT_IDLE, "epoll of 1 pipe, 1 signalfd", 400},
                 {WAIT_LOCK, "unix", 10},
                 {WAIT_LOCK, "sem jobs", 30},
                 {WAIT_SOCKET, "unix", 20},
                 {WAIT_LOCK, "file /var/pipe", 5}};
    static const struct {
        enum wait_kind kind;
        const char *on;
        uint64_t ns;
    } wanted[] = {{WAIT_IDLE, "epoll of 1 pipe, 1 signalfd", 400},
                  {WAIT_LOCK, NULL, 60},
                  {WAIT_LOCK, "sem jobs", 30},
                  {WAIT_SOCKET, "unix", 20},
                  {WAIT_LOCK, "file /var/pipe", 5}};
    struct wait_sums sums;
    struct wait_thing things[8];
    assert_int_equal(wait_sums_init(&sums), 0);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        wait_sums_add(&sums, waits[i].kind, &(struct wait_labels){waits[i].on, NULL}, waits[i].ns);
    assert_int_equal(wait_sums_things(&sums, things, 8), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(things[i].kind, wanted[i].kind);
        assert_int_equal(things[i].ns, wanted[i].ns);
        if (wanted[i].on)
            assert_string_equal(things[i].on, wanted[i].on);
        else
            assert_null(things[i].on);
    }
    wait_sums_deinit(&sums);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_are_not_called_by_the_events_that_tell_them),
        TEST(rows_can_be_of_waits),
        TEST(waits_for_a_cpu_are_a_row_of_their_own),
        TEST(all_of_a_row_is_one_value),
        TEST(a_thing_has_who_held_it_most),
        TEST(the_line_at_the_top_has_the_longest),
        TEST(who_waited_for_a_child_is_told_how_to_record_it),
        TEST(a_long_name_loses_its_middle),
        TEST(a_finding_says_which_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
