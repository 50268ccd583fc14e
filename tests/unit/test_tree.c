/* A path is one node however often it is asked for, at any size; and no node is lost when memory is out. */
#include "profile/tree.h"

#include "lib/fake_stacks.h"
#include "base/random.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { FULL_ARENA_BYTES = 64 * 1024, MANY = 100000 };

struct fixture {
    struct arena arena;
    struct tree tree;
    arena_ref root;
};

static int begin(struct fixture *fixture, size_t arena_bytes)
{
    assert_int_equal(arena_init(&fixture->arena, arena_bytes), 0);
    assert_int_equal(tree_init(&fixture->tree, &fixture->arena), 0);
    fixture->root = tree_root(&fixture->tree, 1);
    return 0;
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    return begin(&fixture, 1 << 26);
}

static int setup_small(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    return begin(&fixture, FULL_ARENA_BYTES);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* ---- identity ---- */

static void pseudo_locations_exist_from_the_start(void **state)
{
    static const char *const names[] = {"[unsampled]", "[not responding]", "[truncated]", "[overflow]",
                                        "[unloaded]"};
    struct fixture *fixture = *state;
    assert_int_equal(fixture->tree.location_count, PSEUDO_COUNT);
    for (uint32_t i = 0; i < PSEUDO_COUNT; i++) {
        const struct location *location = tree_location_at(&fixture->tree, fixture->tree.pseudo[i]);
        assert_int_equal(location->pseudo, i + 1);
        assert_int_equal(location->index, i);
        assert_int_equal(location->module, 0);
        assert_int_equal(location->function_start, 0);
        assert_string_equal(tree_pseudo_name((enum pseudo_frame)i), names[i]);
    }
}

static void a_location_is_a_module_and_an_address(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    assert_int_equal(tree_find_location(tree, 5, 0x1234), 0);
    assert_int_equal(tree->location_count, PSEUDO_COUNT); /* looking makes nothing */
    arena_ref one = tree_location(tree, 5, 0x1234, 0x1200), other = tree_location(tree, 6, 0x1234, 0x1200);
    arena_ref anonymous = tree_location(tree, 0, 0x1234, 0);
    assert_true(one && other && anonymous);
    assert_true(one != other && one != anonymous && other != anonymous);
    assert_int_equal(tree_location(tree, 5, 0x1234, 0x1200), one);
    assert_int_equal(tree_find_location(tree, 5, 0x1234), one);
    assert_int_equal(tree_find_location(tree, 6, 0x1234), other);
    assert_int_equal(tree_find_location(tree, 5, 0x1235), 0);
    assert_int_equal(tree->location_count, PSEUDO_COUNT + 3);
}

static void a_location_keeps_what_it_was_made_with(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    arena_ref first = tree_location(tree, 5, 0x1234, 0x1200), second = tree_location(tree, 5, 0x1300, 0);
    const struct location *location = tree_location_at(tree, first);
    assert_int_equal(location->address, 0x1234);
    assert_int_equal(location->function_start, 0x1200);
    assert_int_equal(location->module, 5);
    assert_int_equal(location->index, PSEUDO_COUNT);
    assert_int_equal(location->pseudo, 0);
    assert_int_equal(tree_location_at(tree, second)->index, PSEUDO_COUNT + 1);
    assert_int_equal(tree_location_at(tree, second)->next, first);
    assert_int_equal(tree->newest_location, second);
    tree_location(tree, 5, 0x1234, 0x9999); /* found, not changed */
    assert_int_equal(tree_location_at(tree, first)->function_start, 0x1200);
}

static void a_node_is_a_parent_and_a_location(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    arena_ref a = tree_location(tree, 1, 1, 0), b = tree_location(tree, 1, 2, 0);
    uint32_t count = tree->node_count;
    arena_ref child = tree_child(tree, fixture->root, a), sibling = tree_child(tree, fixture->root, b);
    arena_ref deeper = tree_child(tree, child, a), crossed = tree_child(tree, sibling, a);
    assert_int_equal(tree->node_count, count + 4);
    assert_int_equal(tree_child(tree, fixture->root, a), child);
    assert_int_equal(tree_child(tree, child, a), deeper);
    assert_int_equal(tree_child(tree, sibling, a), crossed);
    assert_int_equal(tree->node_count, count + 4);
    assert_int_equal(tree_node(tree, deeper)->parent, child);
    assert_int_equal(tree_node(tree, deeper)->location, a);
    assert_int_equal(tree_node(tree, deeper)->depth, 2);
    assert_int_equal(tree_node(tree, deeper)->thread, 0);
    assert_int_equal(tree_node(tree, crossed)->parent, sibling);
    assert_int_equal(tree_node(tree, fixture->root)->first_child, sibling); /* newest first */
    assert_int_equal(tree_node(tree, sibling)->next_sibling, child);
    assert_int_equal(tree_node(tree, child)->next_sibling, 0);
    fake_assert_values(tree, deeper, (struct values){0});
    assert_int_equal(tree_node(tree, deeper)->calls, 0);
}

static void every_thread_has_its_own_root(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    arena_ref second = tree_root(tree, 2), location = tree_location(tree, 1, 1, 0);
    assert_int_not_equal(second, fixture->root);
    assert_int_equal(tree_node(tree, second)->thread, 2);
    assert_int_equal(tree_node(tree, second)->depth, 0);
    assert_int_equal(tree_node(tree, second)->parent, 0);
    assert_int_equal(tree_node(tree, second)->location, 0);
    assert_int_not_equal(tree_child(tree, second, location), tree_child(tree, fixture->root, location));
    assert_int_equal(tree->newest_root, second);
    assert_int_equal(tree_node(tree, second)->next_sibling, fixture->root);
    assert_int_equal(tree_node(tree, fixture->root)->next_sibling, tree->spare_root);
    assert_int_equal(tree_node(tree, tree->spare_root)->next_sibling, 0);
    assert_int_equal(tree_node(tree, tree->spare_root)->thread, 0);
}

static void a_pseudo_child_is_a_child_like_others(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    arena_ref child = tree_pseudo_child(tree, fixture->root, PSEUDO_UNSAMPLED);
    assert_int_equal(tree_child(tree, fixture->root, tree->pseudo[PSEUDO_UNSAMPLED]), child);
    assert_int_equal(tree_pseudo_child(tree, fixture->root, PSEUDO_UNSAMPLED), child);
    assert_int_not_equal(tree_pseudo_child(tree, fixture->root, PSEUDO_OVERFLOW), child);
    assert_int_equal(tree_node(tree, child)->depth, 1);
}

/* ---- growth ---- */

/* Addresses as programs have them: equal distances, high bits in common. */
static uint64_t nth_address(uint32_t i)
{
    return UINT64_C(0x7f3a12000000) + (uint64_t)i * 16;
}

/* Linear probing is fast as long as occupied slots do not stand together. */
static void assert_spread(const struct tree_index *index)
{
    uint32_t run = 0, longest = 0;
    for (uint32_t i = 0; i < index->capacity; i++) {
        run = index->slots[i] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    assert_in_range(longest, 1, 100);
}

static void a_hundred_thousand_locations_stay_what_they_are(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    arena_ref *refs = calloc(MANY, sizeof(*refs));
    for (uint32_t i = 0; i < MANY; i++) {
        refs[i] = tree_location(tree, i % 3, nth_address(i / 2), 0); /* most addresses in two modules */
        if (tree_location_at(tree, refs[i])->index != PSEUDO_COUNT + i)
            fail_msg("location %u has the index %u", i, tree_location_at(tree, refs[i])->index);
    }
    assert_int_equal(tree->location_count, PSEUDO_COUNT + MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        if (tree_find_location(tree, i % 3, nth_address(i / 2)) != refs[i])
            fail_msg("location %u is another one now", i);
    }
    assert_spread(&tree->location_index);
    uint32_t listed = 0;
    for (arena_ref at = tree->newest_location; at; at = tree_location_at(tree, at)->next)
        assert_int_equal(tree_location_at(tree, at)->index, PSEUDO_COUNT + MANY - ++listed);
    assert_int_equal(listed, PSEUDO_COUNT + MANY);
    free(refs);
}

static void assert_still_found(struct tree *tree, const arena_ref *refs)
{
    uint32_t before = tree->node_count;
    for (uint32_t i = 0; i < MANY; i++) {
        const struct tree_node *node = tree_node(tree, refs[i]);
        if (tree_child(tree, node->parent, node->location) != refs[i])
            fail_msg("node %u is another one now", i);
    }
    assert_int_equal(tree->node_count, before);
}

/* A random tree: wide, deep, and with the same few locations everywhere. */
static void a_hundred_thousand_nodes_stay_what_they_are(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    struct random_state random;
    arena_ref *refs = calloc(MANY, sizeof(*refs));
    random_init(&random, 1);
    for (uint32_t i = 0; i < MANY;) {
        arena_ref parent = i ? refs[random_below(&random, i)] : fixture->root;
        arena_ref location = tree_location(tree, 1, nth_address(random_below(&random, 1000)), 0);
        uint32_t before = tree->node_count;
        bool is_new = !fake_child(tree, parent, location);
        arena_ref node = tree_child(tree, parent, location);
        assert_int_not_equal(node, 0);
        assert_int_equal(tree_node(tree, node)->depth, tree_node(tree, parent)->depth + 1);
        assert_int_equal(tree->node_count, before + is_new);
        if (is_new)
            refs[i++] = node;
    }
    assert_still_found(tree, refs);
    assert_spread(&tree->node_index);
    uint32_t reached = 0;
    for (arena_ref at = fixture->root; at; at = fake_next(tree, fixture->root, at))
        reached++;
    assert_int_equal(reached, MANY + 1);
    free(refs);
}

static void the_index_is_at_most_half_full(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    for (uint32_t i = 0; i < 10000; i++) {
        arena_ref location = tree_location(tree, 1, nth_address(i), 0);
        tree_child(tree, fixture->root, location);
        assert_true(tree->location_index.used * 2 <= tree->location_index.capacity);
        assert_true(tree->node_index.used * 2 <= tree->node_index.capacity);
    }
    assert_int_equal(tree->location_index.used, 10000 + PSEUDO_COUNT);
    assert_int_equal(tree->node_index.used, 10000);
    assert_int_equal(tree->node_index.capacity, 32768);
}

/* ---- memory is out ---- */

/* Children of the root until there is no more room for them. Returns how many there are. */
static uint32_t fill(struct fixture *fixture)
{
    struct tree *tree = &fixture->tree;
    for (uint32_t i = 0;; i++) {
        arena_ref location = tree_location(tree, 1, nth_address(i), 0);
        if (!location || !tree_child(tree, fixture->root, location))
            return i;
    }
}

static void a_full_tree_says_so_and_still_finds(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    uint32_t count = fill(fixture), nodes = tree->node_count;
    arena_ref first = tree_find_location(tree, 1, nth_address(0)),
              child = fake_child(tree, fixture->root, first);
    assert_true(count > 500);
    while (tree_location(tree, 1, nth_address(count),
                         0)) /* there may have been room for a location, not for a node */
        count++;
    assert_int_equal(tree_location(tree, 1, nth_address(count), 0), 0);
    assert_int_equal(tree_location(tree, 1, nth_address(0), 0), first);
    assert_int_equal(tree_child(tree, fixture->root, first), child);
    assert_int_equal(tree_child(tree, child, first), 0);
    assert_int_equal(tree->node_count, nodes);
    assert_int_equal(tree_node(tree, child)->first_child, 0);
}

static void the_reserve_is_for_pseudo_children_and_roots(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    fill(fixture);
    arena_ref overflow = tree_pseudo_child(tree, fixture->root, PSEUDO_OVERFLOW);
    assert_int_not_equal(overflow, fixture->root);
    assert_int_equal(tree_pseudo_child(tree, fixture->root, PSEUDO_OVERFLOW), overflow);
    assert_int_equal(tree_node(tree, overflow)->parent, fixture->root);
    arena_ref root = tree_root(tree, 9);
    assert_int_not_equal(root, tree->spare_root);
    assert_int_equal(tree_node(tree, root)->thread, 9);
    assert_int_equal(tree->overflows, 0);
}

/* Or a thread's time would be on its root and on that, which are written as one stack. */
static void without_any_memory_time_goes_to_an_overflow_that_is_there(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    arena_ref overflow = tree_pseudo_child(tree, fixture->root, PSEUDO_OVERFLOW);
    fill(fixture);
    while (tree_root(tree, 2) != tree->spare_root)
        ;
    assert_int_equal(tree_pseudo_child(tree, fixture->root, PSEUDO_UNSAMPLED), overflow);
}

static void without_any_memory_time_has_a_place_to_go(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    uint32_t roots = 0;
    fill(fixture);
    while (tree_root(tree, 2) != tree->spare_root)
        roots++;
    assert_in_range(roots, FULL_ARENA_BYTES / 16 / sizeof(struct tree_node) - 1,
                    FULL_ARENA_BYTES / 16 / sizeof(struct tree_node) + 1);
    assert_int_equal(tree->overflows, 1);
    assert_int_equal(tree_root(tree, 3), tree->spare_root);
    assert_int_equal(tree->overflows, 2);
    assert_int_equal(tree_node(tree, tree->spare_root)->thread, 0);
    assert_int_equal(tree_pseudo_child(tree, fixture->root, PSEUDO_OVERFLOW), fixture->root);
    assert_int_equal(tree_pseudo_child(tree, tree->spare_root, PSEUDO_UNSAMPLED), tree->spare_root);
}

static void an_arena_too_small_is_refused(void **state)
{
    for (size_t used = 0; used < 512; used += 8) {
        struct arena arena;
        struct tree tree;
        assert_int_equal(arena_init(&arena, 4096), 0);
        arena_alloc_reserved(&arena, 4096 - 8 - used);
        int status = tree_init(&tree, &arena);
        if (status < 0) {
            assert_int_equal(status, -ENOMEM);
            assert_null(tree.node_index.slots);
            assert_null(tree.location_index.slots);
        } else {
            assert_int_not_equal(tree.spare_root, 0);
            tree_deinit(&tree);
        }
        arena_deinit(&arena);
    }
}

/* After a hundred thousand nodes: as it was at first, and no larger. */
static void a_cleared_tree_is_a_new_one(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree, fresh = *tree;
    size_t used_bytes = 0;
    for (int round = 0; round < 3; round++) {
        arena_ref node = fixture->root;
        for (uint64_t i = 1; i <= MANY; i++)
            node = tree_child(tree, i % 100 ? node : fixture->root, tree_location(tree, 0, 0x1000 + i, 0));
        assert_int_not_equal(node, 0);
        assert_true(tree->node_index.capacity > fresh.node_index.capacity);
        assert_true(round == 0 || fixture->arena.used_bytes == used_bytes);
        used_bytes = fixture->arena.used_bytes;
        arena_clear(&fixture->arena);
        tree_clear(tree);
        assert_int_equal(tree->node_index.capacity, fresh.node_index.capacity);
        assert_int_equal(tree->location_index.capacity, fresh.location_index.capacity);
        fixture->root = tree_root(tree, 1);
        assert_int_equal(tree->node_count, fresh.node_count);
        assert_int_equal(tree->location_count, fresh.location_count);
        assert_memory_equal(tree->pseudo, fresh.pseudo, sizeof(fresh.pseudo));
        assert_int_equal(tree_find_location(tree, 0, 0x1001), 0);
        assert_int_equal(tree_node(tree, fixture->root)->first_child, 0);
        assert_int_equal(tree_wall_ns(&tree_node(tree, fixture->root)->self), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pseudo_locations_exist_from_the_start, setup, teardown),
        cmocka_unit_test_setup_teardown(a_location_is_a_module_and_an_address, setup, teardown),
        cmocka_unit_test_setup_teardown(a_location_keeps_what_it_was_made_with, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_is_a_parent_and_a_location, setup, teardown),
        cmocka_unit_test_setup_teardown(every_thread_has_its_own_root, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pseudo_child_is_a_child_like_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hundred_thousand_locations_stay_what_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hundred_thousand_nodes_stay_what_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cleared_tree_is_a_new_one, setup, teardown),
        cmocka_unit_test_setup_teardown(the_index_is_at_most_half_full, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_tree_says_so_and_still_finds, setup_small, teardown),
        cmocka_unit_test_setup_teardown(without_any_memory_time_goes_to_an_overflow_that_is_there,
                                        setup_small, teardown),
        cmocka_unit_test_setup_teardown(the_reserve_is_for_pseudo_children_and_roots, setup_small, teardown),
        cmocka_unit_test_setup_teardown(without_any_memory_time_has_a_place_to_go, setup_small, teardown),
        cmocka_unit_test(an_arena_too_small_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
