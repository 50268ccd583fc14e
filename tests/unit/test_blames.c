/* What a thread waits for is blamed on what the holder of the lock does: with exact numbers. The waiter is in
 * "ml", main and a lock. Its holder is in "mx" or "my". The period is 10. */
#include "account/blames.h"

#include "lib/fake_stacks.h"
#include "profile/wait_labels.h"

#include <string.h>

static struct {
    struct arena arena;
    struct tree tree;
    struct fold fold;
    struct fold_thread waiter, holder, other;
    struct blames blames;
    struct wait_locations wait;
    arena_ref x, y;
} fixture;

static arena_ref stack_of(const struct fold_thread *thread, const char *stack)
{
    const struct fake_path path = fake_path(&fixture.tree, stack);
    return tree_path(&fixture.tree, thread->root, path.locations, path.depth);
}

static int setup(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    struct tree *tree = &fixture.tree;
    const struct fold_clocks start = {1000, 0, FOLD_NO_DELAY};
    if (arena_init(&fixture.arena, 1 << 20) < 0 || tree_init(tree, &fixture.arena) < 0)
        return -1;
    fixture.fold = (struct fold){.tree = tree, .period_ns = 10};
    fold_thread_begin(&fixture.waiter, tree_root(tree, 1), &start);
    fold_thread_begin(&fixture.holder, tree_root(tree, 2), &start);
    fold_thread_begin(&fixture.other, tree_root(tree, 3), &start);
    fixture.wait =
        (struct wait_locations){tree_label(tree, "on", "mutex journal"), tree_label(tree, "holder", "two")};
    fixture.x = stack_of(&fixture.holder, "mx");
    fixture.y = stack_of(&fixture.holder, "my");
    return 0;
}

static int teardown(void **state)
{
    tree_deinit(&fixture.tree);
    arena_deinit(&fixture.arena);
    return 0;
}

/* The waiter is found waiting at a moment, for a stretch that ends at `until`. is_same: it has not run. */
static void find_waiting(uint64_t time, uint64_t until, bool is_same)
{
    const struct fake_path path = fake_path(&fixture.tree, "ml");
    const struct fold_observation observation = {.time_ns = 1000 + time,
                                                 .until_ns = 1000 + until,
                                                 .delay_clock_ns = FOLD_NO_DELAY,
                                                 .is_unchanged = is_same,
                                                 .path = path.locations,
                                                 .depth = path.depth,
                                                 .wait = fixture.wait};
    fold_observe(&fixture.fold, &fixture.waiter, &observation);
    blames_end_stretch(&fixture.blames, &fixture.waiter);
}

static void give(arena_ref node)
{
    blames_give(&fixture.fold, &fixture.waiter, &fixture.wait, (struct blamed){node, fixture.holder.root});
}

static void await(void)
{
    blames_await(&fixture.blames, &fixture.waiter, &fixture.wait, &fixture.holder, NULL);
}

static void reply(arena_ref node)
{
    blames_reply(&fixture.blames, &fixture.fold, &fixture.holder, node);
}

static void end(uint64_t time, enum fold_rest rest)
{
    fold_thread_end(&fixture.fold, &fixture.waiter, &(struct fold_clocks){1000 + time, 0, FOLD_NO_DELAY},
                    rest);
}

static uint64_t blame_at(arena_ref stack)
{
    struct tree *tree = &fixture.tree;
    const arena_ref on = tree_find_child(tree, stack, fixture.wait.on);
    const arena_ref node = on ? tree_find_child(tree, on, fixture.wait.holder) : 0;
    return node ? wait_label_blame(tree, tree, node) : 0;
}

static uint64_t all_blame(void)
{
    uint64_t sum = 0;
    for (arena_ref root = fixture.tree.newest_root; root; root = tree_node(&fixture.tree, root)->next_sibling)
        for (arena_ref node = fake_next(&fixture.tree, root, root); node;
             node = fake_next(&fixture.tree, root, node))
            sum += wait_label_blame(&fixture.tree, &fixture.tree, node);
    return sum;
}

/* Each look is blamed for the stretch of its observation: what lies before it, and what lies after it. */
static void a_stretch_is_blamed_as_it_passes(void **state)
{
    find_waiting(10, 14, false);
    give(fixture.x);
    assert_int_equal(blame_at(fixture.x), 10);
    find_waiting(20, 24, true);
    assert_int_equal(blame_at(fixture.x), 14);
    give(fixture.y);
    assert_int_equal(blame_at(fixture.y), 6);
    end(30, FOLD_REST_UNSAMPLED);
    assert_int_equal(blame_at(fixture.x), 14);
    assert_int_equal(blame_at(fixture.y), 10);
    assert_int_equal(all_blame(), 24);
}

/* The same where the waiter has run in between. */
static void another_wait_is_blamed_apart(void **state)
{
    find_waiting(10, 14, false);
    give(fixture.x);
    find_waiting(20, 20, false);
    give(fixture.x);
    end(30, FOLD_REST_UNSAMPLED);
    assert_int_equal(blame_at(fixture.x), 20);
}

static void blame_is_no_time_and_no_call_of_the_holder(void **state)
{
    find_waiting(10, 20, false);
    give(fixture.x);
    end(30, FOLD_REST_UNCHANGED);
    assert_int_equal(fake_wall_ns(&fixture.tree, fixture.holder.root), 0);
    assert_int_equal(fake_wall_ns(&fixture.tree, fixture.waiter.root), 30);
    assert_int_equal(tree_node(&fixture.tree, fixture.x)->calls, 0);
    assert_int_equal(all_blame(), 20); /* nobody has looked at the holder for what is after that */
}

/* A holder that runs replies later: until then the time is kept, of two stretches apart. */
static void a_reply_is_for_all_that_has_passed(void **state)
{
    find_waiting(10, 14, false);
    await();
    find_waiting(20, 24, true);
    await();
    assert_int_equal(all_blame(), 0);
    reply(fixture.x);
    assert_int_equal(fixture.blames.count, 0);
    assert_int_equal(blame_at(fixture.x), 20);
    find_waiting(30, 30, true);
    give(fixture.y);
    assert_int_equal(blame_at(fixture.x), 24);
    assert_int_equal(blame_at(fixture.y), 6);
}

static void without_a_reply_nobody_is_blamed(void **state)
{
    find_waiting(10, 14, false);
    await();
    reply(0);
    find_waiting(20, 20, true);
    assert_int_equal(fixture.blames.count, 0);
    assert_int_equal(all_blame(), 0);
}

static void another_thread_replies_for_itself(void **state)
{
    find_waiting(10, 10, false);
    await();
    blames_reply(&fixture.blames, &fixture.fold, &fixture.other, fixture.y);
    assert_int_equal(all_blame(), 0);
    reply(fixture.x);
    assert_int_equal(all_blame(), 10);
}

/* What a waiter has waited before its end counts; a holder that has ended replies no more. */
static void threads_end(void **state)
{
    find_waiting(10, 20, false);
    await();
    end(15, FOLD_REST_UNSAMPLED);
    blames_forget(&fixture.blames, &fixture.waiter);
    reply(fixture.x);
    assert_int_equal(blame_at(fixture.x), 15);
    setup(state);
    find_waiting(10, 20, false);
    await();
    blames_forget(&fixture.blames, &fixture.holder);
    assert_int_equal(fixture.blames.count, 0);
    assert_false(fixture.waiter.blame.is_awaited);
}

static void without_a_frame_nobody_is_blamed(void **state)
{
    find_waiting(10, 10, false);
    give(fixture.holder.root);
    assert_int_equal(all_blame(), 0);
    give(0);
    assert_int_equal(all_blame(), 0);
}

static void settling_keeps_the_blame(void **state)
{
    find_waiting(10, 40, false);
    await();
    const struct fold_clocks now = {1020, 0, FOLD_NO_DELAY};
    fold_thread_settle(&fixture.fold, &fixture.waiter, 0, &now, FOLD_REST_UNCHANGED);
    find_waiting(30, 30, true);
    reply(fixture.x);
    assert_int_equal(blame_at(fixture.x), 30);
}

static void more_than_there_is_room_for(void **state)
{
    static struct fold_thread waiters[BLAMES_MAX + 1];
    for (uint32_t i = 0; i <= BLAMES_MAX; i++)
        blames_await(&fixture.blames, &waiters[i], &fixture.wait, &fixture.holder, NULL);
    assert_int_equal(fixture.blames.count, BLAMES_MAX);
    assert_true(waiters[BLAMES_MAX - 1].blame.is_awaited);
    assert_false(waiters[BLAMES_MAX].blame.is_awaited);
    reply(fixture.x);
    assert_int_equal(fixture.blames.count, 0);
    assert_false(waiters[0].blame.is_awaited);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stretch_is_blamed_as_it_passes, setup, teardown),
        cmocka_unit_test_setup_teardown(another_wait_is_blamed_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(blame_is_no_time_and_no_call_of_the_holder, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reply_is_for_all_that_has_passed, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_reply_nobody_is_blamed, setup, teardown),
        cmocka_unit_test_setup_teardown(another_thread_replies_for_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_end, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_frame_nobody_is_blamed, setup, teardown),
        cmocka_unit_test_setup_teardown(settling_keeps_the_blame, setup, teardown),
        cmocka_unit_test_setup_teardown(more_than_there_is_room_for, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
