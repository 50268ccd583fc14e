/* What a thread does over time, with exact numbers: from records and a tree made by hand. */
#include "tool/meaning/intervals.h"

#include "lib/fake_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 16, START_NS = 1000 };

struct fixture {
    struct arena arena;
    struct tree tree;
    struct timeline timeline;
    struct timeline_record records[RECORDS_MAX];
    struct profile profile;
    struct meaning meaning;
    struct intervals intervals;
    struct thread_record thread;
    arena_ref work, lock, file;
    char shown[1024];
};

static arena_ref add_node(struct fixture *fixture, const char *stack, enum wait_kind wait,
                          struct values values)
{
    const struct fake_path path = fake_path(&fixture->tree, stack);
    arena_ref node = tree_path(&fixture->tree, fixture->thread.root, path.locations, path.depth);
    tree_node(&fixture->tree, node)->self = values;
    fixture->meaning.nodes[tree_node_index(node)].wait = (uint8_t)wait;
    return node;
}

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    *state = &fixture;
    assert_int_equal(arena_init(&fixture.arena, 1 << 20), 0);
    assert_int_equal(tree_init(&fixture.tree, &fixture.arena), 0);
    fixture.meaning.nodes = calloc(1 << 16, sizeof *fixture.meaning.nodes);
    assert_non_null(fixture.meaning.nodes);
    fixture.thread =
        (struct thread_record){.number = 1, .root = tree_root(&fixture.tree, 1), .start_ns = START_NS};
    fixture.timeline = (struct timeline){.records = fixture.records};
    fixture.profile = (struct profile){
        .arena = &fixture.arena, .tree = &fixture.tree, .timeline = &fixture.timeline, .thread_count = 1};
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    intervals_deinit(&fixture->intervals);
    free(fixture->meaning.nodes);
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

/* The next record of the thread, seen last so long after its start. */
static void see(struct fixture *fixture, arena_ref node, enum timeline_state found, uint64_t last_ns,
                uint64_t wall_ns)
{
    assert_true(fixture->timeline.count < RECORDS_MAX);
    fixture->records[fixture->timeline.count++] = (struct timeline_record){.first_ns = START_NS + last_ns,
                                                                           .last_ns = START_NS + last_ns,
                                                                           .wall_ns = wall_ns,
                                                                           .thread = 1,
                                                                           .node = node,
                                                                           .state = found};
}

/* As "0 running a, 30 lock b, 90": where each begins, its state and the letter of its node, and the end. */
static const char *intervals_of(struct fixture *fixture)
{
    char *text = fixture->shown, *end = text + sizeof fixture->shown;
    assert_int_equal(intervals_init(&fixture->intervals, &fixture->profile, &fixture->meaning), 0);
    assert_int_equal(intervals_make(&fixture->intervals, &fixture->thread), 0);
    uint64_t at_ns = START_NS;
    for (uint32_t i = 0; i < fixture->intervals.list.count; i++) {
        const struct interval *interval = &fixture->intervals.list.all[i];
        assert_true(interval->begin_ns >= at_ns && interval->end_ns > interval->begin_ns);
        text += snprintf(text, (size_t)(end - text), "%d %s %c, ", (int)(interval->begin_ns - START_NS),
                         interval->state == STATE_RUNNING ? "running" : wait_kind_words[interval->state],
                         interval->node == fixture->work   ? 'w'
                         : interval->node == fixture->lock ? 'l'
                         : interval->node == fixture->file ? 'f'
                                                           : '?');
        at_ns = interval->end_ns;
    }
    snprintf(text, (size_t)(end - text), "%d", (int)(at_ns - START_NS));
    return fixture->shown;
}

static void what_was_found_is_what_was_spent(void **state)
{
    struct fixture *fixture = *state;
    fixture->work = add_node(fixture, "ab", WAIT_OTHER, (struct values){.cpu_ns = 50});
    fixture->lock = add_node(fixture, "ac", WAIT_LOCK, (struct values){.blocked_ns = 70});
    see(fixture, fixture->work, TIMELINE_RUNNING, 10, 20);
    see(fixture, fixture->work, TIMELINE_RUNNING, 25, 10);
    see(fixture, fixture->lock, TIMELINE_WAITING, 80, 60);
    see(fixture, fixture->work, TIMELINE_RUNNING, 100, 20);
    see(fixture, fixture->lock, TIMELINE_WAITING, 120, 10);
    assert_string_equal(intervals_of(fixture), "0 running w, 30 lock l, 90 running w, 110 lock l, 120");
}

/* Each in proportion to its length, and the state in which the thread was found comes last. */
static void a_stretch_is_divided_as_its_nodes_time(void **state)
{
    struct fixture *fixture = *state;
    fixture->work = add_node(fixture, "ab", WAIT_OTHER, (struct values){.cpu_ns = 45, .rundelay_ns = 15});
    fixture->lock =
        add_node(fixture, "ac", WAIT_LOCK, (struct values){.cpu_ns = 6, .rundelay_ns = 3, .blocked_ns = 81});
    see(fixture, fixture->work, TIMELINE_RUNNING, 20, 40);
    see(fixture, fixture->lock, TIMELINE_WAITING, 60, 30);
    see(fixture, fixture->work, TIMELINE_RUNNING, 80, 20);
    see(fixture, fixture->lock, TIMELINE_WAITING, 100, 60);
    assert_string_equal(intervals_of(fixture),
                        "0 cpu w, 10 running w, 40 cpu l, 41 running l, 43 lock l, "
                        "70 cpu w, 75 running w, 90 cpu l, 92 running l, 96 lock l, 150");
}

/* Of one node, found in several ways: CPU time to those that ran, the run delay to those that were queued. */
static void what_was_found_gets_its_own_first(void **state)
{
    struct fixture *fixture = *state;
    fixture->work = add_node(fixture, "ab", WAIT_FILE,
                             (struct values){.cpu_ns = 25, .rundelay_ns = 20, .blocked_ns = 55});
    see(fixture, fixture->work, TIMELINE_WAITING, 30, 60);
    see(fixture, fixture->work, TIMELINE_RUNNING, 70, 20);
    see(fixture, fixture->work, TIMELINE_QUEUED, 90, 20);
    assert_string_equal(intervals_of(fixture), "0 cpu w, 5 file w, 60 running w, 85 cpu w, 100");
}

/* A gap, and a node that has more than its records show: both lie where there is room. */
static void what_no_record_shows_lies_where_there_is_room(void **state)
{
    struct fixture *fixture = *state;
    fixture->work = add_node(fixture, "ab", WAIT_OTHER, (struct values){.cpu_ns = 30});
    fixture->file = add_node(fixture, "ad", WAIT_FILE, (struct values){.blocked_ns = 47});
    see(fixture, fixture->work, TIMELINE_RUNNING, 10, 10);
    see(fixture, fixture->work, TIMELINE_RUNNING, 70, 20);
    assert_string_equal(intervals_of(fixture), "0 running w, 10 file f, 50 running w, 70 file f, 77");
}

/* A node has less than its records show, and another one more: the parts still add up to the tree. */
static void records_that_show_more_than_there_is_leave_room(void **state)
{
    struct fixture *fixture = *state;
    fixture->work = add_node(fixture, "ab", WAIT_OTHER, (struct values){.cpu_ns = 15});
    fixture->lock = add_node(fixture, "ac", WAIT_LOCK, (struct values){.blocked_ns = 85});
    see(fixture, fixture->work, TIMELINE_RUNNING, 10, 30);
    see(fixture, fixture->lock, TIMELINE_WAITING, 60, 70);
    assert_string_equal(intervals_of(fixture), "0 running w, 15 lock l, 100");
}

/* Odd numbers: nothing is lost by rounding. */
static void nothing_is_lost_by_rounding(void **state)
{
    struct fixture *fixture = *state;
    uint64_t sums[STATE_COUNT] = {0};
    fixture->lock =
        add_node(fixture, "ac", WAIT_LOCK, (struct values){.cpu_ns = 17, .rundelay_ns = 7, .blocked_ns = 77});
    for (int i = 0; i < 7; i++) {
        see(fixture, fixture->lock, TIMELINE_WAITING, 0, 13);
        see(fixture, fixture->tree.spare_root, TIMELINE_UNKNOWN, 0, 1);
    }
    see(fixture, fixture->lock, TIMELINE_QUEUED, 0, 10);
    (void)intervals_of(fixture);
    for (uint32_t i = 0; i < fixture->intervals.list.count; i++)
        sums[fixture->intervals.list.all[i].state] +=
            fixture->intervals.list.all[i].end_ns - fixture->intervals.list.all[i].begin_ns;
    assert_int_equal(sums[STATE_RUNNING], 17);
    assert_int_equal(sums[WAIT_CPU], 7);
    assert_int_equal(sums[WAIT_LOCK], 77);
}

static void a_thread_without_records_is_what_its_tree_says(void **state)
{
    struct fixture *fixture = *state;
    fixture->file =
        add_node(fixture, "ad", WAIT_FILE, (struct values){.cpu_ns = 3, .rundelay_ns = 4, .blocked_ns = 5});
    assert_string_equal(intervals_of(fixture), "0 running f, 3 cpu f, 7 file f, 12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_found_is_what_was_spent, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stretch_is_divided_as_its_nodes_time, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_found_gets_its_own_first, setup, teardown),
        cmocka_unit_test_setup_teardown(what_no_record_shows_lies_where_there_is_room, setup, teardown),
        cmocka_unit_test_setup_teardown(records_that_show_more_than_there_is_leave_room, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_lost_by_rounding, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_without_records_is_what_its_tree_says, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
