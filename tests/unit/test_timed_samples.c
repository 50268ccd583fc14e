/*
 * Nodes' values shared out over records: the parts add up to the nodes', per thread and as a whole, also
 * where threads are written as one, and where the timeline was thinned.
 */
#include "encode/timed_samples.h"

#include "base/clock.h"
#include "lib/fake_stacks.h"
#include "account/fold.h"

#include <string.h>

enum { THREADS = 3, RECORDS_FEW = 64 };

static const uint64_t start_ns = 1000, start_utc_ns = 5000000000;

struct fixture {
    struct arena arena;
    struct tree tree;
    struct fold fold;
    struct fold_thread threads[THREADS + 1];
    arena_ref thread_of_number[THREADS + 1];
    struct profile profile;
    struct random_state random;
    /* What has been emitted. */
    struct values sum;
    size_t count;
    uint64_t first_utc_ns, last_utc_ns;
};

static void add_thread(struct fixture *fixture, uint32_t number)
{
    arena_ref ref = arena_alloc(&fixture->arena, sizeof(struct thread_record));
    struct thread_record *record = arena_at(&fixture->arena, ref);
    record->number = number;
    record->tid = 100 + (int32_t)number;
    strcpy(record->name, "worker");
    record->root = tree_root(&fixture->tree, number);
    fixture->thread_of_number[number] = ref;
    fold_thread_begin(&fixture->threads[number], record->root,
                      &(struct fold_clocks){start_ns, 0, FOLD_NO_DELAY});
    timeline_begin(&fixture->threads[number].timeline, number, 0);
}

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    *state = &fixture;
    random_init(&fixture.random, 7);
    assert_int_equal(arena_init(&fixture.arena, 1 << 22), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    fixture.fold = (struct fold){.tree = &fixture.tree};
    fixture.profile = (struct profile){.arena = &fixture.arena,
                                       .tree = &fixture.tree,
                                       .thread_of_number = fixture.thread_of_number,
                                       .thread_count = THREADS,
                                       .labels = LABELS_ID,
                                       .start_utc_ns = start_utc_ns};
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    timeline_destroy(fixture->fold.timeline);
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* Threads that run and wait in three functions at random, for `ticks` milliseconds. */
static void record(struct fixture *fixture, size_t records, uint64_t ticks)
{
    static const char *const stacks[] = {"a", "ab", "ac"};
    struct timeline *timeline = timeline_create(records * sizeof(struct timeline_record), start_ns, 1);
    fixture->profile.timeline = fixture->fold.timeline = timeline;
    for (uint32_t number = 1; number <= THREADS; number++)
        add_thread(fixture, number);
    for (timeline->tick = 1; timeline->tick <= ticks; timeline->tick++) {
        for (uint32_t number = 1; number <= THREADS; number++) {
            struct fold_thread *thread = &fixture->threads[number];
            struct fake_path path = fake_path(&fixture->tree, stacks[random_below(&fixture->random, 3)]);
            bool is_running = random_below(&fixture->random, 2);
            const struct fold_observation observation = {
                .time_ns = start_ns + timeline->tick * NS_PER_MS,
                .until_tick = timeline->tick,
                .cpu_clock_ns =
                    thread->cpu_clock_ns + (is_running ? random_below(&fixture->random, NS_PER_MS) : 0),
                .is_running = is_running,
                .path = path.locations,
                .depth = path.depth,
            };
            fold_observe(&fixture->fold, thread, &observation);
        }
    }
    for (uint32_t number = 1; number <= THREADS; number++) {
        struct fold_thread *thread = &fixture->threads[number];
        const struct fold_clocks end = {start_ns + (ticks + 3) * NS_PER_MS, thread->cpu_clock_ns + 5,
                                        FOLD_NO_DELAY};
        fold_thread_end(&fixture->fold, thread, &end, FOLD_REST_UNSAMPLED);
    }
}

static void add(struct values *sum, const struct values *values)
{
    sum->samples += values->samples;
    sum->cpu_ns += values->cpu_ns;
    sum->rundelay_ns += values->rundelay_ns;
    sum->blocked_ns += values->blocked_ns;
}

static struct values sum_of_tree(const struct tree *tree, arena_ref root)
{
    struct values sum = {0};
    for (arena_ref node = root; node; node = tree_next(tree, root, node))
        add(&sum, &tree_node(tree, node)->self);
    return sum;
}

static void assert_sums(struct values a, struct values b)
{
    assert_int_equal(a.samples, b.samples);
    assert_int_equal(a.cpu_ns, b.cpu_ns);
    assert_int_equal(a.rundelay_ns, b.rundelay_ns);
    assert_int_equal(a.blocked_ns, b.blocked_ns);
}

static void emit(void *context, arena_ref node, const struct values *values, uint64_t end_utc_ns)
{
    struct fixture *fixture = context;
    assert_true(tree_node(&fixture->tree, node)->parent != 0);
    add(&fixture->sum, values);
    fixture->count++;
    if (!fixture->first_utc_ns)
        fixture->first_utc_ns = end_utc_ns;
    fixture->last_utc_ns = end_utc_ns;
}

/* Emitted and left together are what the group's members have. Returns what was left. */
static struct values share_out(struct fixture *fixture, struct timed_samples *samples,
                               const struct thread_groups *groups, size_t first, size_t size)
{
    struct arena arena = {0};
    struct tree merged = {0};
    struct values all = {0}, both;
    arena_ref root;
    fixture->sum = (struct values){0};
    assert_int_equal(thread_group_merge(groups, &fixture->profile, first, size, &arena, &merged, &root, NULL),
                     0);
    for (size_t i = 0; i < size; i++) {
        struct values one = sum_of_tree(&fixture->tree, groups->members[first + i].root);
        add(&all, &one);
    }
    timed_samples_each(samples, &groups->members[first], size, &merged, root, emit, fixture);
    struct values left = sum_of_tree(&merged, root);
    both = left;
    add(&both, &fixture->sum);
    assert_sums(both, all);
    tree_deinit(&merged);
    arena_deinit(&arena);
    return left;
}

static void share_out_all(struct fixture *fixture, size_t expected_groups, uint64_t most_left)
{
    struct thread_groups groups;
    struct timed_samples samples;
    size_t found = 0;
    assert_int_equal(thread_groups_init(&groups, &fixture->profile), 0);
    assert_int_equal(timed_samples_init(&samples, &fixture->profile), 0);
    for (size_t first = 0, size; first < groups.count; first += size) {
        size = thread_group_size(&groups, &fixture->profile, first);
        if (!groups.members[first].thread)
            continue;
        struct values left = share_out(fixture, &samples, &groups, first, size);
        assert_in_range(tree_wall_ns(&left), 0, most_left);
        found++;
    }
    assert_int_equal(found, expected_groups);
    timed_samples_deinit(&samples);
    thread_groups_deinit(&groups);
}

static void parts_add_up_and_nothing_is_left(void **state)
{
    struct fixture *fixture = *state;
    record(fixture, 10000, 200);
    share_out_all(fixture, THREADS, 0);
    assert_int_equal(fixture->count, fixture->fold.timeline->count);
    assert_int_equal(fixture->first_utc_ns, start_utc_ns + NS_PER_MS);
    assert_int_equal(fixture->last_utc_ns, start_utc_ns + 203 * NS_PER_MS);
}

static void threads_of_one_name_add_up_together(void **state)
{
    struct fixture *fixture = *state;
    fixture->profile.labels = LABELS_NAME;
    record(fixture, 10000, 200);
    share_out_all(fixture, 1, 0);
}

/* Nodes that are left without a record keep what they have; here each thread has three at most. */
static void a_thinned_timeline_adds_up_too(void **state)
{
    struct fixture *fixture = *state;
    record(fixture, RECORDS_FEW, 5000);
    assert_true(fixture->fold.timeline->thinned > 0);
    share_out_all(fixture, THREADS, UINT64_C(5003) * NS_PER_MS * 2 / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_add_up_and_nothing_is_left, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_of_one_name_add_up_together, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thinned_timeline_adds_up_too, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
