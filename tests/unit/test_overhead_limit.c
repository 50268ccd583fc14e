/*
 * What restraint says about programs and prices that are made up: exactly, for single windows; and in the
 * long run, for programs that change.
 */
#include "lib/unit.h"
#include "sample/overhead_limit.h"

#include <string.h>

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S  (1000 * MS)

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ONE_PERCENT = 10000, LONGEST = 4096 };

struct fixture {
    struct overhead_limit restraint;
    struct overhead_limit_use use; /* so far */
    uint64_t allowed_ns;           /* so far, by the limit */
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof(fixture));
    return 0;
}

/* Recording begins; what was used before must not matter. */
static void begin(struct fixture *fixture, uint32_t limit_ppm, uint64_t wanted_ns)
{
    overhead_limit_init(&fixture->restraint, limit_ppm, wanted_ns, LONGEST);
    assert_int_equal(fixture->restraint.period_ns, wanted_ns);
    fixture->use = (struct overhead_limit_use){5 * S, 3, 70 * MS, 20 * MS, 900 * S, 1, 1};
    fixture->allowed_ns = 0;
    overhead_limit_judge(&fixture->restraint, &fixture->use);
    assert_int_equal(fixture->restraint.period_ns, wanted_ns);
}

/* So much passes, and is judged; ticks have one sample each. Returns the period. */
static uint64_t pass(struct fixture *fixture, uint64_t wall_ns, uint64_t program_ns, uint64_t ticks,
                     uint64_t own_ns)
{
    fixture->use.now_ns += wall_ns;
    fixture->use.program_cpu_ns += program_ns;
    fixture->use.samples += ticks;
    fixture->use.own_cpu_ns += own_ns;
    fixture->allowed_ns +=
        (program_ns > wall_ns ? program_ns : wall_ns) / 1000 * fixture->restraint.limit_ppm / 1000;
    overhead_limit_judge(&fixture->restraint, &fixture->use);
    return fixture->restraint.period_ns;
}

/* ---- windows ---- */

static void a_window_is_long_enough_or_has_looks_enough(void **state)
{
    struct fixture *fixture = *state;
    struct overhead_limit *restraint = &fixture->restraint;
    overhead_limit_init(restraint, ONE_PERCENT, MS, LONGEST);
    assert_true(overhead_limit_is_due(restraint, 5 * S, 3)); /* the first begins */
    begin(fixture, ONE_PERCENT, MS);
    assert_false(overhead_limit_is_due(restraint, 5 * S + 100 * S, 3));
    assert_false(overhead_limit_is_due(restraint, 5 * S + 250 * MS - 1, 3 + 24));
    assert_true(overhead_limit_is_due(restraint, 5 * S + 250 * MS, 3 + 1));
    assert_false(overhead_limit_is_due(restraint, 5 * S + 25 * MS, 3 + 24));
    assert_true(overhead_limit_is_due(restraint, 5 * S + 25 * MS, 3 + 25));
    assert_false(overhead_limit_is_due(restraint, 5 * S + 25 * MS - 1, 3 + 2500));
    fixture->use.samples_per_tick = 8;
    overhead_limit_judge(restraint, &fixture->use);
    assert_false(overhead_limit_is_due(restraint, 5 * S + 25 * MS, 3 + 199));
    assert_true(overhead_limit_is_due(restraint, 5 * S + 25 * MS, 3 + 200));
}

static void without_a_limit_no_window_begins(void **state)
{
    struct fixture *fixture = *state;
    char text[OVERHEAD_LIMIT_TEXT_BYTES];
    overhead_limit_init(&fixture->restraint, 0, 10 * MS, LONGEST);
    assert_false(overhead_limit_is_due(&fixture->restraint, 5 * S, 1));
    assert_false(overhead_limit_is_due(&fixture->restraint, 500 * S, 100000));
    overhead_limit_describe(&fixture->restraint, 4 * S, 500 * S, text);
    assert_string_equal(text, "");
}

/* ---- one window ---- */

static void what_is_allowed_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    char text[OVERHEAD_LIMIT_TEXT_BYTES];
    begin(fixture, ONE_PERCENT, 10 * MS);
    for (int i = 0; i < 40; i++)
        assert_int_equal(pass(fixture, 250 * MS, 100 * MS, 25, 2500 * US), 10 * MS); /* to the last of it */
    assert_int_equal(fixture->restraint.account_ns, 0);
    assert_int_equal(pass(fixture, 250 * MS, 0, 25, 0), 10 * MS);
    overhead_limit_describe(&fixture->restraint, 4 * S, 15 * S, text);
    assert_string_equal(text, "");
}

struct window_case {
    uint64_t wall_ns, program_ns, ticks, own_ns, period_ns;
    int64_t account_ns;
};

/* With a period of 10 ms the horizon is 4.04 s. */
static void the_first_window_says_what_is_needed(void **state)
{
    static const struct window_case cases[] = {
        /* One core, 1 ms a tick: 10 times the 2.5 ms. Debt would leave 2.5 - 22.5 / 16.16 = 1.107673 ms. */
        {250 * MS, 250 * MS, 25, 25 * MS, 200 * MS, -22500000},
        /* The same, idle: one core is what counts. */
        {250 * MS, 0, 25, 25 * MS, 200 * MS, -22500000},
        /* On 20 cores it is half of what is allowed; what is left is saved. */
        {250 * MS, 5000 * MS, 25, 25 * MS, 10 * MS, 25000000},
        /* 4 ms where 2.5 ms are allowed, so 1.5 ms of debt: 160 us / (2.5 - 1.5 / 16.16 ms) * 250 ms. */
        {250 * MS, 30 * MS, 25, 4 * MS, 16616966, -1500000},
        /* The same of 4 cores: there is room for 10 ms. */
        {250 * MS, 1000 * MS, 25, 4 * MS, 10 * MS, 6000000},
        /* A long stop, SIGSTOP say: no more is saved than a quarter of the income of 4.04 s,
         * and 1.25 times the income used for a while. */
        {3600 * S, 3 * S, 10, 10 * MS, 80 * MS, 10100000},
        /* One tick that takes 4 s: no more is owed than the income of 8 times 4.04 s. */
        {25 * MS, 0, 1, 4 * S, 10 * S, -323200000},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct window_case *c = &cases[i];
        begin(fixture, ONE_PERCENT, 10 * MS);
        assert_int_equal(pass(fixture, c->wall_ns, c->program_ns, c->ticks, c->own_ns), c->period_ns);
        assert_int_equal(fixture->restraint.account_ns, c->account_ns);
    }
}

/* What a process uses itself it need not share. */
static void processes_share_a_core(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, 10 * MS);
    fixture->use.processes = 4;
    assert_int_equal(pass(fixture, 250 * MS, 30 * MS, 25, 1 * MS), 16616966);
    assert_int_equal(fixture->restraint.account_ns, -375000);
    begin(fixture, ONE_PERCENT, 10 * MS);
    fixture->use.processes = 4;
    assert_int_equal(pass(fixture, 250 * MS, 1000 * MS, 25, 4 * MS), 10 * MS);
    assert_int_equal(fixture->restraint.account_ns, 6000000);
}

static void the_limit_is_the_one_given(void **state)
{
    static const struct {
        uint32_t limit_ppm;
        uint64_t period_ns;
    } cases[] = {{1000000, MS}, {60000, MS}, {49000, 1020538}, {500, 200 * MS}, {10, LONGEST * MS}};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin(fixture, cases[i].limit_ppm, MS);
        assert_int_equal(pass(fixture, 25 * MS, 25 * MS, 25, 25 * 50 * US), cases[i].period_ns);
    }
}

/* 200 us a tick, then 20 us: five times too dear, then half of what is allowed. */
static void it_becomes_longer_at_once_and_shorter_by_halves(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, MS);
    assert_int_equal(pass(fixture, 250 * MS, 250 * MS, 250, 250 * 200 * US), 40 * MS);
    fixture->restraint.account_ns = 0; /* none of it in the numbers that follow */
    fixture->restraint.priced_samples = fixture->restraint.priced_ns = 0;
    assert_int_equal(pass(fixture, 1000 * MS, 0, 25, 25 * 5 * US), 20 * MS);
    assert_int_equal(pass(fixture, 1000 * MS, 0, 50, 50 * 5 * US), 10 * MS);
    assert_int_equal(pass(fixture, 1000 * MS, 0, 100, 100 * 5 * US), 5 * MS);
    assert_int_equal(pass(fixture, 1000 * MS, 0, 200, 200 * 5 * US), 2500 * US);
    assert_int_equal(pass(fixture, 1000 * MS, 0, 400, 400 * 5 * US), 1250 * US);
    assert_int_equal(pass(fixture, 1000 * MS, 0, 800, 800 * 5 * US), 1 * MS);
}

/* Of single samples the price is that of the last few together. */
static void one_look_alone_says_little(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, S);
    for (int i = 0; i < 4; i++)
        pass(fixture, S, 0, 1, MS);
    assert_int_equal(fixture->restraint.priced_samples, 4);
    fixture->restraint.account_ns = -10 * (int64_t)MS;
    pass(fixture, S, 0, 1, 51 * MS); /* 55 ms for five */
    assert_int_equal(fixture->restraint.priced_ns, 55 * MS);
    assert_int_equal(fixture->restraint.priced_samples, 5);
    pass(fixture, S, 0, 1, MS); /* the five count as four */
    assert_int_equal(fixture->restraint.priced_ns, 45 * MS);
    assert_int_equal(fixture->restraint.priced_samples, 5);
}

/* 25 ticks of 8 samples, for 1 ms each; then, when there is only one thread, 10 samples for as much each. */
static void a_tick_costs_as_much_as_its_samples(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, 10 * MS);
    fixture->use.samples_per_tick = 8;
    assert_int_equal(pass(fixture, 250 * MS, 0, 200, 25 * MS), 200 * MS);
    assert_int_equal(fixture->restraint.priced_samples, 200);
    fixture->restraint.account_ns = 0;
    pass(fixture, 8 * S, 0, 10, 80 * MS); /* the 200 count as 32 */
    assert_int_equal(fixture->restraint.priced_samples, 42);
    assert_int_equal(fixture->restraint.priced_ns, 84 * MS);
    fixture->restraint.account_ns = 0;
    fixture->use.samples_per_tick = 1;
    pass(fixture, 8 * S, 0, 36, 72 * MS); /* the 42 as 4 */
    assert_int_equal(fixture->restraint.priced_samples, 40);
    assert_int_equal(fixture->restraint.priced_ns, 80 * MS);
    assert_int_equal(fixture->restraint.account_ns, 8 * MS);
    assert_int_equal(fixture->restraint.period_ns, 800 * MS);
}

/* Clocks that are not read at one instant. */
static void what_seems_to_go_back_is_nothing(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, 10 * MS);
    fixture->use.program_cpu_ns -= 300;
    fixture->use.quiet_cpu_ns += 700; /* more than all there is */
    assert_int_equal(pass(fixture, 250 * MS, 0, 25, 500), 10 * MS);
    assert_int_equal(fixture->restraint.account_ns, 2499500);
    assert_int_equal(fixture->restraint.priced_ns, 0);
}

static void a_window_of_nothing_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, 10 * MS);
    assert_int_equal(pass(fixture, 250 * MS, 0, 25, 25 * MS), 200 * MS);
    assert_int_equal(pass(fixture, 0, 0, 0, 0), 200 * MS);
    assert_int_equal(pass(fixture, 0, 0, 1, 0), 200 * MS);
    assert_int_equal(pass(fixture, 250 * MS, 0, 0, 0), 200 * MS);
    assert_int_equal(fixture->restraint.account_ns, -22500000);
}

/* ---- replies ---- */

static void a_reply_costs_what_a_walk_can_take(void **state)
{
    assert_int_equal(overhead_limit_reply_ns(0, 0), 10 * US);
    assert_int_equal(overhead_limit_reply_ns(2500, 30), 12500);
    assert_int_equal(overhead_limit_reply_ns(110 * US, 30), 120 * US);
    assert_int_equal(overhead_limit_reply_ns(4 * MS, 30), 120 * US); /* preempted */
    assert_int_equal(overhead_limit_reply_ns(4 * MS, 65536), 4010 * US);
    assert_int_equal(overhead_limit_reply_ns(S, UINT32_MAX), S + 10 * US);
}

/* ---- words ---- */

static void the_rate_that_was_left_is_told(void **state)
{
    struct fixture *fixture = *state;
    char text[OVERHEAD_LIMIT_TEXT_BYTES];
    begin(fixture, 500, 10 * MS);
    assert_int_equal(pass(fixture, S, 0, 100, 2 * MS), 80 * MS); /* 20 us, of half of 500 us a second */
    assert_int_equal(pass(fixture, 9 * S, 0, 10, 0), 40 * MS);
    /* From 4 s to 6 s 10 ms, to 15 s 80 ms, to 24 s 40 ms: 200, 112.5 and 225 ticks. */
    overhead_limit_describe(&fixture->restraint, 4 * S, 24 * S, text);
    assert_string_equal(
        text, "restrained to 0.05 % of the program's CPU time: as with 26.88 ticks a second on average; "
              "WALLPROF_OVERHEAD=off keeps the rate");
    for (int i = 0; i < 100; i++)
        pass(fixture, 10 * S, 0, 1, 0);
    assert_int_equal(fixture->restraint.period_ns, 10 * MS);
    overhead_limit_describe(&fixture->restraint, 4 * S, fixture->use.now_ns, text); /* it still has been */
    assert_true(strstr(text, "as with 9") != NULL);
}

/* ---- in the long run ---- */

/* A program as it is from a moment on. */
struct phase {
    uint64_t until_ns; /* since the beginning */
    uint32_t cores_percent;
    uint64_t price_ns; /* of a tick */
    uint32_t quiet_percent;
};

/* As sampler.c does it, with one thread: a sample each period, judged when a window is over. */
static void one_tick(struct fixture *fixture, const struct phase *phase, uint64_t price_ns)
{
    uint64_t period_ns = fixture->restraint.period_ns, program_ns = period_ns / 100 * phase->cores_percent,
             quiet_ns = period_ns / 100 * phase->quiet_percent;
    struct overhead_limit_use *use = &fixture->use;
    use->now_ns += period_ns;
    use->program_cpu_ns += program_ns;
    use->quiet_cpu_ns += quiet_ns;
    use->own_cpu_ns += quiet_ns + price_ns;
    use->samples++;
    fixture->allowed_ns +=
        (program_ns > period_ns ? program_ns : period_ns) / 1000 * fixture->restraint.limit_ppm / 1000;
    if (overhead_limit_is_due(&fixture->restraint, use->now_ns, use->samples))
        overhead_limit_judge(&fixture->restraint, use);
}

static uint64_t elapsed(const struct fixture *fixture)
{
    return fixture->use.now_ns - 5 * S;
}

/* How much of what was allowed was used, in percent. */
static double used_percent(const struct fixture *fixture)
{
    return 100.0 * (double)(fixture->use.own_cpu_ns - 70 * MS) / (double)fixture->allowed_ns;
}

/* Runs through a phase. Returns when the period last was outside of a range, since the phase's beginning. */
static uint64_t mapped_store_through(struct fixture *fixture, const struct phase *phase, uint64_t low_ns,
                                     uint64_t high_ns)
{
    uint64_t begin_ns = elapsed(fixture), outside_ns = begin_ns;
    while (elapsed(fixture) < phase->until_ns) {
        one_tick(fixture, phase, phase->price_ns);
        if (fixture->restraint.period_ns < low_ns || fixture->restraint.period_ns > high_ns)
            outside_ns = elapsed(fixture);
    }
    return outside_ns - begin_ns;
}

static void a_steady_program_gets_a_steady_period(void **state)
{
    static const struct {
        uint32_t cores_percent;
        uint64_t price_ns, period_ns;
    } cases[] = {{100, 400 * US, 40 * MS}, {0, 400 * US, 40 * MS}, {400, 800 * US, 20 * MS},
                 {150, 3 * MS, 200 * MS},  {100, 20 * MS, 2 * S},  {100, 80 * MS, 8 * S}};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct phase phase = {10000 * S, cases[i].cores_percent, cases[i].price_ns, 0};
        uint64_t period_ns = cases[i].period_ns;
        begin(fixture, ONE_PERCENT, 10 * MS);
        uint64_t unsteady_ns =
            mapped_store_through(fixture, &phase, period_ns - period_ns / 1000, period_ns + period_ns / 1000);
        assert_true(unsteady_ns < 60 * S + 40 * period_ns);
        /* The first window, before the price is known, is not paid back to the last where ticks are dear. */
        assert_true(used_percent(fixture) > 99.9 && used_percent(fixture) < 102);
    }
}

/* 2 ms a tick instead of 50 us; for a while, and every now and then. */
static void a_burst_is_met_within_a_second_and_soon_over(void **state)
{
    static const struct phase before = {20 * S, 100, 50 * US, 0}, burst = {30 * S, 100, 2 * MS, 0},
                              after = {60 * S, 100, 50 * US, 0};
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, 10 * MS);
    assert_int_equal(mapped_store_through(fixture, &before, 10 * MS, 10 * MS), 0);
    assert_true(mapped_store_through(fixture, &burst, 150 * MS, 450 * MS) < 600 * MS);
    assert_true(mapped_store_through(fixture, &after, 10 * MS, 10 * MS) < 3 * S);
    assert_true(used_percent(fixture) < 100);
}

/* Ten times what is allowed, before anything is known. */
static void what_the_beginning_owes_is_repaid(void **state)
{
    static const struct phase phase = {120 * S, 100, 50 * US, 0};
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, 100 * US);
    mapped_store_through(fixture, &phase, 0, 10 * S);
    assert_true(used_percent(fixture) > 99 && used_percent(fixture) < 101);
}

static uint64_t random_state = 88172645463325252U;

static uint64_t random_number(void) /* xorshift64 */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* Prices from 20 us to 2.5 ms from tick to tick,
 * and a program of 0 to 8 cores that changes every so often. */
static void the_mean_keeps_to_the_limit_whatever_comes(void **state)
{
    struct fixture *fixture = *state;
    for (int round = 0; round < 20; round++) {
        struct phase phase = {0, 0, 0, 0};
        begin(fixture, ONE_PERCENT, 10 * MS);
        for (uint64_t scale = 0; elapsed(fixture) < 3600 * S;
             one_tick(fixture, &phase, (20 * US << random_number() % 6) << scale)) {
            if (elapsed(fixture) < phase.until_ns)
                continue;
            phase.until_ns = elapsed(fixture) + random_number() % (20 * S);
            phase.cores_percent = random_number() % 800;
            scale = random_number() % 3;
        }
        assert_true(used_percent(fixture) < 100.2);
        assert_true(used_percent(fixture) > 70);
    }
}

/* 3 % of a core go to threads that come and go: three times what is allowed, and nothing can be done. */
static void what_quiet_threads_cost_leaves_ticks_their_half(void **state)
{
    static const struct phase phase = {600 * S, 100, 100 * US, 3};
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, 10 * MS);
    assert_true(mapped_store_through(fixture, &phase, 20 * MS, 20 * MS) < 10 * S);
    assert_true(fixture->use.samples > 600 * 50);
}

/* Where it is not too much, it is paid by ticks. */
static void what_quiet_threads_cost_is_part_of_the_limit(void **state)
{
    struct phase phase = {600 * S, 200, 100 * US, 1}; /* of two cores half a percent */
    struct fixture *fixture = *state;
    begin(fixture, ONE_PERCENT, 5 * MS);
    assert_true(mapped_store_through(fixture, &phase, 9900 * US, 10100 * US) < 60 * S);
    assert_true(used_percent(fixture) < 100.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_window_is_long_enough_or_has_looks_enough, setup),
        cmocka_unit_test_setup(without_a_limit_no_window_begins, setup),
        cmocka_unit_test_setup(what_is_allowed_changes_nothing, setup),
        cmocka_unit_test_setup(the_first_window_says_what_is_needed, setup),
        cmocka_unit_test_setup(processes_share_a_core, setup),
        cmocka_unit_test_setup(the_limit_is_the_one_given, setup),
        cmocka_unit_test_setup(it_becomes_longer_at_once_and_shorter_by_halves, setup),
        cmocka_unit_test_setup(one_look_alone_says_little, setup),
        cmocka_unit_test_setup(a_tick_costs_as_much_as_its_samples, setup),
        cmocka_unit_test_setup(what_seems_to_go_back_is_nothing, setup),
        cmocka_unit_test_setup(a_window_of_nothing_changes_nothing, setup),
        cmocka_unit_test(a_reply_costs_what_a_walk_can_take),
        cmocka_unit_test_setup(the_rate_that_was_left_is_told, setup),
        cmocka_unit_test_setup(a_steady_program_gets_a_steady_period, setup),
        cmocka_unit_test_setup(a_burst_is_met_within_a_second_and_soon_over, setup),
        cmocka_unit_test_setup(what_the_beginning_owes_is_repaid, setup),
        cmocka_unit_test_setup(the_mean_keeps_to_the_limit_whatever_comes, setup),
        cmocka_unit_test_setup(what_quiet_threads_cost_leaves_ticks_their_half, setup),
        cmocka_unit_test_setup(what_quiet_threads_cost_is_part_of_the_limit, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
