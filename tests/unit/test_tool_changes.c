/*
 * What changes between samples leave at nodes, and the error bars that are made of them. Times are small
 * numbers, so every sum can be checked by head. tests/coverage tests how often the bars hold the truth.
 */
#include "account/fold.h"
#include "encode/pprof_changes.h"
#include "lib/fake_stacks.h"
#include "tool/report/report_error.h"

#include <string.h>

enum { PERIOD = 10, START = 1000 };
enum seen { RUNNING, WAITING, UNCHANGED };

struct fixture {
    struct arena arena;
    struct tree tree;
    struct fold fold;
    struct fold_thread thread;
};

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    assert_int_equal(arena_init(&fixture.arena, 1 << 20), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    fixture.fold = (struct fold){.tree = &fixture.tree, .period_ns = PERIOD};
    fold_thread_begin(&fixture.thread, tree_root(&fixture.tree, 1),
                      &(struct fold_clocks){START, 0, FOLD_NO_DELAY});
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

static void observe(struct fixture *fixture, uint64_t time, enum seen seen, const char *stack)
{
    struct fake_path path = fake_path(&fixture->tree, stack);
    struct fold_observation observation = {.time_ns = START + time,
                                           .cpu_clock_ns = seen == RUNNING ? time : 0,
                                           .delay_clock_ns = FOLD_NO_DELAY,
                                           .is_running = seen == RUNNING,
                                           .is_unchanged = seen == UNCHANGED,
                                           .path = path.locations,
                                           .depth = path.depth};
    fold_observe(&fixture->fold, &fixture->thread, &observation);
}

static void end(struct fixture *fixture, uint64_t time)
{
    fold_thread_end(&fixture->fold, &fixture->thread,
                    &(struct fold_clocks){START + time, time, FOLD_NO_DELAY}, FOLD_REST_UNSAMPLED);
}

static struct changes sum(const struct fixture *fixture, const char *stack)
{
    struct changes sum = {0};
    arena_ref root = fake_find(&fixture->tree, fixture->thread.root, stack);
    assert_int_not_equal(root, 0);
    for (arena_ref node = root; node; node = fake_next(&fixture->tree, root, node))
        tree_add_changes(&sum, &tree_node(&fixture->tree, node)->changes);
    return sum;
}

/* The changes of a node itself, and those of its subtree. */
static void assert_changes(const struct fixture *fixture, const char *stack, float flat_near, float flat_far,
                           float cum_near, float cum_far)
{
    arena_ref node = fake_find(&fixture->tree, fixture->thread.root, stack);
    const struct changes self = tree_node(&fixture->tree, node)->changes, all = sum(fixture, stack);
    assert_float_equal(self.flat_near, flat_near, 0.01);
    assert_float_equal(self.flat_far, flat_far, 0.01);
    assert_float_equal(all.cum_near, cum_near, 0.01);
    assert_float_equal(all.cum_far, cum_far, 0.01);
}

/* The first sample of a thread counts in full, at all frames: 10^2. */
static void a_change_counts_half_for_each_side(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, RUNNING, "mf");
    observe(fixture, 20, RUNNING, "mf");
    observe(fixture, 30, RUNNING, "mg");
    observe(fixture, 40, RUNNING, "mg");
    end(fixture, 40);
    assert_changes(fixture, "mf", 100 + 50, 100 + 100, 100 + 50, 100 + 100);
    assert_changes(fixture, "mg", 50, 100, 50, 100);
    assert_changes(fixture, "m", 0, 0, 100, 100);
}

static void another_place_in_a_function_is_no_change(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, RUNNING, "m1f1");
    observe(fixture, 20, RUNNING, "m2f2");
    end(fixture, 20);
    assert_changes(fixture, "m1f1", 100, 100, 100, 100);
    assert_changes(fixture, "m2f2", 0, 0, 0, 0);
}

/* A function is not left while it calls another, but its own time ends. */
static void a_call_changes_only_what_is_below(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, RUNNING, "mf");
    observe(fixture, 20, RUNNING, "mf1g");
    end(fixture, 20);
    assert_changes(fixture, "mf", 100 + 50, 100, 100, 100);
    assert_changes(fixture, "mf1g", 50, 0, 50, 0);
    assert_changes(fixture, "mf1", 0, 0, 0, 0);
}

/* 10 and 30 long: (10^3 + 30^3) / 40. */
static void the_longer_stretch_counts_for_more(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, RUNNING, "f");
    observe(fixture, 40, RUNNING, "g");
    end(fixture, 40);
    assert_changes(fixture, "g", 350, 0, 350, 0);
}

static void time_without_running_has_no_weight(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, WAITING, "f");
    observe(fixture, 1000, UNCHANGED, "f");
    observe(fixture, 1010, WAITING, "g");
    end(fixture, 1010);
    assert_changes(fixture, "f", 150, 100, 150, 100);
    assert_changes(fixture, "g", 50, 0, 50, 0);
}

/* Between them nothing is left to chance, as both are scaled to the clocks. */
static void running_and_waiting_are_compared_apart(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, RUNNING, "f");
    observe(fixture, 20, WAITING, "w");
    observe(fixture, 30, RUNNING, "f");
    observe(fixture, 40, WAITING, "w");
    end(fixture, 40);
    assert_changes(fixture, "f", 100, 100, 100, 100);
    assert_changes(fixture, "w", 100, 100, 100, 100);
}

/* Half of the threads are in f, half in g, and each has one sample. */
static void threads_with_one_sample_are_compared_with_each_other(void **state)
{
    struct fixture *fixture = *state;
    double near = 0;
    for (int i = 0; i < 100; i++) {
        observe(fixture, 10, RUNNING, i % 4 < 2 ? "f" : "g");
        end(fixture, 10);
        near += sum(fixture, i % 4 < 2 ? "f" : "g").cum_near;
        fold_thread_begin(&fixture->thread, tree_root(&fixture->tree, (uint32_t)i + 2),
                          &(struct fold_clocks){START, 0, FOLD_NO_DELAY});
    }
    assert_float_equal(near, 50 * 100, 1);
}

/* A thread that is where it always was: its first stretch has an uncertain beginning, and that is all. */
static void a_long_life_has_one_end(void **state)
{
    struct fixture *fixture = *state;
    observe(fixture, 10, WAITING, "f");
    for (uint64_t time = 20; time <= 100; time += 10)
        observe(fixture, time, UNCHANGED, "f");
    end(fixture, 100);
    assert_changes(fixture, "f", 100, 200, 100, 200);
}

static void labels_change_too(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    for (int i = 0; i < 2; i++) {
        struct fake_path path = fake_path(tree, "f");
        path.locations[path.depth++] = tree_label(tree, "request", i ? "one" : "two");
        struct fold_observation observation = {.time_ns = START + 10 + 10 * (uint64_t)i,
                                               .is_running = true,
                                               .path = path.locations,
                                               .depth = path.depth,
                                               .label_count = 1};
        fold_observe(&fixture->fold, &fixture->thread, &observation);
    }
    end(fixture, 20);
    arena_ref label = tree_child(tree, fixture->thread.root, tree_label(tree, "request", "one"));
    arena_ref frame = fake_child(tree, label, fake_path(tree, "f").locations[0]);
    assert_float_equal(tree_node(tree, label)->changes.cum_near + tree_node(tree, frame)->changes.cum_near,
                       50, 0.01);
    assert_float_equal(tree_node(tree, frame)->changes.cum_near, 0, 0.01);
}

/* To a hundredth of the squared period. */
static void numbers_survive_a_pprof_file(void **state)
{
    (void)state;
    static const float squares[] = {0, 100, -100, 12345678, -7, 2.5e15F};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) {
        uint64_t number = pprof_changes_encode(squares[i], PERIOD);
        assert_float_equal(pprof_changes_decode(number, PERIOD) / (squares[i] + 1e-3F), squares[i] ? 1 : 0,
                           0.01);
    }
    assert_int_equal(pprof_changes_encode(1e38F, 1), 0);
    assert_int_equal(pprof_changes_encode(100, 0), 0);
    assert_float_equal(pprof_changes_decode(UINT64_MAX - 1, UINT64_C(1) << 62), 0, 0);
}

/* A node without values has no sample: what it takes away stands in the next sample below it. */
static void a_node_without_values_is_told_by_the_one_below(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    struct protobuf_writer numbers = {0};
    struct pprof_changes changes = {PERIOD, UINT32_MAX};
    observe(fixture, 10, RUNNING, "mf1a");
    observe(fixture, 20, RUNNING, "mf1b");
    end(fixture, 20);
    arena_ref above = fake_find(tree, fixture->thread.root, "mf1"), a = fake_find(tree, above, "a");
    pprof_changes_pass(&changes, tree, fixture->thread.root);
    pprof_changes_pass(&changes, tree, fake_find(tree, fixture->thread.root, "m"));
    pprof_changes_pass(&changes, tree, above);
    pprof_changes_write(&changes, tree, a, &numbers);
    /* flat 150, 100; cum 150, 100; one node above -100, 0 */
    static const unsigned char expected[] = {0xac, 2, 0xc8, 1, 0xac, 2, 0xc8, 1, 1, 0xc7, 1, 0};
    assert_int_equal(numbers.used, sizeof expected);
    assert_memory_equal(numbers.bytes, expected, sizeof expected);
    pprof_changes_write(&changes, tree, fake_find(tree, above, "b"), &numbers);
    assert_int_equal(numbers.used, 4); /* 50, 0, 50, 0, and nobody passed by */
    protobuf_deinit(&numbers);
}

/* Read and written again it would be another file: nothing is left of such a number. */
static void what_rounds_to_nothing_is_not_written(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    struct protobuf_writer numbers = {0};
    struct pprof_changes changes = {PERIOD, UINT32_MAX};
    observe(fixture, 10, RUNNING, "ma");
    observe(fixture, 20, RUNNING, "mb");
    end(fixture, 20);
    arena_ref above = fake_find(tree, fixture->thread.root, "m"), b = fake_find(tree, above, "b");
    tree_node(tree, above)->changes = (struct changes){.cum_near = -0.3F, .cum_far = 0.3F};
    tree_node(tree, b)->changes = (struct changes){0.3F, -0.3F, 0.3F, 0.3F};
    pprof_changes_pass(&changes, tree, fixture->thread.root);
    pprof_changes_pass(&changes, tree, above);
    pprof_changes_write(&changes, tree, b, &numbers);
    assert_int_equal(numbers.used, 0);
    protobuf_deinit(&numbers);
}

static void assert_error(double near, double far, uint64_t wall_ns, uint64_t expected)
{
    const struct values values = {.samples = 10, .cpu_ns = wall_ns / 4, .blocked_ns = wall_ns - wall_ns / 4};
    struct report_error error = report_error_of(&values, near, far, PERIOD);
    assert_int_equal(error.wall_ns, expected);
    assert_in_range(error.cpu_ns + 1, expected / 2, expected / 2 + 1);
}

/* 1.96 standard deviations. With long calls a fifth of the variance is left, and a third of long stretches.
 */
static void bars_are_narrower_for_long_calls(void **state)
{
    (void)state;
    assert_error(10000, 10000, 100, 196);
    assert_error(10000, 5000, 100, 196);
    assert_error(10000, 20000, 100, 87);
    assert_error(10000, 20000, 100000, 113);
    assert_error(-1, 0, 100, 0);
    assert_error(0, 0, 100, 0);
}

static void few_samples_have_no_bar(void **state)
{
    (void)state;
    const struct values four = {.samples = 4, .blocked_ns = 40}, whole = {.samples = 400, .blocked_ns = 4000};
    assert_int_equal(report_error_of(&four, 100, 100, PERIOD).wall_ns, REPORT_ERROR_UNKNOWN);
    assert_int_equal(report_error_of_samples(&four, &whole).cpu_ns, REPORT_ERROR_UNKNOWN);
}

/* 100 of 400 samples of 10: 10 * sqrt(100 * 0.75 * 13/12) * 1.96. */
static void without_changes_samples_are_independent(void **state)
{
    (void)state;
    const struct values values = {.samples = 100, .blocked_ns = 1000},
                        whole = {.samples = 400, .blocked_ns = 4000};
    assert_int_equal(report_error_of_samples(&values, &whole).wall_ns, 176);
    assert_int_equal(report_error_of_samples(&whole, &whole).wall_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_counts_half_for_each_side, setup, teardown),
        cmocka_unit_test_setup_teardown(another_place_in_a_function_is_no_change, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_changes_only_what_is_below, setup, teardown),
        cmocka_unit_test_setup_teardown(the_longer_stretch_counts_for_more, setup, teardown),
        cmocka_unit_test_setup_teardown(time_without_running_has_no_weight, setup, teardown),
        cmocka_unit_test_setup_teardown(running_and_waiting_are_compared_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_with_one_sample_are_compared_with_each_other, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_long_life_has_one_end, setup, teardown),
        cmocka_unit_test_setup_teardown(labels_change_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_without_values_is_told_by_the_one_below, setup, teardown),
        cmocka_unit_test_setup_teardown(what_rounds_to_nothing_is_not_written, setup, teardown),
        cmocka_unit_test(numbers_survive_a_pprof_file),
        cmocka_unit_test(bars_are_narrower_for_long_calls),
        cmocka_unit_test(few_samples_have_no_bar),
        cmocka_unit_test(without_changes_samples_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
