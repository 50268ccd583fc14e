/* What a thread waits for stands below its stack, and its time at the lowest node. m is main, l waits for a
 * lock. The period is 10. */
#include "account/fold.h"

#include "lib/fake_stacks.h"
#include "profile/timeline.h"

#include <string.h>

static struct {
    struct arena arena;
    struct tree tree;
    struct fold fold;
    struct fold_thread thread;
    arena_ref lock, other_lock, one, two;
} fixture;

static int setup(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    struct tree *tree = &fixture.tree;
    if (arena_init(&fixture.arena, 1 << 20) < 0 || tree_init(tree, &fixture.arena) < 0)
        return -1;
    fixture.fold = (struct fold){.tree = tree, .period_ns = 10};
    fold_thread_begin(&fixture.thread, tree_root(tree, 1), &(struct fold_clocks){1000, 0, FOLD_NO_DELAY});
    fixture.lock = tree_label(tree, "on", "mutex journal");
    fixture.other_lock = tree_label(tree, "on", "mutex table");
    fixture.one = tree_label(tree, "holder", "one");
    fixture.two = tree_label(tree, "holder", "two");
    return 0;
}

static int teardown(void **state)
{
    timeline_destroy(fixture.fold.timeline);
    tree_deinit(&fixture.tree);
    arena_deinit(&fixture.arena);
    return 0;
}

/* stack NULL: it has not run since. until: the end of its stretch. */
static void observe(uint64_t time, uint64_t until, const char *stack, arena_ref on, arena_ref holder)
{
    struct fake_path path = fake_path(&fixture.tree, stack ? stack : "m");
    const struct fold_observation observation = {.time_ns = 1000 + time,
                                                 .until_ns = 1000 + until,
                                                 .until_tick = time / 10 + 1,
                                                 .delay_clock_ns = FOLD_NO_DELAY,
                                                 .is_unchanged = !stack,
                                                 .path = path.locations,
                                                 .depth = path.depth,
                                                 .wait = {on, holder}};
    fold_observe(&fixture.fold, &fixture.thread, &observation);
}

static void end(uint64_t time, enum fold_rest rest)
{
    fold_thread_end(&fixture.fold, &fixture.thread, &(struct fold_clocks){1000 + time, 0, FOLD_NO_DELAY},
                    rest);
}

static uint64_t blocked_at(const char *stack, arena_ref on, arena_ref holder)
{
    struct tree *tree = &fixture.tree;
    arena_ref node = fake_find(tree, fixture.thread.root, stack);
    if (on)
        node = tree_child(tree, node, on);
    if (holder)
        node = tree_child(tree, node, holder);
    return tree_node(tree, node)->self.blocked_ns;
}

static void time_is_at_the_lowest_node(void **state)
{
    observe(10, 10, "ml", fixture.lock, fixture.one);
    observe(30, 30, "ml", fixture.lock, 0);
    observe(60, 60, "ml", 0, 0);
    end(60, FOLD_REST_UNSAMPLED);
    assert_int_equal(blocked_at("ml", fixture.lock, fixture.one), 10);
    assert_int_equal(blocked_at("ml", fixture.lock, 0), 20);
    assert_int_equal(blocked_at("ml", 0, 0), 30);
}

/* Its stretch goes on after the sample, up to where it was planned to end. */
static void another_holder_ends_the_stretch_before(void **state)
{
    observe(10, 14, "ml", fixture.lock, fixture.one);
    observe(20, 24, NULL, fixture.lock, fixture.two);
    observe(30, 30, NULL, fixture.lock, fixture.two);
    end(30, FOLD_REST_UNSAMPLED);
    assert_int_equal(blocked_at("ml", fixture.lock, fixture.one), 14);
    assert_int_equal(blocked_at("ml", fixture.lock, fixture.two), 16);
}

static void the_same_holder_goes_on(void **state)
{
    observe(10, 10, "ml", fixture.lock, fixture.one);
    observe(40, 40, NULL, fixture.lock, fixture.one);
    end(70, FOLD_REST_UNCHANGED);
    assert_int_equal(blocked_at("ml", fixture.lock, fixture.one), 70);
    assert_int_equal(tree_node(&fixture.tree, fixture.thread.credited)->self.samples, 2);
}

/* Calls and depths are those of the stack: labels are no frames. */
static void a_label_makes_no_call(void **state)
{
    observe(10, 10, "ml", fixture.lock, fixture.one);
    observe(20, 20, "ml", fixture.other_lock, fixture.one);
    observe(30, 30, "mw", 0, 0);
    arena_ref lock = fake_find(&fixture.tree, fixture.thread.root, "ml");
    assert_int_equal(tree_node(&fixture.tree, lock)->calls, 1);
    for (arena_ref node = tree_node(&fixture.tree, lock)->first_child; node;
         node = tree_node(&fixture.tree, node)->next_sibling)
        assert_int_equal(tree_node(&fixture.tree, node)->calls, 0);
    assert_int_equal(tree_node(&fixture.tree, fixture.thread.node)->depth, 2);
}

static void the_timeline_has_a_record_for_each_holder(void **state)
{
    fixture.fold.timeline = timeline_create(1 << 16, 1000, 7);
    timeline_begin(&fixture.thread.timeline, 1, 0);
    struct timeline *timeline = fixture.fold.timeline;
    timeline->tick = 1;
    observe(10, 10, "ml", fixture.lock, fixture.one);
    timeline->tick = 2;
    observe(20, 20, NULL, fixture.lock, fixture.one);
    timeline->tick = 4; /* the stretch of the sample before has ended with tick 3 */
    observe(40, 40, NULL, fixture.lock, fixture.two);
    assert_int_equal(timeline->count, 2);
    assert_int_equal(timeline->records[0].observations, 2);
    assert_int_equal(timeline->records[0].wall_ns, 20);
    assert_int_equal(timeline->records[0].ticks, 3);
    assert_int_equal(timeline->records[1].wall_ns, 20);
    assert_int_equal(timeline->records[1].ticks, 1);
    assert_int_equal(timeline->records[1].node, fixture.thread.credited);
}

/* Of the memory five eighths may be used before there are no new ones. */
static void waits_leave_room_for_stacks(void **state)
{
    const size_t bytes = fixture.arena.size_bytes;
    observe(10, 10, "ml", fixture.lock, fixture.one);
    while (fixture.arena.used_bytes <= bytes / 8 * 5)
        assert_int_not_equal(arena_alloc(&fixture.arena, 1024), 0);
    observe(20, 20, NULL, fixture.lock, fixture.one);
    observe(50, 50, NULL, fixture.lock, fixture.two);
    observe(90, 90, "mw", fixture.lock, fixture.two);
    end(90, FOLD_REST_UNSAMPLED);
    assert_int_equal(blocked_at("ml", fixture.lock, fixture.one), 20);
    assert_int_equal(blocked_at("ml", fixture.lock, 0), 30);
    assert_int_equal(blocked_at("mw", 0, 0), 40);
}

/* Then its time is at the deepest node that there is. */
static void without_memory_no_time_is_lost(void **state)
{
    observe(10, 10, "ml", 0, 0);
    while (arena_alloc(&fixture.arena, 64))
        ;
    while (arena_alloc(&fixture.arena, 8))
        ;
    observe(20, 20, NULL, fixture.lock, fixture.one);
    end(20, FOLD_REST_UNSAMPLED);
    assert_int_equal(blocked_at("ml", 0, 0), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(time_is_at_the_lowest_node, setup, teardown),
        cmocka_unit_test_setup_teardown(another_holder_ends_the_stretch_before, setup, teardown),
        cmocka_unit_test_setup_teardown(the_same_holder_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_label_makes_no_call, setup, teardown),
        cmocka_unit_test_setup_teardown(the_timeline_has_a_record_for_each_holder, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_leave_room_for_stacks, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_no_time_is_lost, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
