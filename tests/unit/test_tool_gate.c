/* Sides of several runs, made by hand: means, what belongs together under other names, and verdicts. */
#include "tool/report/diff_forms.h"

#include "lib/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 8, ROWS_MAX = 4 };

/* The runs of a side. */
struct made_side {
    struct report runs[RUNS_MAX];
    struct report_row rows[RUNS_MAX][ROWS_MAX];
    size_t count;
};

struct made {
    struct made_side sides[2];
    struct diff diff;
};

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct made));
    return 0;
}

static int teardown(void **state)
{
    struct made *made = *state;
    diff_free(&made->diff);
    free(made);
    return 0;
}

/* One more run, of so many ns in a first function, and the rest of the total in a second one. */
static void add_run(struct made_side *side, const char *first, uint64_t first_ns, const char *second,
                    uint64_t total_ns)
{
    const uint64_t ns[] = {first_ns, total_ns - first_ns};
    const char *const names[] = {first, second};
    struct report_row *rows = side->rows[side->count];
    struct report *run = &side->runs[side->count++];
    for (int i = 0; i < 2; i++) {
        rows[i].name = names[i];
        rows[i].flat = rows[i].cum = (struct values){.samples = ns[i] / 10, .blocked_ns = ns[i]};
    }
    run->rows = rows;
    run->row_count = 2;
    run->selected = (struct values){.samples = total_ns / 10, .blocked_ns = total_ns};
}

static struct gate judged(struct made *made, const struct diff_request *request, const char *on, double limit)
{
    const struct diff_side sides[] = {{made->sides[0].runs, made->sides[0].count, "app-1"},
                                      {made->sides[1].runs, made->sides[1].count, "app-2"}};
    diff_free(&made->diff);
    assert_int_equal(diff_make(&made->diff, sides, request), 0);
    const struct gate_rows found = on ? gate_find(&made->diff, on) : (struct gate_rows){0};
    assert_true(!on || found.count == 1);
    return gate_judge(&made->diff, found.rows[0], limit);
}

static void assert_verdict(const struct gate *gate, const char *expected)
{
    char text[GATE_TEXT_BYTES];
    assert_string_equal(gate_text(gate, text), expected);
    assert_int_equal(gate->has_failed, strstr(expected, ": failed") != NULL);
}

static const struct diff_request by_wall = {.by = REPORT_BY_FUNCTION, .metric = METRIC_WALL};

/* 100, 102, 104 and 110, 112, 114: the variance of each mean is 4/3, the degrees 4, and t 2.776. */
static void runs_are_compared_by_their_means(void **state)
{
    struct made *made = *state;
    for (int i = 0; i < 3; i++) {
        add_run(&made->sides[0], "f", 50, "g", 100 + 2 * (uint64_t)i);
        add_run(&made->sides[1], "f", 50, "g", 110 + 2 * (uint64_t)i);
    }
    const struct gate gate = judged(made, &by_wall, NULL, 0.05);
    assert_verdict(&gate, "wall +9.8% ±4.4%, 5% allowed: failed");
    const struct gate higher = judged(made, &by_wall, NULL, 0.10);
    assert_verdict(&higher, "wall +9.8% ±4.4%, 10% allowed: passed");
    const struct gate one = judged(made, &by_wall, "f", 0);
    assert_verdict(&one, "wall +0.0%, 0% allowed: passed");
    assert_int_equal(made->diff.total[1].blocked_ns, 112);
    assert_string_equal(made->diff.rows[0].name, "g");
    assert_int_equal(made->diff.rows[0].flat[0].blocked_ns, 52);
    assert_int_equal(made->diff.rows[0].flat[1].blocked_ns, 62);
    assert_int_equal(made->diff.rows[0].flat_error[0].wall_ns, 4); /* 4.303 * sqrt(4 / 3) = 4.97 */
}

/* A machine that becomes slower by 10 with each pair; the second run takes 4 or 6 more. The mean change is 5
 * of 135, its variance 8 / 7 / 8, and t of 7 degrees 2.365. Not in turns, the variance is 600 / 8 on each
 * side. */
static void runs_in_turns_are_compared_pair_by_pair(void **state)
{
    struct made *made = *state;
    for (uint64_t i = 0; i < SPREAD_PAIRS_LEAST; i++) {
        add_run(&made->sides[0], "f", 50, "g", 100 + 10 * i);
        add_run(&made->sides[1], "f", 50, "g", 104 + 10 * i + i % 2 * 2);
        made->sides[0].runs[i].start_utc_ns = 10 * i + (i % 3 ? 1 : 0);
        made->sides[1].runs[i].start_utc_ns = 10 * i + (i % 3 ? 0 : 1);
    }
    const struct gate gate = judged(made, &by_wall, NULL, 0);
    assert_verdict(&gate, "wall +3.7% ±0.66%, 0% allowed: failed");
    const struct gate one = judged(made, &by_wall, "g", 0);
    assert_verdict(&one, "wall +5.9% ±1.1%, 0% allowed: failed");
    made->sides[1].runs[3].start_utc_ns += 10;
    const struct gate not_in_turns = judged(made, &by_wall, NULL, 0);
    assert_verdict(&not_in_turns, "wall +3.7% ±20%, 0% allowed: passed, as it may be chance");
}

/* Too few pairs to be worth it, and sides of different size. */
static void few_runs_are_compared_by_their_means(void **state)
{
    struct made *made = *state;
    for (uint64_t i = 0; i < SPREAD_PAIRS_LEAST; i++) {
        add_run(&made->sides[0], "f", 50, "g", 100 + 10 * i);
        if (i > 0)
            add_run(&made->sides[1], "f", 50, "g", 104 + 10 * i);
        made->sides[0].runs[i].start_utc_ns = made->sides[1].runs[i].start_utc_ns = 10 * i;
        judged(made, &by_wall, NULL, 0);
        assert_false(made->diff.is_in_turns);
    }
}

/* 100, 140 and 120, 160: a mean 20 higher, with t of 2 degrees at 6.96 for sqrt(800). */
static void what_may_be_chance_passes(void **state)
{
    struct made *made = *state;
    for (int i = 0; i < 2; i++) {
        add_run(&made->sides[0], "f", 0, "g", 100 + 40 * (uint64_t)i);
        add_run(&made->sides[1], "f", 0, "g", 120 + 40 * (uint64_t)i);
    }
    const struct gate gate = judged(made, &by_wall, NULL, 0.05);
    assert_verdict(&gate, "wall +16.7% ±101%, 5% allowed: passed, as it may be chance");
}

static void a_row_that_a_run_lacks_is_zero_there(void **state)
{
    struct made *made = *state;
    add_run(&made->sides[0], "f", 10, "g", 100);
    add_run(&made->sides[0], "h", 10, "g", 100);
    add_run(&made->sides[1], "h", 30, "g", 100);
    add_run(&made->sides[1], "h", 30, "g", 100);
    const struct gate gate = judged(made, &by_wall, "h", 0);
    assert_float_equal(gate.before, 5, 1e-6);
    assert_float_equal(gate.after, 30, 1e-6);
    assert_int_equal(made->diff.row_count, 3);
}

static void what_is_new_is_above_every_limit(void **state)
{
    struct made *made = *state;
    add_run(&made->sides[0], "f", 10, "g", 100);
    add_run(&made->sides[1], "h", 10, "g", 100);
    const struct gate gate = judged(made, &by_wall, "h", 5);
    assert_verdict(&gate, "wall is new, 500% more allowed: failed");
    assert_true(gate_is_of_one_run(&gate));
    const struct gate gone = judged(made, &by_wall, "f", 0);
    assert_verdict(&gone, "wall -100.0%, 0% allowed: passed");
}

/* Twice the work in 1.5 times the time. */
static void equal_work_is_compared(void **state)
{
    struct made *made = *state;
    const struct diff_request request = {
        .by = REPORT_BY_FUNCTION, .metric = METRIC_WALL, .scale = DIFF_WORK, .units = {100, 200}};
    add_run(&made->sides[0], "f", 50, "g", 100);
    add_run(&made->sides[1], "f", 100, "g", 150);
    const struct gate gate = judged(made, &request, NULL, 0);
    assert_verdict(&gate, "wall -25.0%, 0% allowed: passed");
    const struct gate same = judged(made, &request, "f", 0);
    assert_verdict(&same, "wall +0.0%, 0% allowed: passed");
}

/* Each run's own: 40 %, 40 % and 60 %. */
static void shares_are_of_each_run(void **state)
{
    struct made *made = *state;
    const struct diff_request request = {
        .by = REPORT_BY_FUNCTION, .metric = METRIC_WALL, .scale = DIFF_SHARES};
    add_run(&made->sides[0], "f", 40, "g", 100);
    add_run(&made->sides[0], "f", 400, "g", 1000);
    add_run(&made->sides[1], "f", 600, "g", 1000);
    const struct gate gate = judged(made, &request, "f", 0);
    assert_float_equal(gate.before, 220, 1e-6);
    assert_float_equal(gate.after, 330, 1e-6);
}

/* The program is /a/app-1 and then /b/app-2. */
static void a_renamed_program_is_one_module(void **state)
{
    struct made *made = *state;
    const struct diff_request request = {.by = REPORT_BY_MODULE, .metric = METRIC_WALL};
    add_run(&made->sides[0], "/a/app-1", 10, "/lib/libx.so", 100);
    add_run(&made->sides[1], "/b/app-2", 10, "/usr/lib/libx.so", 100);
    assert_verdict(&(struct gate){0}, "wall +0.0%, 0% allowed: passed");
    judged(made, &request, NULL, 0);
    assert_int_equal(made->diff.row_count, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(made->diff.rows[i].presence, DIFF_BOTH);
}

static void a_name_may_mean_several_rows(void **state)
{
    struct made *made = *state;
    add_run(&made->sides[0], "ns::f(int)", 10, "ns::f(double)", 100);
    add_run(&made->sides[1], "ns::f(int)", 10, "ns::g(int)", 100);
    judged(made, &by_wall, "ns::f(int)", 0);
    assert_int_equal(gate_find(&made->diff, "f").count, 2);
    assert_int_equal(gate_find(&made->diff, "g").count, 1);
    assert_int_equal(gate_find(&made->diff, "none").count, 0);
}

/* A bar ends a cell, and a backtick the code. */
static void names_stay_in_their_cells(void **state)
{
    struct made *made = *state;
    char *text = NULL;
    size_t bytes = 0;
    add_run(&made->sides[0], "a|b`c", 100, "g", 100);
    add_run(&made->sides[1], "a|b`c", 300, "g", 300);
    const struct gate gate = judged(made, &by_wall, NULL, 1);
    FILE *stream = open_memstream(&text, &bytes);
    diff_markdown_write(&made->diff, 10, &gate, stream);
    fclose(stream);
    assert_string_equal(text, "**wall +200.0%, 100% allowed: failed** (" GATE_ONE_RUN ")\n"
                              "\n"
                              "| | before | after | change | % |\n"
                              "|---|--:|--:|--:|--:|\n"
                              "| wall | 100 ns | 300 ns | +200 ns | +200.0 % |\n"
                              "| cpu | 0 | 0 | 0 |  |\n"
                              "| off-cpu | 100 ns | 300 ns | +200 ns | +200.0 % |\n"
                              "\n"
                              "\n"
                              "| function, wall | before | after | change | % |\n"
                              "|---|--:|--:|--:|--:|\n"
                              "| `a\\|b'c` | 100 ns | 300 ns | +200 ns | +200.0 % |\n");
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runs_are_compared_by_their_means),
        TEST(runs_in_turns_are_compared_pair_by_pair),
        TEST(few_runs_are_compared_by_their_means),
        TEST(what_may_be_chance_passes),
        TEST(a_row_that_a_run_lacks_is_zero_there),
        TEST(what_is_new_is_above_every_limit),
        TEST(equal_work_is_compared),
        TEST(shares_are_of_each_run),
        TEST(a_renamed_program_is_one_module),
        TEST(a_name_may_mean_several_rows),
        TEST(names_stay_in_their_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
