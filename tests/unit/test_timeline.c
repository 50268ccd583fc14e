/*
 * The timeline of observations that are fed through fold: ranges, their CPU time and weight, and what is left
 * when memory is full.
 */
#include "account/fold.h"

#include "base/clock.h"
#include "lib/fake_stacks.h"

#include <string.h>

enum { START_TICK = 100 };

static const uint64_t start_ns = 1000;

struct fixture {
    struct arena arena;
    struct tree tree;
    struct fold fold;
    struct timeline *timeline;
    struct fold_thread thread;
};

static void begin(struct fixture *fixture, size_t records)
{
    assert_int_equal(arena_init(&fixture->arena, 1 << 22), 0);
    assert_int_equal(tree_init(&fixture->tree, &fixture->arena), 0);
    fixture->timeline = timeline_create(records * sizeof(struct timeline_record), start_ns, 1);
    fixture->timeline->tick = START_TICK;
    fixture->fold =
        (struct fold){.tree = &fixture->tree, .period_ns = NS_PER_MS, .timeline = fixture->timeline};
}

static void begin_thread(struct fixture *fixture, struct fold_thread *thread, uint32_t number)
{
    fold_thread_begin(thread, tree_root(&fixture->tree, number),
                      &(struct fold_clocks){start_ns, 0, FOLD_NO_DELAY});
    timeline_begin(&thread->timeline, number, fixture->timeline->tick);
}

static int setup_of(void **state, size_t records)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    begin(&fixture, records);
    begin_thread(&fixture, &fixture.thread, 1);
    *state = &fixture;
    return 0;
}

static int setup(void **state)
{
    return setup_of(state, 1000);
}

enum { FEW = 64 };

static int setup_few(void **state)
{
    return setup_of(state, FEW);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    timeline_destroy(fixture->timeline);
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* ---- feeding ---- */

enum seen { RUNNING, WAITING };

struct observed {
    const char *stack; /* NULL: provably where it was */
    uint64_t time_us, cpu_us;
    enum seen seen;
    uint64_t until_us; /* 0: stands for nothing after it */
    uint32_t ticks;    /* how many ticks on its stretch ends */
};

static void observe_thread(struct fixture *fixture, struct fold_thread *thread, struct observed observed)
{
    struct fake_path path = fake_path(&fixture->tree, observed.stack ? observed.stack : "a");
    const struct fold_observation observation = {
        .time_ns = start_ns + observed.time_us * NS_PER_US,
        .until_ns = observed.until_us ? start_ns + observed.until_us * NS_PER_US : 0,
        .until_tick = fixture->timeline->tick + observed.ticks,
        .cpu_clock_ns = thread->cpu_clock_ns + observed.cpu_us * NS_PER_US,
        .is_running = observed.seen == RUNNING,
        .is_unchanged = !observed.stack,
        .path = path.locations,
        .depth = path.depth,
    };
    fold_observe(&fixture->fold, thread, &observation);
}

/* At the next tick. */
static void observe(struct fixture *fixture, struct observed observed)
{
    fixture->timeline->tick++;
    observe_thread(fixture, &fixture->thread, observed);
}

static void see(struct fixture *fixture, const char *stack, uint64_t time_us, uint64_t cpu_us, enum seen seen)
{
    observe(fixture, (struct observed){stack, time_us, cpu_us, seen, 0, 0});
}

static void see_thread(struct fixture *fixture, struct fold_thread *thread, const char *stack,
                       uint64_t time_us, uint64_t cpu_us)
{
    observe_thread(fixture, thread, (struct observed){stack, time_us, cpu_us, RUNNING, 0, 0});
}

static void end_at(struct fixture *fixture, uint64_t time_us, uint64_t cpu_us, enum fold_rest rest)
{
    struct fold_thread *thread = &fixture->thread;
    const struct fold_clocks end = {start_ns + time_us * NS_PER_US, thread->cpu_clock_ns + cpu_us * NS_PER_US,
                                    FOLD_NO_DELAY};
    fold_thread_end(&fixture->fold, thread, &end, rest);
    timeline_end(fixture->timeline, &thread->timeline);
}

static void assert_record(const struct fixture *fixture, uint32_t index, const char *stack, uint64_t first_us,
                          uint64_t last_us, uint64_t cpu_us, uint64_t wall_us, uint32_t observations,
                          uint32_t ticks)
{
    assert_true(index < fixture->timeline->count);
    const struct timeline_record *record = &fixture->timeline->records[index];
    assert_int_equal(record->thread, 1);
    assert_int_equal(record->node, fake_find(&fixture->tree, fixture->thread.root, stack));
    assert_int_equal(record->first_ns, start_ns + first_us * NS_PER_US);
    assert_int_equal(record->last_ns, start_ns + last_us * NS_PER_US);
    assert_int_equal(record->cpu_ns, cpu_us * NS_PER_US);
    assert_int_equal(record->later_cpu_ns, 0);
    assert_int_equal(record->wall_ns, wall_us * NS_PER_US);
    assert_int_equal(record->observations, observations);
    assert_int_equal(record->ticks, ticks);
}

/* ---- ranges ---- */

/* The example of the document on long idle stacks: eleven samples, 1.4 ms apart. */
static void the_idle_example(void **state)
{
    struct fixture *fixture = *state;
    see(fixture, "a", 100000, 500, RUNNING);
    see(fixture, "b", 101400, 100, WAITING);
    see(fixture, "b", 102800, 0, WAITING);
    see(fixture, NULL, 104200, 0, WAITING);
    see(fixture, NULL, 105600, 0, WAITING);
    see(fixture, "c", 107000, 700, RUNNING);
    see(fixture, "d", 108400, 600, WAITING);
    see(fixture, NULL, 109800, 0, WAITING);
    see(fixture, NULL, 111200, 0, WAITING);
    see(fixture, "d", 112600, 100, WAITING);
    see(fixture, NULL, 114000, 0, WAITING);
    assert_int_equal(fixture->timeline->count, 5);
    assert_record(fixture, 0, "a", 100000, 100000, 500, 100000, 1, 1);
    assert_record(fixture, 1, "b", 101400, 105600, 100, 5600, 4, 4);
    assert_record(fixture, 2, "c", 107000, 107000, 700, 1400, 1, 1);
    assert_record(fixture, 3, "d", 108400, 111200, 600, 4200, 3, 3);
    assert_record(fixture, 4, "d", 112600, 114000, 100, 2800, 2, 2);
}

static void who_runs_has_a_record_for_each_sample(void **state)
{
    struct fixture *fixture = *state;
    see(fixture, "a", 1000, 0, RUNNING);
    see(fixture, "a", 2000, 0, RUNNING);
    see(fixture, "a", 3000, 0, WAITING);
    assert_int_equal(fixture->timeline->count, 3);
}

/* Four ticks pass from sample to sample; the first stands for two that come after it. */
static void a_look_weighs_the_ticks_it_stands_for(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, (struct observed){"a", 1000, 10, WAITING, .until_us = 3000, .ticks = 2});
    fixture->timeline->tick += 3;
    observe(fixture, (struct observed){"b", 5000, 20, RUNNING, .until_us = 9000, .ticks = 4});
    fixture->timeline->tick += 1;
    end_at(fixture, 6500, 700, FOLD_REST_UNSAMPLED);
    assert_int_equal(fixture->timeline->count, 3);
    assert_record(fixture, 0, "a", 1000, 1000, 10, 3000, 1, 3);
    assert_record(fixture, 1, "b", 5000, 5000, 20, 3500, 1, 3);
    assert_record(fixture, 2, "b", 6500, 6500, 700, 0, 0, 0);
}

static void what_is_after_the_last_stretch_is_the_rest(void **state)
{
    struct fixture *fixture = *state;
    see(fixture, "a", 1000, 10, RUNNING);
    fixture->timeline->tick += 2;
    end_at(fixture, 3500, 40, FOLD_REST_UNSAMPLED);
    assert_int_equal(fixture->timeline->count, 2);
    const struct timeline_record *rest = &fixture->timeline->records[1];
    assert_int_equal(rest->node, fake_pseudo_child(&fixture->tree, fixture->thread.root, PSEUDO_UNSAMPLED));
    assert_int_equal(rest->cpu_ns, 40 * NS_PER_US);
    assert_int_equal(rest->wall_ns, 2500 * NS_PER_US);
    assert_int_equal(rest->observations, 0);
    assert_int_equal(rest->ticks, 2);
    assert_int_equal(rest->state, TIMELINE_UNKNOWN);
}

static void who_has_not_run_until_the_end_waits_until_then(void **state)
{
    struct fixture *fixture = *state;
    see(fixture, "a", 1000, 10, WAITING);
    end_at(fixture, 3500, 0, FOLD_REST_UNCHANGED);
    assert_int_equal(fixture->timeline->count, 1);
    assert_record(fixture, 0, "a", 1000, 3500, 10, 3500, 1, 1);
}

/* Before an exec that fails: nothing is counted twice. */
static void a_settled_thread_goes_on(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, (struct observed){"a", 1000, 10, WAITING, .until_us = 5000, .ticks = 4});
    fixture->timeline->tick += 1;
    const struct fold_clocks now = {start_ns + 2000 * NS_PER_US, fixture->thread.cpu_clock_ns, FOLD_NO_DELAY};
    fold_thread_settle(&fixture->fold, &fixture->thread, 0, &now, FOLD_REST_UNSAMPLED);
    assert_record(fixture, 0, "a", 1000, 1000, 10, 2000, 1, 2);
    fixture->timeline->tick += 3;
    see(fixture, "b", 6000, 0, RUNNING);
    assert_int_equal(fixture->timeline->count, 2);
    assert_record(fixture, 0, "a", 1000, 1000, 10, 5000, 1, 5);
    assert_record(fixture, 1, "b", 6000, 6000, 0, 1000, 1, 1);
}

/* ---- without room ---- */

struct sums {
    uint64_t cpu_ns, wall_ns, observations, ticks;
};

static struct sums sums_of(const struct timeline *timeline, uint32_t thread)
{
    struct sums sums = {0};
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_record *record = &timeline->records[i];
        if (record->thread != thread)
            continue;
        sums.cpu_ns += record->cpu_ns + record->later_cpu_ns;
        sums.wall_ns += record->wall_ns;
        sums.observations += record->observations;
        sums.ticks += record->ticks;
    }
    return sums;
}

/* Two threads by turns, a hundred times as much as there is room for. */
static void thinning_keeps_each_threads_sums(void **state)
{
    struct fixture *fixture = *state;
    struct fold_thread other;
    begin_thread(fixture, &other, 2);
    for (uint64_t i = 1; i <= 50 * FEW; i++) {
        see(fixture, i % 3 ? "a" : "b", i * 1000, 7, RUNNING);
        see_thread(fixture, &other, "c", i * 1000, 11);
        assert_true(fixture->timeline->count <= FEW);
    }
    struct sums one = sums_of(fixture->timeline, 1), two = sums_of(fixture->timeline, 2);
    assert_int_equal(one.cpu_ns, UINT64_C(50) * FEW * 7 * NS_PER_US);
    assert_int_equal(one.wall_ns, UINT64_C(50) * FEW * NS_PER_MS);
    assert_int_equal(one.observations, 50 * FEW);
    assert_int_equal(one.ticks, 50 * FEW);
    assert_int_equal(two.cpu_ns, UINT64_C(50) * FEW * 11 * NS_PER_US);
    assert_int_equal(two.ticks, 50 * FEW);
    assert_int_equal(fixture->timeline->dropped, 0);
    assert_int_equal(fixture->timeline->thinned, 100 * FEW - fixture->timeline->count);
}

/* What is old is equally coarse, however often there was no room. */
static void the_old_is_thinned_evenly_and_the_newest_is_whole(void **state)
{
    struct fixture *fixture = *state;
    for (uint64_t i = 1; i <= 50 * FEW; i++)
        see(fixture, "a", i * 1000, 7, RUNNING);
    const struct timeline *timeline = fixture->timeline;
    for (uint32_t i = 1; i < timeline->count; i++) {
        assert_true(timeline->records[i - 1].last_ns < timeline->records[i].first_ns);
    }
    for (uint32_t i = 0; i < FEW / 4; i++) /* most of the time lies in the older half, of about 25 by now */
        assert_in_range(timeline->records[i].observations, 50 * FEW / 50, 50 * FEW / 16);
    for (uint32_t i = timeline->count - FEW / 4; i < timeline->count; i++)
        assert_int_equal(timeline->records[i].observations, 1);
}

/* A quarter of the ticks is b's: of many recordings the mean must be that. */
static void thinning_is_unbiased(void **state)
{
    enum { RUNS = 400, LOOKS = 20 * FEW, QUARTER = LOOKS / 4 };
    double ticks = 0; /* of b */
    for (uint64_t run = 0; run < RUNS; run++) {
        struct fixture *fixture = *state;
        teardown(state);
        setup_few(state);
        random_init(&fixture->timeline->random, run);
        for (uint64_t i = 1; i <= LOOKS; i++)
            see(fixture, i % 4 ? "a" : "b", i * 1000, 7, RUNNING);
        arena_ref b = fake_find(&fixture->tree, fixture->thread.root, "b");
        for (uint32_t i = 0; i < fixture->timeline->count; i++)
            ticks += fixture->timeline->records[i].node == b ? fixture->timeline->records[i].ticks : 0;
    }
    assert_true(ticks / RUNS > 0.97 * QUARTER && ticks / RUNS < 1.03 * QUARTER);
}

/* What a thread waits in is found again after it has been moved. */
static void a_range_goes_on_over_thinning(void **state)
{
    struct fixture *fixture = *state;
    struct fold_thread busy;
    begin_thread(fixture, &busy, 2);
    for (uint64_t i = 1; i <= 10 * FEW; i++) {
        see(fixture, i == 1 ? "w" : NULL, i * 1000, i == 1 ? 5 : 0, WAITING);
        see_thread(fixture, &busy, "c", i * 1000, 11);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < fixture->timeline->count; i++)
        count += fixture->timeline->records[i].thread == 1;
    assert_int_equal(count, 1);
    assert_record(fixture, 0, "w", 1000, 10000 * FEW, 5, 10000 * FEW, 10 * FEW, 10 * FEW);
}

/* Nothing has a neighbour: half of the old is dropped. And where all are still open, the new ones are. */
static void many_threads_are_dropped_and_counted(void **state)
{
    struct fixture *fixture = *state;
    struct timeline *timeline = fixture->timeline;
    for (uint32_t i = 0; i < 4 * FEW; i++) {
        struct fold_thread thread;
        begin_thread(fixture, &thread, i + 2);
        timeline->tick++;
        see_thread(fixture, &thread, "a", i * 1000, 7);
        timeline_end(timeline, &thread.timeline);
        assert_true(timeline->count <= FEW);
    }
    assert_int_equal(timeline->thinned, 0);
    assert_int_equal(timeline->count + timeline->dropped, 4 * FEW);
    static struct fold_thread open[4 * FEW];
    for (uint32_t i = 0; i < 4 * FEW; i++) {
        begin_thread(fixture, &open[i], 1000 + i);
        see_thread(fixture, &open[i], "a", i * 1000, 7);
        assert_true(timeline->count <= FEW);
    }
    assert_int_equal(timeline->count + timeline->dropped, 8 * FEW);
}

/* ---- events ---- */

static void late_ticks_in_a_row_are_one_event(void **state)
{
    struct timeline *timeline = ((struct fixture *)*state)->timeline;
    const uint64_t ms = NS_PER_MS, s = NS_PER_S;
    timeline_event(timeline, &(struct timeline_event){1 * ms, 5 * ms, 4, 0, EVENT_LATE});
    timeline_event(timeline, &(struct timeline_event){7 * ms, 9 * ms, 2, 0, EVENT_LATE});
    timeline_event(timeline, &(struct timeline_event){3 * s, 3 * s + ms, 1, 0, EVENT_LATE});
    assert_int_equal(timeline->event_count, 2);
    assert_int_equal(timeline->events[0].begin_ns, 1 * ms);
    assert_int_equal(timeline->events[0].end_ns, 9 * ms);
    assert_int_equal(timeline->events[0].number, 6);
    for (int i = 0; i < 1000; i++)
        timeline_event(timeline, &(struct timeline_event){.kind = EVENT_FORK});
    assert_int_equal(timeline->event_count, timeline->event_capacity);
    assert_int_equal(timeline->event_count + timeline->dropped_events, 1002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_idle_example, setup, teardown),
        cmocka_unit_test_setup_teardown(who_runs_has_a_record_for_each_sample, setup, teardown),
        cmocka_unit_test_setup_teardown(a_look_weighs_the_ticks_it_stands_for, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_after_the_last_stretch_is_the_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_not_run_until_the_end_waits_until_then, setup, teardown),
        cmocka_unit_test_setup_teardown(a_settled_thread_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(thinning_keeps_each_threads_sums, setup_few, teardown),
        cmocka_unit_test_setup_teardown(the_old_is_thinned_evenly_and_the_newest_is_whole, setup_few,
                                        teardown),
        cmocka_unit_test_setup_teardown(thinning_is_unbiased, setup_few, teardown),
        cmocka_unit_test_setup_teardown(a_range_goes_on_over_thinning, setup_few, teardown),
        cmocka_unit_test_setup_teardown(many_threads_are_dropped_and_counted, setup_few, teardown),
        cmocka_unit_test_setup_teardown(late_ticks_in_a_row_are_one_event, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
