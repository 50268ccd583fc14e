/* What a thread did between two readings of its recording. Times are in ms, so that every sum can be checked
 * by head. */
#include "tool/live/live_interval.h"
#include "lib/fake_profile.h"
#include "lib/unit.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { ARENA_BYTES = 1 << 16, NODES = 6 };
enum node { WORK, SLEEP, LONG_AGO, EVEN_LONGER_AGO, UNSAMPLED, OF_ANOTHER };

/* Two readings of one recording: what is in both has the same references. */
struct reading {
    struct fake_profile fake;
    arena_ref nodes[NODES];
};

struct fixture {
    struct reading before, now;
    struct values *values;
};

static void build(struct reading *reading)
{
    static const char *const names[] = {"work", "sleep", "long_ago", "even_longer_ago"};
    struct fake_profile *fake = &reading->fake;
    fake_profile_init(fake, ARENA_BYTES);
    const arena_ref app = fake_profile_module(fake, "/bin/app"), run = fake_profile_plain(fake, app, "run"),
                    root = fake_profile_thread(fake, 7, "app"), top = fake_profile_node(fake, root, run);
    for (int i = WORK; i <= EVEN_LONGER_AGO; i++)
        reading->nodes[i] = fake_profile_node(fake, top, fake_profile_plain(fake, app, names[i]));
    reading->nodes[UNSAMPLED] = tree_pseudo_child(&fake->tree, root, PSEUDO_UNSAMPLED);
    reading->nodes[OF_ANOTHER] = fake_profile_node(fake, fake_profile_thread(fake, 8, "other"), run);
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    build(&fixture.before);
    build(&fixture.now);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_profile_deinit(&fixture->before.fake);
    fake_profile_deinit(&fixture->now.fake);
    free(fixture->values);
    return 0;
}

static void had(struct fixture *fixture, enum node node, uint64_t samples, uint64_t cpu, uint64_t blocked)
{
    struct reading *before = &fixture->before;
    fake_profile_weigh(&before->fake, before->nodes[node], samples, cpu * MS, blocked * MS);
}

static void has(struct fixture *fixture, enum node node, uint64_t samples, uint64_t cpu, uint64_t blocked)
{
    struct reading *now = &fixture->now;
    fake_profile_weigh(&now->fake, now->nodes[node], samples, cpu * MS, blocked * MS);
}

static void make(struct fixture *fixture)
{
    free(fixture->values);
    fixture->values = NULL;
    assert_int_equal(
        live_interval_make(&fixture->now.fake.profile, &fixture->before.fake.profile, &fixture->values), 0);
}

static void assert_node(const struct fixture *fixture, enum node node, uint64_t samples, uint64_t cpu,
                        uint64_t blocked)
{
    const struct values *values = &fixture->values[tree_node_index(fixture->now.nodes[node])];
    assert_int_equal(values->samples, samples);
    assert_int_equal(values->cpu_ns, cpu * MS);
    assert_int_equal(values->blocked_ns, blocked * MS);
    assert_int_equal(values->rundelay_ns, 0);
}

static void a_node_has_what_it_has_gained(void **state)
{
    struct fixture *fixture = *state;
    had(fixture, WORK, 3, 30, 0);
    had(fixture, SLEEP, 10, 0, 100);
    has(fixture, WORK, 5, 50, 0);
    has(fixture, SLEEP, 18, 0, 180);
    make(fixture);
    assert_node(fixture, WORK, 2, 20, 0);
    assert_node(fixture, SLEEP, 8, 0, 80);
}

static void without_a_reading_before_it_is_all(void **state)
{
    struct fixture *fixture = *state;
    has(fixture, WORK, 5, 50, 1);
    has(fixture, UNSAMPLED, 0, 7, 0);
    assert_int_equal(live_interval_make(&fixture->now.fake.profile, NULL, &fixture->values), 0);
    assert_node(fixture, WORK, 5, 50, 1);
    assert_node(fixture, UNSAMPLED, 0, 7, 0);
}

/* Both waits of long ago have grown by a hundredth, by being scaled. What the clocks say stays. */
static void being_scaled_is_no_time(void **state)
{
    struct fixture *fixture = *state;
    had(fixture, LONG_AGO, 100, 0, 1000);
    had(fixture, EVEN_LONGER_AGO, 50, 0, 500);
    had(fixture, SLEEP, 20, 0, 200);
    had(fixture, WORK, 10, 100, 0);
    has(fixture, LONG_AGO, 100, 0, 1010);
    has(fixture, EVEN_LONGER_AGO, 50, 0, 505);
    has(fixture, SLEEP, 29, 0, 287);
    has(fixture, WORK, 19, 190, 0);
    make(fixture);
    assert_node(fixture, LONG_AGO, 0, 0, 0);
    assert_node(fixture, EVEN_LONGER_AGO, 0, 0, 0);
    assert_node(fixture, SLEEP, 9, 0, 10 + 5 + 87);
    assert_node(fixture, WORK, 9, 90, 0);
}

/* The stretch of the last sample before has gone on. */
static void where_it_was_seen_last_it_may_have_been_longer(void **state)
{
    struct fixture *fixture = *state;
    had(fixture, SLEEP, 10, 0, 100);
    had(fixture, LONG_AGO, 100, 0, 1000);
    has(fixture, SLEEP, 10, 0, 105);
    has(fixture, LONG_AGO, 100, 0, 1000);
    has(fixture, WORK, 9, 95, 0);
    make(fixture);
    assert_node(fixture, SLEEP, 0, 0, 5);
    assert_node(fixture, LONG_AGO, 0, 0, 0);
    assert_node(fixture, WORK, 9, 95, 0);
}

/* Too little is known of the scale here. So one of these is believed, and the other one's time is the
 * thread's. */
static void in_one_node_only(void **state)
{
    struct fixture *fixture = *state;
    had(fixture, SLEEP, 900, 0, 9000);
    had(fixture, LONG_AGO, 50, 0, 500);
    had(fixture, EVEN_LONGER_AGO, 40, 0, 400);
    has(fixture, SLEEP, 918, 0, 9180);
    has(fixture, LONG_AGO, 50, 0, 520);
    has(fixture, EVEN_LONGER_AGO, 40, 0, 410);
    make(fixture);
    assert_node(fixture, SLEEP, 18, 0, 189);
    assert_node(fixture, LONG_AGO, 0, 0, 21);
    assert_node(fixture, EVEN_LONGER_AGO, 0, 0, 0);
}

/* It is seen rarely, and has not run. */
static void a_thread_that_only_waits_has_its_time(void **state)
{
    struct fixture *fixture = *state;
    had(fixture, SLEEP, 10, 0, 100000);
    had(fixture, WORK, 1, 1, 0);
    has(fixture, SLEEP, 10, 0, 101000);
    has(fixture, WORK, 1, 1, 0);
    make(fixture);
    assert_node(fixture, SLEEP, 0, 0, 1000);
    assert_node(fixture, WORK, 0, 0, 0);
}

/* What was [unsampled] was seen later, and is no less than nothing. */
static void no_part_is_negative(void **state)
{
    struct fixture *fixture = *state;
    had(fixture, UNSAMPLED, 0, 5, 0);
    had(fixture, SLEEP, 10, 0, 100);
    has(fixture, SLEEP, 20, 0, 205);
    make(fixture);
    assert_node(fixture, SLEEP, 10, 0, 100);
    assert_node(fixture, UNSAMPLED, 0, 0, 0);
}

/* CPU time that no sample has seen. */
static void a_part_of_no_node_is_unsampled(void **state)
{
    struct fixture *fixture = *state;
    had(fixture, SLEEP, 10, 0, 100);
    has(fixture, SLEEP, 20, 0, 200);
    has(fixture, UNSAMPLED, 0, 3, 0);
    make(fixture);
    assert_node(fixture, SLEEP, 10, 0, 100);
    assert_node(fixture, UNSAMPLED, 0, 3, 0);
}

static struct thread_record *record_of(struct reading *reading, uint32_t number)
{
    return arena_at(&reading->fake.arena, reading->fake.thread_of_number[number]);
}

/* Values of threads that have ended are settled anew with those of others. */
static void a_thread_that_had_ended_has_nothing(void **state)
{
    struct fixture *fixture = *state;
    had(fixture, OF_ANOTHER, 1, 10, 0);
    has(fixture, OF_ANOTHER, 1, 12, 0);
    has(fixture, WORK, 1, 10, 0);
    record_of(&fixture->before, 2)->has_ended = record_of(&fixture->now, 2)->has_ended = true;
    make(fixture);
    assert_node(fixture, OF_ANOTHER, 0, 0, 0);
    assert_node(fixture, WORK, 1, 10, 0);
}

static void a_thread_with_others_in_it_is_left_out(void **state)
{
    struct fixture *fixture = *state;
    has(fixture, OF_ANOTHER, 100, 1000, 0);
    record_of(&fixture->now, 2)->merged_threads = 1;
    make(fixture);
    assert_node(fixture, OF_ANOTHER, 0, 0, 0);
}

static void swapped_twice_the_tree_is_as_it_was(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->now.fake.tree;
    const struct values *self = &tree_node(tree, fixture->now.nodes[WORK])->self;
    had(fixture, WORK, 3, 30, 0);
    has(fixture, WORK, 5, 50, 0);
    make(fixture);
    live_interval_swap(tree, fixture->values);
    assert_int_equal(self->cpu_ns, 20 * MS);
    live_interval_swap(tree, fixture->values);
    assert_int_equal(self->cpu_ns, 50 * MS);
    assert_node(fixture, WORK, 2, 20, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(a_node_has_what_it_has_gained),
        TEST(without_a_reading_before_it_is_all),
        TEST(being_scaled_is_no_time),
        TEST(where_it_was_seen_last_it_may_have_been_longer),
        TEST(in_one_node_only),
        TEST(a_thread_that_only_waits_has_its_time),
        TEST(no_part_is_negative),
        TEST(a_part_of_no_node_is_unsampled),
        TEST(a_thread_that_had_ended_has_nothing),
        TEST(a_thread_with_others_in_it_is_left_out),
        TEST(swapped_twice_the_tree_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
