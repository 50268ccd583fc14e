/* A tree that is merged into another one gives its nodes back, and no path is lost or found twice by that. */
#include "profile/tree.h"

#include "lib/fake_stacks.h"
#include "base/random.h"

enum { ARENA_BYTES = 1 << 20, TREES = 16, ROUNDS = 200, LOCATIONS = 2 };

struct fixture {
    struct arena arena;
    struct tree tree;
    struct random_state random;
    arena_ref roots[TREES];
    uint64_t wall_ns; /* of all */
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){0};
    *state = &fixture;
    assert_int_equal(arena_init(&fixture.arena, ARENA_BYTES), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    random_init(&fixture.random, 1);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

static arena_ref location(struct fixture *fixture)
{
    uint64_t address = 0x1000 + random_below(&fixture->random, LOCATIONS);
    return tree_location(&fixture->tree, FAKE_MODULE, address, 0);
}

/* A root with some paths, and a value at each node. */
static arena_ref grow(struct fixture *fixture, uint32_t number)
{
    struct tree *tree = &fixture->tree;
    arena_ref root = tree_root(tree, number), node = root;
    for (uint32_t i = 0; i < 50; i++) {
        node = tree_child(tree, i % 5 ? node : root, location(fixture));
        assert_int_not_equal(node, 0);
        tree_node(tree, node)->self.blocked_ns += i;
        tree_node(tree, node)->calls++;
        fixture->wall_ns += i;
    }
    return root;
}

static void move(struct fixture *fixture, arena_ref root, arena_ref into)
{
    struct tree *tree = &fixture->tree;
    const struct tree_merging merging = {.from = tree, .into = tree, .is_move = true};
    struct values before = fake_sum(tree, root), other = fake_sum(tree, into);
    assert_int_equal(tree_merge(&merging, root, into), 0);
    fake_add_values(&before, &other);
    assert_int_equal(fake_wall_ns(tree, into), tree_wall_ns(&before));
    assert_int_equal(fake_wall_ns(tree, root), 0);
    tree_unlink_root(tree, 0, root);
    tree_drop(tree, root);
}

/* Every node that the lists lead to is the one that the index finds, and there are no others. */
static void assert_found(const struct fixture *fixture)
{
    struct tree copy = fixture->tree;
    uint32_t count = 0, roots = 0;
    uint64_t wall_ns = 0;
    for (arena_ref root = copy.newest_root; root; root = tree_node(&copy, root)->next_sibling, roots++) {
        for (arena_ref node = tree_next(&copy, root, root); node; node = tree_next(&copy, root, node)) {
            const struct tree_node *at = tree_node(&copy, node);
            assert_int_equal(tree_child(&copy, at->parent, at->location), node);
            wall_ns += tree_wall_ns(&at->self);
            count++;
        }
    }
    assert_int_equal(copy.node_index.used, count);
    assert_int_equal(copy.node_count, count + roots);
    assert_int_equal(wall_ns, fixture->wall_ns);
}

static void nodes_serve_again(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    size_t used_bytes = 0;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < TREES; i++)
        fixture->roots[i] = grow(fixture, i + 1);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        /* not the newest root, which tree_unlink_root does not take out */
        uint32_t gone = random_below(&fixture->random, TREES - 1);
        uint32_t into = (gone + 1 + random_below(&fixture->random, TREES - 2)) % (TREES - 1);
        move(fixture, fixture->roots[gone], fixture->roots[into]);
        fixture->roots[gone] = fixture->roots[TREES - 1];
        fixture->roots[TREES - 1] = grow(fixture, round + TREES + 1);
        if (round % 20 == 0)
            assert_found(fixture);
        if (round == ROUNDS / 2) {
            used_bytes = fixture->arena.used_bytes;
            capacity = tree->node_index.capacity;
        }
    }
    assert_found(fixture);
    assert_true(fixture->arena.used_bytes < used_bytes + used_bytes / 4);
    assert_int_equal(tree->node_index.capacity, capacity);
}

/* A reader finds a move that was under way, and finishes it. */
static void a_move_can_be_finished(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->tree;
    arena_ref root = tree_root(tree, 1), place = location(fixture);
    arena_ref from = tree_child(tree, tree_root(tree, 2), place), to = tree_child(tree, root, place);
    tree_node(tree, from)->self = (struct values){.samples = 1, .blocked_ns = 10};
    struct tree_move under_way = {
        .from = from, .to = to, .calls = 3, .sum = {.samples = 2, .cpu_ns = 5, .blocked_ns = 12}};
    tree_finish_move(tree, &under_way);
    fake_assert_values(tree, to, under_way.sum);
    fake_assert_values(tree, from, (struct values){0});
    assert_int_equal(tree_node(tree, to)->calls, 3);
    assert_int_equal(under_way.to, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_serve_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_move_can_be_finished, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
