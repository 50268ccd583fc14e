/* Time that nobody could observe belongs to no function. Numbers are small: see test_fold.c. */
#include "account/fold.h"
#include "sample/gap_watch.h"

#include "lib/fake_stacks.h"

#include <string.h>

struct fixture {
    struct arena arena;
    struct tree tree;
    struct gaps gaps;
    struct fold fold;
    struct fold_thread thread;
};

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    assert_int_equal(arena_init(&fixture.arena, 1 << 22), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    fixture.fold = (struct fold){.tree = &fixture.tree, .period_ns = 10, .gaps = &fixture.gaps};
    fold_thread_begin(&fixture.thread, tree_root(&fixture.tree, 1),
                      &(struct fold_clocks){1000, 0, FOLD_NO_DELAY});
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

static void observe(struct fixture *fixture, uint64_t time, uint64_t until, uint64_t cpu, const char *stack)
{
    struct fake_path path = fake_path(&fixture->tree, stack ? stack : "");
    struct fold_observation observation = {.time_ns = time,
                                           .until_ns = until,
                                           .cpu_clock_ns = cpu,
                                           .delay_clock_ns = FOLD_NO_DELAY,
                                           .is_running = stack,
                                           .is_unchanged = !stack,
                                           .path = path.locations,
                                           .depth = path.depth};
    fold_observe(&fixture->fold, &fixture->thread, &observation);
}

static const struct values *at(const struct fixture *fixture, const char *stack)
{
    arena_ref node = fake_find(&fixture->tree, fixture->thread.root, stack);
    assert_int_not_equal(node, 0);
    return &tree_node(&fixture->tree, node)->self;
}

static const struct values *gap_at(const struct fixture *fixture, const char *stack, enum pseudo_frame pseudo)
{
    arena_ref node = fake_find(&fixture->tree, fixture->thread.root, stack);
    arena_ref child = fake_pseudo_child(&fixture->tree, node, pseudo);
    assert_int_not_equal(child, 0);
    return &tree_node(&fixture->tree, child)->self;
}

static void assert_wall(const struct values *values, uint64_t cpu_ns, uint64_t wall_ns)
{
    assert_int_equal(values->cpu_ns, cpu_ns);
    assert_int_equal(tree_wall_ns(values), wall_ns);
}

/* a until 1010; a tick is due at 1020, and comes at 1120: b. */
static void a_stop_is_no_functions_time(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 1010, 1010, 10, "a");
    gaps_add(&fixture->gaps, 1020, 1120, GAP_STOPPED);
    observe(fixture, 1120, 1120, 20, "b");
    assert_wall(at(fixture, "a"), 10, 10);
    assert_wall(at(fixture, "b"), 10, 10);
    assert_wall(gap_at(fixture, "a", PSEUDO_STOPPED), 0, 100);
    fold_thread_end(&fixture->fold, &fixture->thread, &(struct fold_clocks){1120, 20, FOLD_NO_DELAY},
                    FOLD_REST_UNSAMPLED);
    assert_int_equal(fake_wall_ns(&fixture->tree, fixture->thread.root), 120);
    assert_int_equal(fake_sum(&fixture->tree, fixture->thread.root).cpu_ns, 20);
}

/* The stretch of a ends before the gap, within 5 of what was seen before it; b has the other 5. */
static void the_last_stretch_ends_where_it_did(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 1010, FOLD_GOES_ON, 10, "a");
    gaps_add(&fixture->gaps, 1020, 1120, GAP_STOPPED);
    fold_stretch_ended(&fixture->thread, 1015);
    observe(fixture, 1120, 1120, 20, "b");
    assert_int_equal(tree_wall_ns(at(fixture, "a")), 15);
    assert_int_equal(tree_wall_ns(at(fixture, "b")), 5);
    assert_int_equal(tree_wall_ns(gap_at(fixture, "a", PSEUDO_STOPPED)), 100);
}

/* The stretch goes on over the gap, and 3 beyond it. */
static void a_stretch_goes_on_after_a_gap(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 1010, FOLD_GOES_ON, 10, "a");
    gaps_add(&fixture->gaps, 1020, 1120, GAP_STOPPED);
    fold_stretch_ended(&fixture->thread, 1123);
    observe(fixture, 1130, 1130, 30, "b");
    assert_int_equal(tree_wall_ns(at(fixture, "a")), 23);
    assert_int_equal(tree_wall_ns(at(fixture, "b")), 7);
    assert_int_equal(tree_wall_ns(gap_at(fixture, "a", PSEUDO_STOPPED)), 100);
}

/* It ran all the time on another CPU. */
static void cpu_time_that_fits_nowhere_else_is_the_gaps(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 1010, 1010, 10, "a");
    gaps_add(&fixture->gaps, 1020, 1120, GAP_NOT_OBSERVED);
    observe(fixture, 1120, 1120, 120, "b");
    assert_wall(gap_at(fixture, "a", PSEUDO_NOT_OBSERVED), 100, 100);
    assert_wall(at(fixture, "b"), 10, 10);
}

static void a_thread_that_has_not_run_is_known(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 1010, 1010, 10, "a");
    gaps_add(&fixture->gaps, 1020, 1120, GAP_NOT_OBSERVED);
    observe(fixture, 1120, 1120, 10, NULL);
    assert_int_equal(tree_wall_ns(at(fixture, "a")), 120);
}

static void a_thread_may_end_in_a_gap(void **state)
{
    struct fixture *fixture = *state;
    gaps_add(&fixture->gaps, 1020, 1120, GAP_STOPPED);
    gaps_add(&fixture->gaps, 1100, 1150, GAP_NOT_OBSERVED); /* only what is beyond the one before */
    fold_thread_end(&fixture->fold, &fixture->thread, &(struct fold_clocks){1140, 20, FOLD_NO_DELAY},
                    FOLD_REST_UNSAMPLED);
    assert_int_equal(tree_wall_ns(gap_at(fixture, "", PSEUDO_STOPPED)), 100);
    assert_int_equal(tree_wall_ns(gap_at(fixture, "", PSEUDO_NOT_OBSERVED)), 20);
    assert_int_equal(tree_wall_ns(gap_at(fixture, "", PSEUDO_UNSAMPLED)), 20);
    assert_int_equal(fixture->gaps.total_ns[GAP_NOT_OBSERVED], 30);
}

/* Samples by signal do not read the run delay. At the end it is known, and that it was in the gap. */
static void a_life_with_a_gap_is_as_long_as_it_was(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 1010, 1010, 10, "a");
    gaps_add(&fixture->gaps, 1020, 1120, GAP_NOT_OBSERVED);
    observe(fixture, 1130, 1130, 30, "b");
    fold_thread_end(&fixture->fold, &fixture->thread, &(struct fold_clocks){1130, 30, 100},
                    FOLD_REST_UNSAMPLED);
    assert_int_equal(tree_wall_ns(gap_at(fixture, "a", PSEUDO_NOT_OBSERVED)), 100);
    assert_wall(at(fixture, "a"), 10, 10);
    assert_wall(at(fixture, "b"), 20, 20);
    const struct claims_sums sums = claims_sum(&fixture->tree, fixture->thread.root, 0);
    assert_int_equal(tree_wall_ns(&sums.claimed) + tree_wall_ns(&sums.known), 130);
}

static void the_newest_gaps_are_kept(void **state)
{
    struct fixture *fixture = *state;
    for (uint64_t i = 0; i < 2 * GAPS_MAX; i++)
        gaps_add(&fixture->gaps, 10 * i, 10 * i + 1, GAP_STOPPED);
    struct gap_times times = gaps_between(&fixture->gaps, 0, UINT64_MAX);
    assert_int_equal(gaps_sum(&times), GAPS_MAX);
    times = gaps_between(&fixture->gaps, 20 * GAPS_MAX - 20, UINT64_MAX);
    assert_int_equal(gaps_sum(&times), 2);
}

static void causes_are_told_apart(void **state)
{
    (void)state;
    const struct gap_watch_runs before = {.delay_ns = 1000, .sleeps = 7};
    const struct gap_watch_runs once = {.delay_ns = 1100, .sleeps = 8}, stopped = {1100, 9},
                                starved = {1600, 9};
    assert_int_equal(gap_watch_judge(&before, &once, 1000), GAP_CAUSE_UNKNOWN);
    assert_int_equal(gap_watch_judge(&before, &stopped, 1000), GAP_CAUSE_STOPPED);
    assert_int_equal(gap_watch_judge(&before, &starved, 1000), GAP_CAUSE_STARVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stop_is_no_functions_time, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_stretch_ends_where_it_did, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stretch_goes_on_after_a_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(cpu_time_that_fits_nowhere_else_is_the_gaps, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_that_has_not_run_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_may_end_in_a_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(a_life_with_a_gap_is_as_long_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(the_newest_gaps_are_kept, setup, teardown),
        cmocka_unit_test(causes_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
