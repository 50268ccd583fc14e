/*
 * Means of several runs: the numbers that tables of Student's distribution have, and how often chance is
 * taken for a change, in 20,000 simulated comparisons.
 */
#include "base/random.h"
#include "tool/report/spread.h"

#include "lib/unit.h"

#include <math.h>

enum { TRIALS = 20000, RUNS = 10 };

/* ---- means ---- */

static struct spread spread_of(const double *values, int count, double bar)
{
    struct spread spread = {0};
    for (int i = 0; i < count; i++)
        spread_add(&spread, values[i], bar);
    return spread;
}

static void runs_have_a_mean_and_a_variance(void **state)
{
    (void)state;
    const struct spread spread = spread_of((const double[]){10, 12, 14, 16}, 4, 0);
    const struct spread_mean mean = spread_mean_of(&spread);
    assert_float_equal(mean.value, 13, 1e-6);
    assert_float_equal(mean.variance, 20.0 / 3 / 4, 1e-6);
    assert_float_equal(mean.degrees, 3, 0);
}

/* Two runs that agree by luck vary as much as their samples. */
static void runs_do_not_vary_less_than_their_error_bars(void **state)
{
    (void)state;
    const struct spread spread = spread_of((const double[]){10, 10}, 2, 2 * 1.959963984540054);
    assert_float_equal(spread_mean_of(&spread).variance, 4.0 / 2, 1e-6);
}

static void a_single_run_has_its_error_bar(void **state)
{
    (void)state;
    const struct spread spread = spread_of((const double[]){10}, 1, 3);
    const struct spread_mean mean = spread_mean_of(&spread);
    assert_float_equal(spread_bar(&mean), 3, 1e-6);
}

/* Variances 20/3/4 and 20/3: together 8.333, with 8.333^2 / (1.667^2 / 3 + 6.667^2 / 3) degrees. */
static void a_single_run_varies_as_the_other_side_does(void **state)
{
    (void)state;
    const struct spread before = spread_of((const double[]){10, 12, 14, 16}, 4, 0),
                        after = spread_of((const double[]){20}, 1, 0);
    const struct spread_mean change = spread_difference(&before, &after);
    assert_float_equal(change.value, 7, 1e-6);
    assert_float_equal(change.variance, 8.33333, 1e-4);
    assert_float_equal(change.degrees, 4.41176, 1e-4);
}

/* ---- Student's distribution ---- */

static double bar_of(double degrees)
{
    return spread_bar(&(struct spread_mean){0, 1, degrees});
}

static void bars_are_those_of_the_tables(void **state)
{
    (void)state;
    static const double table[][2] = {{1, 12.7062},  {2, 4.3027},        {3, 3.1824},  {4, 2.7764},
                                      {5, 2.5706},   {9, 2.2622},        {10, 2.2281}, {18, 2.1009},
                                      {30, 2.0423},  {100, 1.9840},      {1e5, 1.96},  {1e9, 1.95996},
                                      {4.5, 2.6585}, {INFINITY, 1.95996}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_float_equal(bar_of(table[i][0]), table[i][1], 2e-3);
}

static void one_in_100_is_that_of_the_tables(void **state)
{
    (void)state;
    static const double table[][2] = {{1, 31.821}, {2, 6.9646},  {3, 4.5407},  {5, 3.3649},
                                      {9, 2.8214}, {18, 2.5524}, {30, 2.4573}, {INFINITY, 2.3263}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(spread_is_above_zero(&(struct spread_mean){table[i][1] * 1.003, 1, table[i][0]}));
        assert_false(spread_is_above_zero(&(struct spread_mean){table[i][1] * 0.997, 1, table[i][0]}));
    }
}

/* ---- how often chance is taken for a change ---- */

static double uniform(struct random_state *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct random_state *random)
{
    return sqrt(-2 * log(uniform(random))) * cos(2 * M_PI * uniform(random));
}

/* A run that now and then takes much longer, as on a machine that does other work too. */
static double disturbed(struct random_state *random)
{
    return 100 + fabs(normal(random)) + (random_below(random, 10) ? 0 : 10 * uniform(random));
}

static double quiet(struct random_state *random)
{
    return 100 + normal(random);
}

/* Runs in turns on a machine whose speed drifts by steps of 1 %, with 1 % of its own in each run. */
static double found_in_turns(int pair_count)
{
    struct random_state random;
    int count = 0;
    random_init(&random, 1);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct spread_pair pairs[RUNS] = {{0}};
        double drift = 0;
        for (int i = 0; i < pair_count; i++) {
            spread_pair_add(&pairs[i], -(quiet(&random) + drift), 0);
            drift += normal(&random);
            spread_pair_add(&pairs[i], quiet(&random) + drift, 0);
            drift += normal(&random);
        }
        const struct spread spread = spread_of_pairs(pairs, (size_t)pair_count);
        const struct spread_mean change = spread_mean_of(&spread);
        count += spread_is_above_zero(&change);
    }
    return (double)count / TRIALS;
}

static double found(double (*run)(struct random_state *), int runs, double factor)
{
    struct random_state random;
    int count = 0;
    random_init(&random, 1);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct spread before = {0}, after = {0};
        for (int i = 0; i < runs; i++) {
            spread_add(&before, run(&random), 0);
            spread_add(&after, factor * run(&random), 0);
        }
        const struct spread_mean change = spread_difference(&before, &after);
        count += spread_is_above_zero(&change);
    }
    return (double)count / TRIALS;
}

/* 1 %, and three standard errors of such a share of 20,000 (0.21 %). */
static void chance_is_taken_for_a_change_once_in_100(void **state)
{
    (void)state;
    for (int runs = 2; runs <= 2 * RUNS; runs++) {
        assert_true(found(quiet, runs, 1) < 0.0121);
        assert_true(found(disturbed, runs, 1) < 0.0121);
    }
}

static void runs_in_turns_are_taken_for_a_change_once_in_100(void **state)
{
    (void)state;
    for (int pairs = SPREAD_PAIRS_LEAST; pairs <= RUNS; pairs++)
        assert_true(found_in_turns(pairs) < 0.0121);
}

static void a_change_of_two_in_100_is_found_in_10_runs(void **state)
{
    (void)state;
    assert_true(found(quiet, RUNS, 1.02) > 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_have_a_mean_and_a_variance),
        cmocka_unit_test(runs_do_not_vary_less_than_their_error_bars),
        cmocka_unit_test(a_single_run_has_its_error_bar),
        cmocka_unit_test(a_single_run_varies_as_the_other_side_does),
        cmocka_unit_test(bars_are_those_of_the_tables),
        cmocka_unit_test(one_in_100_is_that_of_the_tables),
        cmocka_unit_test(chance_is_taken_for_a_change_once_in_100),
        cmocka_unit_test(runs_in_turns_are_taken_for_a_change_once_in_100),
        cmocka_unit_test(a_change_of_two_in_100_is_found_in_10_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
