/* Threads whose samples carry equal labels are one group, whatever order they came in,
 * and their trees add up. */
#include "encode/thread_groups.h"

#include "lib/fake_stacks.h"

#include <stdbool.h>
#include <string.h>

enum { THREADS = 60, NAMES = 3, TIDS = 5 };

struct fixture {
    struct arena arena;
    struct tree tree;
    struct profile profile;
    arena_ref thread_of_number[THREADS + 1];
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof(fixture));
    fixture.profile = (struct profile){
        .arena = &fixture.arena, .tree = &fixture.tree, .thread_of_number = fixture.thread_of_number};
    return arena_init(&fixture.arena, 1 << 22) || tree_init(&fixture.tree, &fixture.arena);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* Returns the root. */
static arena_ref add_thread(struct fixture *fixture, int32_t tid, const char *name)
{
    uint32_t number = ++fixture->profile.thread_count;
    arena_ref root = tree_root(&fixture->tree, number);
    arena_ref ref = arena_alloc(&fixture->arena, sizeof(struct thread_record));
    struct thread_record *record = arena_at(&fixture->arena, ref);
    record->number = number;
    record->root = root;
    record->tid = tid;
    memcpy(record->name, name, strlen(name));
    fixture->thread_of_number[number] = ref;
    return root;
}

/* Every name with every tid four times or so, in no order; and some threads without a record. */
static void add_threads(struct fixture *fixture)
{
    for (uint32_t i = 1; i <= THREADS; i++) {
        uint32_t mixed = i * 37 % THREADS;
        char name[THREAD_NAME_BYTES] = "worker-?";
        name[7] = (char)('a' + mixed % NAMES);
        add_thread(fixture, 100 + (int32_t)(mixed / NAMES % TIDS), name);
        if (mixed >= 50)
            fixture->thread_of_number[i] = 0;
    }
}

/* Which group a member belongs to, as a number: 0 for the unlabelled. */
static int group_of(const struct thread_group_member *member, enum label_policy labels)
{
    if (!member->thread || labels == LABELS_NONE)
        return 0;
    int name = member->thread->name[7] - 'a' + 1;
    return labels == LABELS_NAME ? name : name * 100 + member->thread->tid - 100;
}

static size_t check_groups(const struct fixture *fixture, const struct thread_groups *groups)
{
    bool seen[NAMES * 100 + 100] = {false};
    size_t count = 0, size;
    for (size_t first = 0; first < groups->count; first += size, count++) {
        int group = group_of(&groups->members[first], fixture->profile.labels);
        assert_false(seen[group]); /* members of one group stand together */
        seen[group] = true;
        size = thread_group_size(groups, &fixture->profile, first);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(group_of(&groups->members[first + i], fixture->profile.labels), group);
    }
    return count;
}

static void check_members(const struct fixture *fixture, const struct thread_groups *groups)
{
    bool seen[THREADS + 1] = {false};
    assert_int_equal(groups->count, THREADS + 1); /* and the spare root */
    for (size_t i = 0; i < groups->count; i++) {
        uint32_t number = tree_node(&fixture->tree, groups->members[i].root)->thread;
        assert_false(seen[number]);
        seen[number] = true;
        assert_ptr_equal(groups->members[i].thread, profile_thread(&fixture->profile, number));
    }
}

static void members_of_a_group_stand_together(void **state)
{
    static const struct {
        enum label_policy labels;
        size_t groups;
    } cases[] = {{LABELS_NONE, 1}, {LABELS_NAME, NAMES + 1}, {LABELS_ID, NAMES * TIDS + 1}};
    struct fixture *fixture = *state;
    add_threads(fixture);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct thread_groups groups;
        fixture->profile.labels = cases[i].labels;
        assert_int_equal(thread_groups_init(&groups, &fixture->profile), 0);
        check_members(fixture, &groups);
        assert_int_equal(check_groups(fixture, &groups), cases[i].groups);
        thread_groups_deinit(&groups);
        assert_null(groups.members);
    }
}

/* Nobody knows whose its time is: it takes no process's labels, nor gives it those of none. */
static void the_spare_root_of_a_merged_profile_stands_alone(void **state)
{
    struct fixture *fixture = *state;
    struct thread_groups groups;
    add_thread(fixture, 1, "a");
    add_thread(fixture, 1, "a");
    fixture->profile.labels = LABELS_NONE;
    fixture->profile.is_merged = true;
    struct thread_record *second = arena_at(&fixture->arena, fixture->thread_of_number[2]);
    second->process = 1;
    assert_int_equal(thread_groups_init(&groups, &fixture->profile), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(thread_group_size(&groups, &fixture->profile, i), 1);
    assert_int_equal(groups.members[0].thread->process, 0);
    assert_null(groups.members[2].thread);
    thread_groups_deinit(&groups);
}

static void names_are_compared_to_their_last_byte(void **state)
{
    struct fixture *fixture = *state;
    struct thread_groups groups;
    add_thread(fixture, 1, "0123456789abcdef");
    add_thread(fixture, 1, "0123456789abcdeg");
    add_thread(fixture, 1, "0123456789abcdef");
    fixture->profile.labels = LABELS_NAME;
    assert_int_equal(thread_groups_init(&groups, &fixture->profile), 0);
    size_t first = thread_group_size(&groups, &fixture->profile, 0);
    size_t second = thread_group_size(&groups, &fixture->profile, first);
    assert_int_equal(first, 1); /* the spare root */
    assert_int_equal(second, 2);
    assert_int_equal(thread_group_size(&groups, &fixture->profile, first + second), 1);
    thread_groups_deinit(&groups);
}

static void weigh(struct fixture *fixture, arena_ref root, const char *stack, uint64_t weight)
{
    struct fake_path path = fake_path(&fixture->tree, stack);
    arena_ref node = root;
    for (size_t i = path.depth; i-- > 0;)
        node = tree_child(&fixture->tree, node, path.locations[i]);
    tree_node(&fixture->tree, node)->self = (struct values){weight, 10 * weight, 100 * weight, 1000 * weight};
}

/* Through the profile's own index of locations, by the merged tree's list of children. */
static void assert_merged(const struct fixture *fixture, const struct tree *merged, arena_ref root,
                          const char *stack, uint64_t weight)
{
    arena_ref node = root;
    uint32_t depth = 0;
    for (; *stack; depth++)
        node = fake_child(merged, node, tree_find_location(&fixture->tree, FAKE_MODULE, fake_frame(&stack)));
    fake_assert_values(merged, node, (struct values){weight, 10 * weight, 100 * weight, 1000 * weight});
    assert_int_equal(tree_node(merged, node)->depth, depth);
}

static void merged_trees_add_up(void **state)
{
    struct fixture *fixture = *state;
    struct thread_groups groups;
    struct arena arena;
    struct tree merged;
    arena_ref root, first = add_thread(fixture, 1, "t"), second = add_thread(fixture, 2, "t");
    weigh(fixture, first, "abc", 1);
    weigh(fixture, first, "abd", 2);
    weigh(fixture, first, "ae", 3);
    weigh(fixture, second, "abd", 4);
    weigh(fixture, second, "ab", 5);
    weigh(fixture, second, "f", 6);
    weigh(fixture, second, "", 7); /* there was no memory for its [overflow] */
    tree_node(&fixture->tree, tree_pseudo_child(&fixture->tree, first, PSEUDO_OVERFLOW))->self =
        (struct values){8, 80, 800, 8000};
    assert_int_equal(thread_groups_init(&groups, &fixture->profile), 0);
    assert_int_equal(thread_group_size(&groups, &fixture->profile, 0), 3);
    assert_int_equal(thread_group_merge(&groups, &fixture->profile, 0, 3, &arena, &merged, &root, NULL), 0);
    assert_merged(fixture, &merged, root, "abc", 1);
    assert_merged(fixture, &merged, root, "abd", 6);
    assert_merged(fixture, &merged, root, "ab", 5);
    assert_merged(fixture, &merged, root, "ae", 3);
    assert_merged(fixture, &merged, root, "a", 0);
    assert_merged(fixture, &merged, root, "f", 6);
    assert_merged(fixture, &merged, root, "", 0);
    fake_assert_values(&merged, fake_child(&merged, root, fixture->tree.pseudo[PSEUDO_OVERFLOW]),
                       (struct values){15, 150, 1500, 15000});
    assert_int_equal(fake_sum(&merged, root).samples, 36);
    thread_groups_deinit(&groups);
    tree_deinit(&merged);
    arena_deinit(&arena);
}

/* A profile whose arena is full still fits when merged: nothing in common, and no node to spare. */
static void a_full_profile_can_be_merged(void **state)
{
    struct fixture *fixture = *state;
    struct thread_groups groups;
    struct arena arena;
    struct tree merged;
    uint64_t nodes = 0;
    arena_ref root, roots[2] = {add_thread(fixture, 1, "t"), add_thread(fixture, 2, "t")};
    arena_ref locations[2] = {tree_location(&fixture->tree, 0, 1, 0), tree_location(&fixture->tree, 0, 2, 0)};
    arena_ref node[2] = {roots[0], roots[1]};
    for (bool has_room = true; has_room; nodes += has_room) {
        arena_ref child = tree_child(&fixture->tree, node[nodes % 2], locations[nodes % 2]);
        has_room = child != 0;
        if (has_room)
            tree_node(&fixture->tree, node[nodes % 2] = child)->self.samples = 1;
    }
    assert_int_equal(thread_groups_init(&groups, &fixture->profile), 0);
    assert_int_equal(thread_group_merge(&groups, &fixture->profile, 0, 3, &arena, &merged, &root, NULL), 0);
    assert_int_equal(fake_sum(&merged, root).samples, nodes);
    thread_groups_deinit(&groups);
    tree_deinit(&merged);
    arena_deinit(&arena);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(members_of_a_group_stand_together),
        TEST(names_are_compared_to_their_last_byte),
        TEST(the_spare_root_of_a_merged_profile_stands_alone),
        TEST(merged_trees_add_up),
        TEST(a_full_profile_can_be_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
