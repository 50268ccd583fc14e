/*
 * Who is sampled when; and the estimate is unbiased: programs that are only played are sampled by
 * schedule and folded by fold, over many runs, and the mean of what is found must be the truth. Seeds are
 * fixed, so chance fails no test.
 */
/* test: long */
#include "sample/schedule.h"

#include "lib/fake_program.h"
#include "lib/fake_stacks.h"
#include "lib/fake_statistics.h"
#include "account/fold.h"
#include "sample/overhead_limit.h"
#include "sample/tick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LOOKS = 8, HZ = 100, TICK_NS = NS_PER_S / HZ };

/* ---- a schedule alone: tick t is at t * TICK_NS ---- */

enum { MANY = 5000, CROWD = 40000 };

struct fixture {
    struct random_state random;
    struct schedule schedule;
    struct subject {
        struct schedule_thread schedule;     /* first: what the schedule hands out is this too */
        bool is_there, is_busy, is_quiet;    /* waiting: seen without a walk */
        uint64_t samples, last_tick, end_ns; /* end_ns: of the last sample's stretch, known at the next one */
    } subjects[CROWD];
    uint64_t samples, most; /* in all; and in one tick, of active and idle ones */
};

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    random_init(&fixture.random, 1);
    *state = &fixture;
    return schedule_init(&fixture.schedule, LOOKS, TICK_NS, &fixture.random);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    schedule_deinit(&fixture->schedule);
    return 0;
}

static void add(struct fixture *fixture, uint32_t from, uint32_t count, bool is_busy)
{
    for (uint32_t i = from; i < from + count; i++) {
        fixture->subjects[i] = (struct subject){.is_there = true, .is_busy = is_busy};
        schedule_add(&fixture->schedule, &fixture->subjects[i].schedule);
    }
}

static void take_away(struct fixture *fixture, struct subject *subject)
{
    schedule_remove(&fixture->schedule, &subject->schedule);
    subject->is_there = false;
}

static enum schedule_kind kind_of(const struct subject *subject)
{
    return subject->is_busy ? SCHEDULE_ACTIVE : subject->is_quiet ? SCHEDULE_QUIET : SCHEDULE_IDLE;
}

static uint32_t all_threads(const struct schedule *schedule)
{
    uint32_t sum = 0;
    for (int kind = 0; kind < SCHEDULE_KINDS; kind++)
        sum += schedule->count[kind];
    return sum;
}

/* A sample lies in its stretch, and the stretch begins where the last one ended. */
static void sample(struct fixture *fixture, struct subject *subject)
{
    struct schedule_thread *plan = &subject->schedule;
    uint64_t tick = fixture->schedule.tick, until_ns = schedule_until(&fixture->schedule, plan);
    assert_true(subject->is_there);
    assert_true(subject->last_tick < tick);
    if (subject->samples && subject->end_ns != UINT64_MAX && tick - subject->last_tick < SCHEDULE_SLOTS)
        assert_int_equal(subject->end_ns, plan->begin_ns);
    assert_true(plan->begin_ns < tick * TICK_NS);
    assert_int_equal(plan->sample_ns, tick * TICK_NS);
    assert_true(plan->goes_on ? until_ns == UINT64_MAX : until_ns == tick * TICK_NS);
    subject->end_ns = until_ns;
    subject->last_tick = tick;
    subject->samples++;
    schedule_seen(&fixture->schedule, plan, kind_of(subject));
}

static struct schedule_thread *next_of_tick(struct schedule *schedule, uint64_t now_ns)
{
    struct schedule_thread *next = schedule_next(schedule, SCHEDULE_TURN_KNOWN, now_ns);
    if (!next)
        next = schedule_next(schedule, SCHEDULE_TURN_FIRST, now_ns);
    return next ? next : schedule_next(schedule, SCHEDULE_TURN_QUIET, now_ns);
}

static void tick(struct fixture *fixture)
{
    struct schedule_thread *next;
    uint64_t count = 0, now_ns = (fixture->schedule.tick + 1) * TICK_NS;
    schedule_tick(&fixture->schedule, now_ns);
    for (; (next = next_of_tick(&fixture->schedule, now_ns)); fixture->samples++) {
        count += next->sampled == SCHEDULE_ACTIVE || next->sampled == SCHEDULE_IDLE;
        sample(fixture, (struct subject *)next);
    }
    if (count > fixture->most)
        fixture->most = count;
}

static void pass(struct fixture *fixture, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++)
        tick(fixture);
}

static void nobody_is_there(void **state)
{
    struct fixture *fixture = *state;
    pass(fixture, 3 * SCHEDULE_SLOTS);
    assert_int_equal(fixture->samples, 0);
}

static void few_threads_are_looked_at_in_every_tick(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, 0, LOOKS / 2, true);
    add(fixture, LOOKS / 2, LOOKS / 2, false);
    for (uint64_t i = 1; i <= 3 * SCHEDULE_SLOTS; i++) {
        tick(fixture);
        for (int j = 0; j < LOOKS; j++) {
            assert_int_equal(fixture->subjects[j].last_tick, i);
            assert_false(fixture->subjects[j].schedule.goes_on);
            assert_int_equal(fixture->subjects[j].schedule.begin_ns, (i - 1) * TICK_NS);
        }
    }
}

/* Samples per thread and second in a steady state. */
static double rate_of(struct fixture *fixture, uint32_t from, uint32_t count)
{
    enum { SECONDS = 400 };
    uint64_t samples = 0;
    for (uint32_t i = from; i < from + count; i++)
        samples -= fixture->subjects[i].samples;
    pass(fixture, SECONDS * HZ);
    for (uint32_t i = from; i < from + count; i++)
        samples += fixture->subjects[i].samples;
    return (double)samples / count / SECONDS;
}

struct rate_case {
    uint32_t busy, blocked;
    double busy_rate, blocked_rate; /* a second, each */
};

static void assert_near(double found, double expected)
{
    if (found < expected * 0.94 || found > expected * 1.06)
        fail_msg("%.3f samples a second, not %.3f", found, expected);
}

static void busy_threads_have_what_they_need_and_blocked_ones_the_rest(void **state)
{
    static const struct rate_case cases[] = {
        {4, 200, 100, 2},          /* the header's */
        {1, 4999, 100, 7 / 49.99}, /* one of very many */
        {6, 8, 100, 25},           /* more than half, as few idle ones leave it */
        {40, 0, 20, 0},            /* nobody else wants samples */
        {0, 80, 0, 10},            /* nor here */
        {40, 200, 10, 2},          /* half for each */
        {40, 40, 16, 4},           /* idle ones a quarter as often */
        {5, 100, 80, 4},           /* lengths are 1 and 2 by chance */
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct rate_case *c = &cases[i];
        add(fixture, 0, c->busy, true);
        add(fixture, c->busy, c->blocked, false);
        pass(fixture, 4 * SCHEDULE_LENGTH_MAX);
        if (c->busy)
            assert_near(rate_of(fixture, 0, c->busy), c->busy_rate);
        if (c->blocked)
            assert_near(rate_of(fixture, c->busy, c->blocked), c->blocked_rate);
        for (uint32_t j = 0; j < c->busy + c->blocked; j++)
            take_away(fixture, &fixture->subjects[j]);
        assert_int_equal(all_threads(&fixture->schedule), 0);
    }
}

static void add_quiet(struct fixture *fixture, uint32_t from, uint32_t count)
{
    add(fixture, from, count, false);
    for (uint32_t i = from; i < from + count; i++)
        fixture->subjects[i].is_quiet = true;
}

/* Busy ones have every tick from the end of their first stretch on. */
static void who_waits_takes_no_looks_from_who_runs(void **state)
{
    enum { BUSY = 4, FIRST = HZ / 2, SECONDS = 10 };
    static const uint32_t crowds[] = {0, 4, 5, 100, 1000, 5000, 20000};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(crowds); i++) {
        uint32_t quiet = crowds[i];
        add(fixture, 0, BUSY, true);
        add_quiet(fixture, BUSY, quiet);
        pass(fixture, FIRST + CROWD / SCHEDULE_NEW_MAX);
        for (uint32_t j = 0; j < BUSY + quiet; j++)
            assert_true(fixture->subjects[j].samples > 0);
        assert_near(rate_of(fixture, 0, BUSY), HZ);
        if (quiet > LOOKS)
            assert_near(rate_of(fixture, BUSY, quiet) * quiet,
                        (double)fixture->schedule.quiet_per_tick / SCHEDULE_ONE_SAMPLE * HZ);
        for (uint32_t j = 0; j < BUSY + quiet; j++)
            take_away(fixture, &fixture->subjects[j]);
    }
}

/* Ten at once, each of which is gone after two ticks. */
static void who_takes_the_place_of_another_has_no_more_looks_than_others(void **state)
{
    enum { AT_ONCE = 10 * LOOKS, TICKS = 1000 };
    struct fixture *fixture = *state;
    add(fixture, 0, AT_ONCE, true);
    pass(fixture, HZ);
    uint64_t before = fixture->samples;
    for (int i = 0; i < TICKS; i += 2) {
        for (uint32_t j = 0; j < AT_ONCE; j++)
            take_away(fixture, &fixture->subjects[j]);
        add(fixture, 0, AT_ONCE, true);
        pass(fixture, 2);
    }
    assert_true(fixture->samples - before < (uint64_t)TICKS * (LOOKS + 1) * 102 / 100);
}

/* Seen by one thread of a crowd, whose stretches have another length each time. */
static void every_tick_of_a_quiet_stretch_is_equally_likely(void **state)
{
    enum { BINS = 16, STRETCHES = 20000, QUIET = 1000 };
    struct fixture *fixture = *state;
    struct schedule_thread *plan = &fixture->subjects[0].schedule;
    uint64_t places[BINS] = {0}, before = 0;
    double expected[BINS] = {0}, off = 0;
    add_quiet(fixture, 0, QUIET);
    fixture->schedule.quiet_per_tick = 20 * SCHEDULE_ONE_SAMPLE;
    pass(fixture, 10 * HZ);
    for (uint64_t begin = 0; before < STRETCHES; tick(fixture)) {
        if (plan->begin == begin)
            continue;
        begin = plan->begin;
        before++;
        uint64_t first = plan->due - begin - 1;
        places[first * BINS / plan->length]++;
        for (uint64_t i = 0; i < plan->length; i++)
            expected[i * BINS / plan->length] += 1.0 / plan->length;
    }
    for (int i = 0; i < BINS; i++)
        off += ((double)places[i] - expected[i]) * ((double)places[i] - expected[i]) / expected[i];
    assert_true(off < fake_chi_square_limit(BINS - 1));
}

/* All of them by the same factor, and that within one stretch of theirs. */
static void spread_makes_all_looks_rarer(void **state)
{
    static const struct rate_case cases[] = {
        {4, 200, 100, 2}, {6, 8, 100, 25}, {40, 200, 10, 2}, {40, 40, 16, 4}, {1, 0, 100, 0}};
    static const double spreads[] = {1, 1.25, 3, 7.5, 20};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(cases) * COUNT(spreads); i++) {
        const struct rate_case *c = &cases[i / COUNT(spreads)];
        double spread = spreads[i % COUNT(spreads)];
        fixture->schedule.spread = (uint32_t)(spread * SCHEDULE_SPREAD_ONE);
        add(fixture, 0, c->busy, true);
        add(fixture, c->busy, c->blocked, false);
        pass(fixture, 4 * SCHEDULE_LENGTH_MAX);
        assert_int_equal(schedule_samples_per_tick(&fixture->schedule),
                         c->busy + c->blocked < LOOKS ? 1 : LOOKS);
        double busy = rate_of(fixture, 0, c->busy) * spread / c->busy_rate;
        double blocked = c->blocked ? rate_of(fixture, c->busy, c->blocked) * spread / c->blocked_rate : 1;
        if (busy < 0.94 || busy > 1.06 || blocked < 0.80 || blocked > 1.15)
            fail_msg("%u busy, %u blocked, spread %.2f: %.2f and %.2f of the samples", c->busy, c->blocked,
                     spread, busy, blocked);
        for (uint32_t j = 0; j < c->busy + c->blocked; j++)
            take_away(fixture, &fixture->subjects[j]);
    }
}

static void ticks_without_a_look_are_known_before(void **state)
{
    struct fixture *fixture = *state;
    uint64_t empty = 0;
    assert_int_equal(schedule_empty_ticks(&fixture->schedule, 100), 100);
    fixture->schedule.spread = 20 * SCHEDULE_SPREAD_ONE;
    add(fixture, 0, 2, true);
    assert_int_equal(schedule_empty_ticks(&fixture->schedule, 100), 0); /* not planned yet */
    for (int i = 0; i < 10000; i++) {
        tick(fixture);
        uint32_t count = schedule_empty_ticks(&fixture->schedule, 15);
        assert_in_range(count, 0, 15);
        uint64_t samples = fixture->samples;
        pass(fixture, count);
        assert_int_equal(fixture->samples, samples);
        if (count == 15)
            continue;
        tick(fixture);
        assert_true(fixture->samples > samples);
        empty += count;
    }
    assert_true(empty > 10000);
    do
        schedule_tick(&fixture->schedule, (fixture->schedule.tick + 1) * TICK_NS);
    while (!fixture->schedule.due[SCHEDULE_ACTIVE] ||
           fixture->schedule.slots[(fixture->schedule.tick + 1) % SCHEDULE_SLOTS].threads);
    fixture->schedule.left[SCHEDULE_ACTIVE] = 0; /* it is due in the next tick too, which has no other */
    assert_null(next_of_tick(&fixture->schedule, 0));
    assert_int_equal(schedule_empty_ticks(&fixture->schedule, 15), 0);
}

static void every_tick_of_a_stretch_is_equally_likely(void **state)
{
    enum { LENGTH = 20, ALL = LENGTH * LOOKS };
    struct fixture *fixture = *state;
    uint64_t places[LENGTH] = {0}, in_a_row[LENGTH * LENGTH] = {0}, before[ALL], stretches = 0;
    add(fixture, 0, ALL, false);
    pass(fixture, 10 * LENGTH);
    for (int i = 0; i < 20000; i++) {
        uint64_t samples[ALL];
        for (int j = 0; j < ALL; j++)
            samples[j] = fixture->subjects[j].samples;
        tick(fixture);
        for (int j = 0; j < ALL; j++) {
            if (samples[j] == fixture->subjects[j].samples)
                continue;
            uint64_t begin = fixture->subjects[j].schedule.begin - LENGTH;
            uint64_t place = fixture->schedule.tick - begin - 1;
            assert_in_range(place, 0, LENGTH - 1);
            places[place]++;
            if (i > LENGTH * 2)
                in_a_row[before[j] * LENGTH + place]++, stretches++;
            before[j] = place;
        }
    }
    assert_true(fake_chi_square(in_a_row, LENGTH * LENGTH, (double)stretches / LENGTH / LENGTH) <
                fake_chi_square_limit(LENGTH * LENGTH - 1));
    assert_true(places[0] > 0 && places[LENGTH - 1] > 0);
}

/* All begin at once, and then all turn from one kind to the other, and back. */
static void a_tick_has_a_bounded_number_of_samples(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, 0, MANY, true);
    for (int turn = 0; turn < 4; turn++) {
        pass(fixture, 2 * SCHEDULE_LENGTH_MAX);
        for (int i = 0; i < MANY; i++) {
            assert_true(fixture->subjects[i].samples > 0);
            fixture->subjects[i].samples = 0;
            fixture->subjects[i].is_busy ^= true;
        }
    }
    assert_in_range(fixture->most, LOOKS, SCHEDULE_BURST * LOOKS);
}

/* More than there are samples for even with the longest stretches: everyone's turn comes, one after the
 * other.
 */
static void too_many_threads_wait_for_their_turn(void **state)
{
    enum { ROUND = CROWD / SCHEDULE_BURST };
    struct fixture *fixture = *state;
    fixture->schedule.samples_per_tick = 1;
    add(fixture, 0, CROWD, false);
    pass(fixture, 2 * ROUND);
    assert_int_equal(fixture->most, SCHEDULE_BURST);
    for (uint32_t i = 0; i < CROWD; i++)
        fixture->subjects[i].samples = 0;
    pass(fixture, 3 * ROUND);
    for (uint32_t i = 0; i < CROWD; i++)
        assert_in_range(fixture->subjects[i].samples, 2, 4);
}

static void threads_come_and_go_at_any_time(void **state)
{
    struct fixture *fixture = *state;
    uint32_t there = 0;
    for (int i = 0; i < 200000; i++) {
        uint32_t dice = random_below(&fixture->random, 10);
        struct subject *subject = &fixture->subjects[random_below(&fixture->random, 300)];
        if (dice == 0)
            tick(fixture);
        else if (dice == 1 && subject->is_there && subject->samples)
            subject->is_busy ^= true, schedule_seen(&fixture->schedule, &subject->schedule, kind_of(subject));
        else if (subject->is_there) {
            take_away(fixture, subject);
            there--;
        } else {
            add(fixture, (uint32_t)(subject - fixture->subjects), 1, random_below(&fixture->random, 2));
            there++;
        }
        assert_int_equal(all_threads(&fixture->schedule), there);
    }
    for (uint32_t i = 0; i < 300; i++) {
        if (!fixture->subjects[i].is_there)
            continue;
        uint64_t samples = fixture->subjects[i].samples;
        pass(fixture, 200);
        assert_true(fixture->subjects[i].samples > samples);
        take_away(fixture, &fixture->subjects[i]);
    }
    uint64_t samples = fixture->samples;
    pass(fixture, SCHEDULE_SLOTS);
    assert_int_equal(fixture->samples, samples);
}

/* ---- what a reply does ---- */

/* One thread of many, until the sample after the next. */
static void sample_again(struct fixture *fixture, struct subject *subject)
{
    uint64_t samples = subject->samples;
    while (subject->samples == samples)
        tick(fixture);
}

static void a_thread_that_wakes_is_looked_at_often_from_the_next_stretch_on(void **state)
{
    struct fixture *fixture = *state;
    struct subject *subject = &fixture->subjects[0];
    add(fixture, 0, 400, false);
    pass(fixture, 1000);
    do
        sample_again(fixture, subject);
    while (!subject->schedule.goes_on);
    uint64_t begin = subject->schedule.begin;
    subject->is_busy = true;
    schedule_seen(&fixture->schedule, &subject->schedule, SCHEDULE_ACTIVE);
    assert_int_equal(subject->schedule.begin, begin); /* the stretch of the sample stays as it is */
    assert_int_equal(subject->schedule.length, 1);
    sample_again(fixture, subject);
    assert_int_equal(subject->last_tick, begin + 1);
}

static void a_thread_that_becomes_idle_has_stretches_that_grow(void **state)
{
    static const uint32_t lengths[] = {2, 4, 8, 16, 32};
    struct fixture *fixture = *state;
    struct subject *subject = &fixture->subjects[0];
    add(fixture, 0, 1, true);
    add(fixture, 1, 400, false);
    pass(fixture, 2000);
    assert_int_equal(subject->schedule.length, 1);
    subject->is_busy = false;
    schedule_seen(&fixture->schedule, &subject->schedule, SCHEDULE_IDLE);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        assert_int_equal(subject->schedule.length, lengths[i]);
        assert_false(subject->schedule.is_resting);
        sample_again(fixture, subject);
    }
    assert_in_range(subject->schedule.length, 45, 55);
    assert_true(subject->schedule.is_resting);
}

static void stretches_that_are_spread_grow_alike(void **state)
{
    static const uint32_t lengths[] = {8, 16, 32, 64, 128};
    struct fixture *fixture = *state;
    struct subject *subject = &fixture->subjects[0];
    fixture->schedule.spread = 4 * SCHEDULE_SPREAD_ONE;
    add(fixture, 0, 1, true);
    add(fixture, 1, 400, false);
    pass(fixture, 8000);
    do
        sample_again(fixture, subject);
    while (!subject->schedule.goes_on);
    assert_int_equal(subject->schedule.length, 4);
    subject->is_busy = false;
    schedule_seen(&fixture->schedule, &subject->schedule, SCHEDULE_IDLE);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        assert_int_equal(subject->schedule.length, lengths[i]);
        sample_again(fixture, subject);
    }
    assert_in_range(subject->schedule.length, 180, 220);
}

/* When all become idle at once there are no samples for that:
 * those at rest keep half of what idle ones have. */
static void growing_stretches_leave_looks_for_the_others(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, 0, 1000, true);
    add(fixture, 1000, 1000, false);
    pass(fixture, 5000);
    for (int round = 0; round < 20; round++) {
        uint64_t samples = fixture->samples, of_idle = 0;
        for (int i = 1000; i < 2000; i++)
            of_idle -= fixture->subjects[i].samples;
        for (int i = 0; i < 1000; i++)
            fixture->subjects[i].is_busy = random_below(&fixture->random, 4) == 0;
        pass(fixture, 1000);
        for (int i = 1000; i < 2000; i++)
            of_idle += fixture->subjects[i].samples;
        assert_in_range(fixture->samples - samples, 6 * 1000, LOOKS * 1080);
        assert_true(of_idle > 500);
    }
}

/* The stretch has begun: what has come to light since must not choose its length. */
static void a_late_reply_leaves_the_stretch_as_it_is(void **state)
{
    struct fixture *fixture = *state;
    struct subject *subject = &fixture->subjects[0];
    add(fixture, 0, 400, false);
    pass(fixture, 1000);
    do
        sample_again(fixture, subject);
    while (subject->schedule.due < subject->schedule.begin + 5);
    while (fixture->schedule.tick <= subject->schedule.begin)
        tick(fixture);
    struct schedule_thread before = subject->schedule;
    subject->is_busy = true;
    schedule_seen(&fixture->schedule, &subject->schedule, SCHEDULE_ACTIVE);
    assert_int_equal(subject->schedule.due, before.due);
    assert_int_equal(subject->schedule.length, before.length);
    assert_int_equal(schedule_until(&fixture->schedule, &subject->schedule), before.begin * TICK_NS);
    sample_again(fixture, subject);
    assert_int_equal(subject->schedule.length, 1);
}

static void an_observation_stands_for_the_stretch_of_its_sample(void **state)
{
    struct schedule_thread sample = {.begin_ns = 1000, .sample_ns = 1200, .goes_on = true};
    uint64_t time_ns = 1200;
    assert_int_equal(schedule_stretch(&sample, &time_ns), UINT64_MAX);
    time_ns = 1201; /* a silent thread's, found out later */
    assert_int_equal(schedule_stretch(&sample, &time_ns), UINT64_MAX);
    assert_int_equal(time_ns, 1201);
    time_ns = 1199; /* a reply to the request before, too late for it to be known then */
    assert_int_equal(schedule_stretch(&sample, &time_ns), 1000);
    assert_int_equal(time_ns, 1000);
    time_ns = 900;
    assert_int_equal(schedule_stretch(&sample, &time_ns), 1000);
    assert_int_equal(time_ns, 900);
    sample.goes_on = false;
    time_ns = 1200;
    assert_int_equal(schedule_stretch(&sample, &time_ns), 0);
}

/* ---- a program under observation ---- */

struct role {
    struct schedule_thread schedule; /* first, as above */
    struct fold_thread fold;
    struct fake_task task;
    uint64_t start_ns, wakings; /* of the task, at the last sample */
    bool is_gone;
};

struct play {
    struct random_state random;
    struct schedule schedule;
    struct tick tick;
    struct arena arena;
    struct tree tree;
    struct fold fold;
    struct role roles[MANY];
    uint32_t count, roots;
    uint64_t truth[FAKE_FUNCTIONS]; /* of the time that observations stand for */
    uint64_t blind[FAKE_FUNCTIONS]; /* of the rest: after each thread's last stretch */
    uint64_t lifetimes_ns, cpu_ns, blind_ns, samples;
    uint64_t seed_in_step;

    /* With a limit, as sampler.c does it. */
    struct overhead_limit restraint;
    uint64_t own_cpu_ns, skipped_ns[SCHEDULE_LENGTH_MAX];
    uint32_t skipped;
};

struct cast {
    const struct fake_kind *kind;
    uint32_t count;
};

static void enter(struct play *play, struct role *role, const struct fake_kind *kind, uint64_t now_ns)
{
    uint64_t seed = kind->in_step ? play->seed_in_step : random_next(&play->random);
    fake_begin(&role->task, kind, seed, now_ns, play->truth);
    fold_thread_begin(&role->fold, tree_root(&play->tree, ++play->roots),
                      &(struct fold_clocks){now_ns, 0, FOLD_NO_DELAY});
    role->fold.group = (uint32_t)(uintptr_t)kind; /* threads of one kind have one name */
    schedule_add(&play->schedule, &role->schedule);
    for (uint32_t i = 0; i < play->skipped; i++)
        role->schedule.begin += play->skipped_ns[i] > now_ns;
    role->start_ns = now_ns;
    role->wakings = 0;
    role->is_gone = false;
}

/* Up to the end of its last observation's stretch it has been observed, after it not. */
static void leave(struct play *play, struct role *role, uint64_t end_ns)
{
    struct fake_task *task = &role->task;
    fold_stretch_ended(&role->fold, schedule_until(&play->schedule, &role->schedule));
    schedule_remove(&play->schedule, &role->schedule);
    if (role->fold.until_ns > task->now_ns)
        fake_advance(task, role->fold.until_ns < end_ns ? role->fold.until_ns : end_ns);
    play->blind_ns += end_ns - task->now_ns;
    task->truth = play->blind;
    fake_advance(task, end_ns);
    const struct fold_clocks end = {end_ns, task->cpu_ns, FOLD_NO_DELAY};
    fold_thread_end(&play->fold, &role->fold, &end, FOLD_REST_UNSAMPLED);
    play->lifetimes_ns += end_ns - role->start_ns;
    play->cpu_ns += task->cpu_ns;
    role->is_gone = true;
}

static void observe(struct play *play, struct role *role)
{
    struct fake_task *task = &role->task;
    fold_stretch_ended(&role->fold, role->schedule.begin_ns);
    if (role->schedule.sample_ns >= task->end_ns)
        return; /* it does not reply any more */
    fake_advance(task, role->schedule.sample_ns);
    struct fake_path path = fake_path(&play->tree, (char[]){fake_function(task), 0});
    struct fold_observation observation = {.time_ns = role->schedule.sample_ns,
                                           .cpu_clock_ns = task->cpu_ns,
                                           .is_running = fake_is_running(task),
                                           .path = path.locations,
                                           .depth = path.depth};
    observation.until_ns = schedule_stretch(&role->schedule, &observation.time_ns);
    fold_observe(&play->fold, &role->fold, &observation);
    bool is_active = observation.is_running || task->wakings != role->wakings;
    bool is_by_signal = (role - play->roles) % 4 == 0;
    schedule_seen(&play->schedule, &role->schedule,
                  is_active      ? SCHEDULE_ACTIVE
                  : is_by_signal ? SCHEDULE_IDLE
                                 : SCHEDULE_QUIET);
    role->wakings = task->wakings;
}

/* Threads that have ended since the last tick; others of their kind take their places. */
static void replace_ended(struct play *play, uint64_t now_ns)
{
    for (uint32_t i = 0; i < play->count; i++) {
        struct role *role = &play->roles[i];
        uint64_t end_ns = role->task.end_ns;
        if (end_ns > now_ns)
            continue;
        leave(play, role, end_ns);
        enter(play, role, role->task.kind, end_ns + (now_ns - end_ns) / 2);
    }
}

/* The same where ticks have been left out: who begins is planned from then on, who ends has come through. */
static void replace_ended_late(struct play *play, uint64_t now_ns)
{
    uint32_t count = play->count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t end_ns = play->roles[i].task.end_ns;
        if (play->roles[i].is_gone || end_ns > now_ns)
            continue;
        assert_true(play->count < MANY);
        enter(play, &play->roles[play->count++], play->roles[i].task.kind, end_ns + (now_ns - end_ns) / 2);
    }
    for (uint32_t i = 0; i < play->skipped; i++)
        schedule_tick(&play->schedule, play->skipped_ns[i]);
    play->skipped = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!play->roles[i].is_gone && play->roles[i].task.end_ns <= now_ns)
            leave(play, &play->roles[i], play->roles[i].task.end_ns);
    }
}

static void skip_ticks(struct play *play, uint64_t now_ns)
{
    uint32_t empty = schedule_empty_ticks(&play->schedule, COUNT(play->skipped_ns));
    uint64_t part_ns = play->restraint.period_ns / 8, least_ns = 50 * NS_PER_MS;
    uint64_t until_ns = now_ns + (part_ns > least_ns ? part_ns : least_ns);
    while (play->skipped < empty && play->tick.deadline_ns < until_ns) {
        play->skipped_ns[play->skipped++] = play->tick.deadline_ns;
        tick_advance(&play->tick, play->tick.deadline_ns, &play->random);
    }
}

/* Who runs is 20 times as dear to sample as who waits. */
static void restrain(struct play *play, uint64_t now_ns)
{
    struct overhead_limit_use use = {.now_ns = now_ns,
                                     .samples = play->samples,
                                     .own_cpu_ns = play->own_cpu_ns,
                                     .samples_per_tick = schedule_samples_per_tick(&play->schedule),
                                     .processes = 1};
    if (!overhead_limit_is_due(&play->restraint, now_ns, play->samples))
        return;
    overhead_limit_judge(&play->restraint, &use);
    play->schedule.spread = (uint32_t)(play->restraint.period_ns * SCHEDULE_SPREAD_ONE / TICK_NS);
}

static bool is_counted(const struct play *play, const struct schedule_thread *sampled)
{
    return sampled->sampled == SCHEDULE_ACTIVE || sampled->sampled == SCHEDULE_IDLE ||
           (sampled->sampled == SCHEDULE_QUIET && !schedule_is_crowded(&play->schedule));
}

static void play_tick(struct play *play, uint64_t now_ns)
{
    struct schedule_thread *next;
    uint64_t samples = 0, counted = 0;
    tick_advance(&play->tick, now_ns, &play->random);
    if (play->restraint.limit_ppm) {
        restrain(play, now_ns);
        replace_ended_late(play, now_ns);
    } else
        replace_ended(play, now_ns);
    schedule_tick(&play->schedule, now_ns);
    for (; (next = next_of_tick(&play->schedule, now_ns + samples * NS_PER_US)); samples++) {
        bool is_counted_now = is_counted(play, next);
        observe(play, (struct role *)next);
        counted += is_counted_now;
        if (is_counted_now)
            play->own_cpu_ns +=
                fake_is_running(&((struct role *)next)->task) ? 400 * NS_PER_US : 20 * NS_PER_US;
    }
    assert_true(counted <= SCHEDULE_BURST * LOOKS);
    play->samples += counted;
    if (play->restraint.limit_ppm)
        skip_ticks(play, now_ns);
}

static void play_begin(struct play *play, const struct cast *cast, size_t kinds, uint64_t seed)
{
    memset(play, 0, sizeof(*play));
    random_init(&play->random, seed);
    play->seed_in_step = seed;
    assert_int_equal(schedule_init(&play->schedule, LOOKS, TICK_NS, &play->random), 0);
    assert_int_equal(arena_init(&play->arena, 1 << 26), 0);
    assert_int_equal(tree_init(&play->tree, &play->arena), 0);
    play->fold = (struct fold){.tree = &play->tree, .period_ns = TICK_NS};
    tick_init(&play->tick, TICK_NS, NS_PER_S, &play->random);
    for (size_t k = 0; k < kinds; k++) {
        for (uint32_t i = 0; i < cast[k].count; i++)
            enter(play, &play->roles[play->count++], cast[k].kind, NS_PER_S);
    }
}

static void play_end(struct play *play)
{
    schedule_deinit(&play->schedule);
    tree_deinit(&play->tree);
    arena_deinit(&play->arena);
}

/* What was found, by function; 0 is [unsampled]. */
static void add_up(const struct play *play, struct values found[FAKE_FUNCTIONS])
{
    memset(found, 0, sizeof(*found) * FAKE_FUNCTIONS);
    for (arena_ref root = play->tree.newest_root; root; root = tree_node(&play->tree, root)->next_sibling) {
        for (arena_ref node = root; node; node = fake_next(&play->tree, root, node)) {
            arena_ref at = tree_node(&play->tree, node)->location;
            uint64_t letter = at ? tree_location_at(&play->tree, at)->address >> 8 : 0;
            fake_add_values(&found[letter], &tree_node(&play->tree, node)->self);
        }
    }
}

/* No nanosecond is lost or found twice. */
static void assert_conserved(const struct play *play, const struct values found[FAKE_FUNCTIONS])
{
    struct values sum = {0};
    for (int i = 0; i < FAKE_FUNCTIONS; i++)
        fake_add_values(&sum, &found[i]);
    assert_int_equal(sum.cpu_ns, play->cpu_ns);
    assert_int_equal(sum.blocked_ns, play->lifetimes_ns - play->cpu_ns);
}

static void play_threads(struct play *play, uint32_t seconds, struct values found[FAKE_FUNCTIONS])
{
    uint64_t end_ns = (uint64_t)(seconds + 1) * NS_PER_S;
    while (play->tick.deadline_ns + NS_PER_MS < end_ns)
        play_tick(play, play->tick.deadline_ns);
    for (uint32_t i = 0; i < play->count; i++) {
        if (!play->roles[i].is_gone)
            leave(play, &play->roles[i], end_ns);
    }
    add_up(play, found);
    assert_conserved(play, found);
}

/* ---- many runs ---- */

/* How far a function's time was off in each run: its sum, and that of its squares; seconds. */
struct errors {
    double truth, sum, squares;
};

static void add_error(struct errors *errors, uint64_t found_ns, uint64_t true_ns)
{
    double off = ((double)found_ns - (double)true_ns) / NS_PER_S;
    errors->truth += (double)true_ns / NS_PER_S;
    errors->sum += off;
    errors->squares += off * off;
}

static void add_errors(struct errors errors[FAKE_FUNCTIONS], const struct play *play,
                       const struct values found[FAKE_FUNCTIONS])
{
    for (int i = 1; i < FAKE_FUNCTIONS; i++)
        add_error(&errors[i], tree_wall_ns(&found[i]), play->truth[i]);
}

/* Calibrated to clocks, claims have a bias of the order of 1 / observations, here of a few (fold.h). */
static const double calibration_bias = 0.01;

/*
 * The mean error is within 4 standard errors of 0, or of the seconds allowed. unclaimed: what no observation
 * has claimed although there were some, so that it is [unsampled]. The total of a part is known. So an
 * estimate of all of it may be too small by chance, but never too large: on average it lacks up to a standard
 * deviation.
 */
static void assert_unbiased(char function, const struct errors *errors, uint32_t runs, double allowed,
                            double unclaimed)
{
    double mean = errors->sum / runs, variance = (errors->squares - mean * errors->sum) / (runs - 1);
    allowed += calibration_bias * errors->truth / runs;
    double below = allowed + fmin(unclaimed / runs, sqrt(variance));
    double above = mean > allowed ? mean - allowed : mean < -below ? mean + below : 0;
    if (above * above > 16 * variance / runs)
        fail_msg("%c: %+.4f s of %.4f s off on average, variance of one run %.6f s^2, %u runs", function,
                 mean, errors->truth / runs, variance, runs);
}

/* allowed: so much of each life in seconds. */
static void check_limited(const struct cast *cast, size_t kinds, uint32_t seconds, uint32_t runs,
                          uint32_t limit_ppm, double allowed)
{
    uint64_t lives = 0;
    double unclaimed = 0;
    static struct play play;
    static struct values found[FAKE_FUNCTIONS];
    struct errors errors[FAKE_FUNCTIONS] = {0};
    for (uint32_t i = 0; i < runs; i++) {
        play_begin(&play, cast, kinds, i + 1);
        overhead_limit_init(&play.restraint, limit_ppm, TICK_NS, SCHEDULE_LENGTH_MAX);
        play_threads(&play, seconds, found);
        add_errors(errors, &play, found);
        unclaimed += ((double)tree_wall_ns(&found[0]) - (double)play.blind_ns) / NS_PER_S;
        lives += play.roots;
        assert_true(play.samples <= LOOKS * play.schedule.tick * 102 / 100);
        play_end(&play);
    }
    for (int i = 1; i < FAKE_FUNCTIONS; i++)
        assert_unbiased((char)i, &errors[i], runs, allowed * (double)lives / runs, unclaimed);
}

static void check(const struct cast *cast, size_t kinds, uint32_t seconds, uint32_t runs)
{
    check_limited(cast, kinds, seconds, runs, 0, 0);
}

/* Waits are small letters, work capitals; durations in ms, and how much they vary in per cent. */
static const struct fake_kind sleepy = {{{'s', 40, 0}, {'t', 10, 0}}, 0, false};
static const struct fake_kind bursts = {{{'w', 990, 0}, {'B', 10, 0}}, 0, false};
static const struct fake_kind busy = {{{'F', 30, 50}, {'G', 10, 50}}, 0, false};
static const struct fake_kind idle = {{{'i', 20000, 50}, {'R', 2000, 50}}, 0, false};
static const struct fake_kind flicker = {{{'p', 300, 50}, {'Q', 3, 50}}, 0, false};
static const struct fake_kind server = {{{'x', 300, 90}, {'Y', 150, 90}}, 0, false};
static const struct fake_kind brief = {{{'U', 60, 50}, {'v', 40, 50}}, 700, false};
static const struct fake_kind waking = {{{'k', 500, 20}, {'K', 3, 50}}, 0, false};
static const struct fake_kind turns = {
    {{'C', 30, 50}, {'c', 90, 50}, {'D', 10, 50}, {'d', 70, 50}}, 0, false};
static const struct fake_kind blocked = {{{'z', 1000000, 50}, {'z', 1000000, 50}}, 0, false};
static const struct fake_kind newborn = {{{'N', 150, 50}, {'n', 5000, 50}}, 700, true};
static const struct fake_kind slow_phases = {{{'A', 2000, 30}, {'a', 2000, 30}}, 0, true};
static const struct fake_kind fast_phases = {{{'C', 500, 30}, {'c', 500, 30}}, 0, true};

static void five_threads(void **state)
{
    static const struct cast cast[] = {{&sleepy, 1}, {&bursts, 1}, {&busy, 1}, {&idle, 1}, {&flicker, 1}};
    check(cast, COUNT(cast), 60, 100);
}

static void thirty_threads(void **state)
{
    static const struct cast cast[] = {{&sleepy, 6},  {&bursts, 6}, {&busy, 3}, {&idle, 4},
                                       {&flicker, 4}, {&server, 4}, {&brief, 3}};
    check(cast, COUNT(cast), 60, 60);
}

static void a_few_busy_threads_among_idle_ones(void **state)
{
    static const struct cast cast[] = {
        {&busy, 4}, {&bursts, 20}, {&server, 10}, {&idle, 10}, {&blocked, 160}};
    check(cast, COUNT(cast), 60, 60);
}

static void two_hundred_threads(void **state)
{
    static const struct cast cast[] = {{&sleepy, 10},  {&bursts, 50}, {&busy, 4},  {&idle, 50},
                                       {&flicker, 50}, {&server, 20}, {&brief, 20}};
    check(cast, COUNT(cast), 60, 60);
}

/* All of them idle lately, at any time: growing stretches alone would take twice the samples there are. */
static void threads_that_wake_now_and_then(void **state)
{
    static const struct cast cast[] = {{&waking, 200}};
    check(cast, COUNT(cast), 60, 20);
}

/*
 * A function's CPU time is the CPU time of its thread by what share of its work it has, which is only as good
 * as the thread has been sampled often; so with some allowance: here D has 12 s.
 */
static void cpu_time_is_shared_out_rightly(void **state)
{
    enum { RUNS = 40 };
    static const struct cast cast[] = {{&turns, 4}, {&sleepy, 10}, {&server, 4}, {&idle, 12}};
    static struct play play;
    static struct values found[FAKE_FUNCTIONS];
    struct errors errors = {0};
    for (uint32_t i = 0; i < RUNS; i++) {
        play_begin(&play, cast, COUNT(cast), i + 1);
        play_threads(&play, 60, found);
        add_error(&errors, found['D'].cpu_ns, play.truth['D']);
        play_end(&play);
    }
    if (errors.sum > 0.03 * errors.truth || errors.sum < -0.03 * errors.truth)
        fail_msg("%+.4f s of %.4f s off on average", errors.sum / RUNS, errors.truth / RUNS);
}

static void five_thousand_threads(void **state)
{
    static const struct cast cast[] = {{&sleepy, 100},  {&bursts, 1000}, {&busy, 10},  {&idle, 3000},
                                       {&flicker, 500}, {&server, 290},  {&brief, 100}};
    check(cast, COUNT(cast), 120, 15);
}

/* From their births on, with some that wake now and then. */
static void two_busy_threads_in_a_crowd(void **state)
{
    static const struct cast few[] = {{&busy, 2}, {&flicker, 4}, {&idle, 4}, {&blocked, 100}};
    static const struct cast many[] = {{&busy, 2}, {&waking, 10}, {&idle, 100}, {&blocked, 2000}};
    check(few, COUNT(few), 10, 1000);
    check(many, COUNT(many), 10, 200);
}

/*
 * 1 % of a core, where 8 samples at threads that run take 3.2 ms and at such that wait 0.16: the samples get
 * rarer by up to 64 times when all threads begin to run, in step, and more frequent when they wait.
 */
static void restraint_while_all_run_and_while_all_wait(void **state)
{
    static const struct cast few[] = {{&slow_phases, 4}}, more[] = {{&slow_phases, 40}},
                             fast[] = {{&fast_phases, 40}},
                             mixed[] = {{&fast_phases, 20}, {&busy, 2}, {&brief, 5}, {&server, 10}};
    check_limited(few, COUNT(few), 120, 100, 10000, 0);
    check_limited(more, COUNT(more), 120, 40, 10000, 0);
    check_limited(fast, COUNT(fast), 120, 40, 10000, 0);
    check_limited(mixed, COUNT(mixed), 120, 120, 10000, 0);
}

/*
 * Ticks are left out while threads begin, which all do the same thing first. Of that a sample the end of
 * each tick, as without restraint, would miss half a tick: what a thread begins with is only ended by a
 * sample.
 */
static void restraint_while_threads_come_and_go(void **state)
{
    static const struct cast cast[] = {{&newborn, 6}, {&busy, 1}};
    check_limited(cast, COUNT(cast), 120, 200, 3000, 0.5 / HZ);
    check_limited(cast, COUNT(cast), 120, 100, 10000, 0.5 / HZ);
    check_limited(cast, COUNT(cast), 120, 50, 0, 0.5 / HZ);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(nobody_is_there),
        TEST(few_threads_are_looked_at_in_every_tick),
        TEST(busy_threads_have_what_they_need_and_blocked_ones_the_rest),
        TEST(who_waits_takes_no_looks_from_who_runs),
        TEST(who_takes_the_place_of_another_has_no_more_looks_than_others),
        TEST(spread_makes_all_looks_rarer),
        TEST(ticks_without_a_look_are_known_before),
        TEST(every_tick_of_a_stretch_is_equally_likely),
        TEST(every_tick_of_a_quiet_stretch_is_equally_likely),
        TEST(a_tick_has_a_bounded_number_of_samples),
        TEST(too_many_threads_wait_for_their_turn),
        TEST(threads_come_and_go_at_any_time),
        TEST(a_thread_that_wakes_is_looked_at_often_from_the_next_stretch_on),
        TEST(a_thread_that_becomes_idle_has_stretches_that_grow),
        TEST(stretches_that_are_spread_grow_alike),
        TEST(growing_stretches_leave_looks_for_the_others),
        TEST(a_late_reply_leaves_the_stretch_as_it_is),
        TEST(an_observation_stands_for_the_stretch_of_its_sample),
        cmocka_unit_test(five_threads),
        cmocka_unit_test(thirty_threads),
        cmocka_unit_test(a_few_busy_threads_among_idle_ones),
        cmocka_unit_test(two_hundred_threads),
        cmocka_unit_test(threads_that_wake_now_and_then),
        cmocka_unit_test(cpu_time_is_shared_out_rightly),
        cmocka_unit_test(five_thousand_threads),
        cmocka_unit_test(two_busy_threads_in_a_crowd),
        cmocka_unit_test(restraint_while_all_run_and_while_all_wait),
        cmocka_unit_test(restraint_while_threads_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
