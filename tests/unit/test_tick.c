/* Ticks are a period apart on average, never in step with anything, and what is missed is counted, not made
 * up for. */
#include "lib/unit.h"
#include "sample/tick.h"
#include "lib/fake_statistics.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define PERIOD UINT64_C(10000000)
#define NOW    UINT64_C(123456789)

enum { TICKS = 100000 };

/* Every tick exactly on time. */
static void intervals_are_half_to_one_and_a_half_periods(void **state)
{
    static const uint64_t periods[] = {100000, PERIOD, 1000000000};
    for (size_t i = 0; i < COUNT(periods); i++) {
        struct random_state random;
        struct tick tick;
        uint64_t shortest = UINT64_MAX, longest = 0, start;
        random_init(&random, 1);
        tick_init(&tick, periods[i], NOW, &random);
        start = tick.deadline_ns;
        for (int j = 0; j < TICKS; j++) {
            uint64_t before = tick.deadline_ns;
            tick_advance(&tick, before, &random);
            uint64_t interval = tick.deadline_ns - before;
            shortest = interval < shortest ? interval : shortest;
            longest = interval > longest ? interval : longest;
        }
        assert_in_range(shortest, periods[i] / 2, periods[i] / 2 + periods[i] / 1000);
        assert_in_range(longest, periods[i] * 3 / 2 - periods[i] / 1000, periods[i] * 3 / 2);
        /* One period's interval deviates by period / sqrt(12): five such of the mean of TICKS are 0.46 %. */
        assert_in_range((tick.deadline_ns - start) / TICKS, periods[i] * 9954 / 10000,
                        periods[i] * 10046 / 10000);
        assert_int_equal(tick.late, 0);
    }
}

/* The same random numbers drawn by hand: not a nanosecond is rounded away or gained. */
static void the_sum_of_many_intervals_is_exact(void **state)
{
    struct random_state random, same;
    struct tick tick;
    random_init(&random, 7);
    random_init(&same, 7);
    tick_init(&tick, PERIOD, NOW, &random);
    uint64_t expected = NOW + random_below(&same, PERIOD);
    assert_int_equal(tick.deadline_ns, expected);
    for (int i = 0; i < TICKS; i++) {
        tick_advance(&tick, tick.deadline_ns, &random);
        expected += PERIOD / 2 + random_below(&same, PERIOD);
    }
    assert_int_equal(tick.deadline_ns, expected);
}

static void intervals_are_uniform(void **state)
{
    uint64_t counts[20] = {0};
    struct random_state random;
    struct tick tick;
    random_init(&random, 2);
    tick_init(&tick, PERIOD, NOW, &random);
    for (int i = 0; i < TICKS; i++) {
        uint64_t before = tick.deadline_ns;
        tick_advance(&tick, before, &random);
        counts[(tick.deadline_ns - before - PERIOD / 2) * 20 / PERIOD]++;
    }
    assert_true(fake_chi_square(counts, 20, TICKS / 20.0) < fake_chi_square_limit(19));
}

static void the_first_deadline_is_anywhere_in_the_first_period(void **state)
{
    uint64_t counts[10] = {0};
    struct random_state random;
    random_init(&random, 3);
    for (int i = 0; i < TICKS; i++) {
        struct tick tick;
        tick_init(&tick, PERIOD, NOW, &random);
        assert_in_range(tick.deadline_ns, NOW, NOW + PERIOD - 1);
        assert_int_equal(tick.late, 0);
        counts[(tick.deadline_ns - NOW) * 10 / PERIOD]++;
    }
    assert_true(fake_chi_square(counts, 10, TICKS / 10.0) < fake_chi_square_limit(9));
}

/* One more if a short interval was drawn. */
static void whole_periods_that_passed_are_counted(void **state)
{
    static const struct {
        uint64_t late_ns, periods;
        bool may_be_due_again;
    } cases[] = {{0, 0, false},
                 {1, 0, false},
                 {PERIOD / 2 - 1, 0, false},
                 {PERIOD, 1, false},
                 {2 * PERIOD - 1, 1, true},
                 {2 * PERIOD, 2, false},
                 {UINT64_C(1000) * PERIOD + 5, 1000, false}};
    struct random_state random;
    struct tick tick;
    random_init(&random, 4);
    tick_init(&tick, PERIOD, NOW, &random);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t before = tick.late;
        tick_advance(&tick, tick.deadline_ns + cases[i].late_ns, &random);
        assert_in_range(tick.late - before, cases[i].periods, cases[i].periods + cases[i].may_be_due_again);
    }
}

/* However late they are by, and also those that are due at the end. A period's interval deviates by
 * period / sqrt(12): five such of the mean of TICKS are 0.46 %. */
static void ticks_made_and_missed_are_one_a_period(void **state)
{
    for (uint64_t late_most = 1; late_most <= 8; late_most *= 2) {
        struct random_state random;
        struct tick tick;
        random_init(&random, 11);
        tick_init(&tick, PERIOD, NOW, &random);
        uint64_t now = NOW;
        for (int i = 0; i < TICKS; i++) {
            now = tick.deadline_ns + random_below(&random, (uint32_t)(late_most * PERIOD));
            tick_advance(&tick, now, &random);
        }
        uint64_t end = tick.deadline_ns + late_most * PERIOD;
        tick_count_due(&tick, end);
        assert_in_range((TICKS + tick.late) * 10000 / ((end - NOW) / PERIOD), 9954, 10046);
    }
}

/*
 * Late by less than a period, but by more than the interval drawn: that tick is passed over and counted.
 * Whatever the lateness, ticks made and ticks missed together are one a period.
 */
static void a_tick_that_is_passed_over_is_counted(void **state)
{
    struct random_state random, same, lateness;
    struct tick tick;
    uint64_t missed = 0;
    random_init(&random, 9);
    random_init(&same, 9);
    random_init(&lateness, 10);
    tick_init(&tick, PERIOD, NOW, &random);
    uint64_t expected = NOW + random_below(&same, PERIOD);
    for (int i = 0; i < TICKS; i++) {
        uint64_t now = expected + random_below(&lateness, PERIOD);
        tick_advance(&tick, now, &random);
        for (expected += PERIOD / 2 + random_below(&same, PERIOD); expected <= now; missed++)
            expected += PERIOD / 2 + random_below(&same, PERIOD);
        assert_int_equal(tick.deadline_ns, expected);
        assert_int_equal(tick.late, missed);
    }
    assert_in_range(missed, TICKS / 8 * 95 / 100,
                    TICKS / 8 * 105 / 100); /* the chance of it is one in eight */
    assert_in_range((expected - NOW) / (TICKS + missed), PERIOD * 9954 / 10000, PERIOD * 10046 / 10000);
}

static void a_long_stall_is_followed_by_no_burst(void **state)
{
    struct random_state random;
    struct tick tick;
    random_init(&random, 5);
    tick_init(&tick, PERIOD, NOW, &random);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = tick.deadline_ns + PERIOD + (uint64_t)i * PERIOD / 3;
        tick_advance(&tick, now, &random);
        assert_in_range(tick.deadline_ns, now + 1, now + PERIOD * 3 / 2 - 1);
    }
}

/* A sampler that was ready late: the periods since the first deadline are missed, and no other. */
static void a_late_beginning_counts_what_was_due(void **state)
{
    static const struct {
        int64_t late_ns;
        uint64_t missed;
    } cases[] = {
        {-1, 0}, {0, 0}, {1, 1}, {(int64_t)PERIOD - 1, 1}, {(int64_t)PERIOD, 2}, {7 * (int64_t)PERIOD, 8}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct random_state random;
        struct tick tick;
        random_init(&random, 1);
        tick_init(&tick, PERIOD, NOW, &random);
        uint64_t first = tick.deadline_ns, now = first + (uint64_t)cases[i].late_ns;
        tick_begin_late(&tick, now, &random);
        assert_int_equal(tick.late, cases[i].missed);
        assert_true(cases[i].missed ? tick.deadline_ns >= now : tick.deadline_ns == first);
    }
}

/* Being late by a little is ordinary. It moves no later deadline, so the rate stays what was asked for. */
static void a_little_lateness_does_not_slow_the_rate(void **state)
{
    struct random_state random;
    struct tick tick;
    random_init(&random, 6);
    tick_init(&tick, PERIOD, NOW, &random);
    for (int i = 0; i < TICKS; i++)
        tick_advance(&tick, tick.deadline_ns + PERIOD / 5, &random);
    assert_in_range((tick.deadline_ns - NOW) / TICKS, PERIOD * 9954 / 10000, PERIOD * 10046 / 10000);
    assert_int_equal(tick.late, 0);
}

/* tick.h: "the next deadline lies in the future", however late the tick is. */
static void the_next_deadline_lies_in_the_future(void **state)
{
    struct random_state random;
    struct tick tick;
    random_init(&random, 8);
    tick_init(&tick, PERIOD, NOW, &random);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t now = tick.deadline_ns + i * PERIOD / 250; /* from on time to four periods late */
        tick_advance(&tick, now, &random);
        if (tick.deadline_ns <= now)
            fail_msg("late by %u/250 periods: the next deadline is %u ns ago", (unsigned)i,
                     (unsigned)(now - tick.deadline_ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_beginning_counts_what_was_due),
        cmocka_unit_test(intervals_are_half_to_one_and_a_half_periods),
        cmocka_unit_test(the_sum_of_many_intervals_is_exact),
        cmocka_unit_test(intervals_are_uniform),
        cmocka_unit_test(the_first_deadline_is_anywhere_in_the_first_period),
        cmocka_unit_test(whole_periods_that_passed_are_counted),
        cmocka_unit_test(ticks_made_and_missed_are_one_a_period),
        cmocka_unit_test(a_tick_that_is_passed_over_is_counted),
        cmocka_unit_test(a_long_stall_is_followed_by_no_burst),
        cmocka_unit_test(a_little_lateness_does_not_slow_the_rate),
        cmocka_unit_test(the_next_deadline_lies_in_the_future),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
