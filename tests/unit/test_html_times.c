/* When the time of a page's nodes was spent, number by number, for timelines made by hand. */
#include "tool/formats/formats.h"

#include "lib/fake_files.h"
#include "lib/fake_profile.h"
#include "lib/narrow_page.h"
#include "lib/page_numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 16, MICROSECOND_NS = 1000, MILLISECOND_NS = 1000000 };

static const uint64_t start_ns = 7000;

struct fixture {
    struct fake_profile fake;
    struct timeline timeline;
    struct timeline_record records[RECORDS_MAX];
    struct fake_directory directory;
    char *shown; /* the page, with its numbers as text */
    arena_ref work, lock, in_work, in_lock;
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    struct fake_profile *fake = &fixture.fake;
    fake_directory_create(&fixture.directory);
    fake_profile_init(fake, 1 << 20);
    fixture.timeline = (struct timeline){.records = fixture.records, .start_ns = start_ns};
    fake->profile.timeline = &fixture.timeline;
    fake->profile.duration_ns = UINT64_C(240) * MILLISECOND_NS; /* a slice is a millisecond */
    arena_ref app = fake_profile_module(fake, "/opt/app");
    fixture.in_work = fake_profile_plain(fake, app, "work");
    fixture.in_lock = fake_profile_plain(fake, app, "pthread_mutex_lock");
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    free(fixture->shown);
    fake_profile_deinit(&fixture->fake);
    fake_directory_remove(&fixture->directory);
    return 0;
}

/* A thread that begins with the recording; the lock comes second in its tree. Times in microseconds. */
static uint32_t add_thread(struct fixture *fixture, const char *name, uint64_t work_us, uint64_t lock_us)
{
    struct fake_profile *fake = &fixture->fake;
    arena_ref root = fake_profile_thread(fake, 1, name);
    const uint32_t number = fake->profile.thread_count;
    struct thread_record *thread = arena_at(&fake->arena, fake->thread_of_number[number]);
    thread->start_ns = start_ns;
    fixture->lock = fake_profile_node(fake, root, fixture->in_lock);
    fixture->work = fake_profile_node(fake, root, fixture->in_work);
    fake_profile_weigh(fake, fixture->work, 1, work_us * MICROSECOND_NS, 0);
    fake_profile_weigh(fake, fixture->lock, 1, 0, lock_us * MICROSECOND_NS);
    return number;
}

/* The next record of a thread: it was seen last then, in ns from the start on. */
static void see(struct fixture *fixture, uint32_t thread, arena_ref node, enum timeline_state found,
                uint64_t last_ns, uint64_t wall_ns)
{
    assert_true(fixture->timeline.count < RECORDS_MAX);
    fixture->records[fixture->timeline.count++] = (struct timeline_record){.first_ns = start_ns + last_ns,
                                                                           .last_ns = start_ns + last_ns,
                                                                           .wall_ns = wall_ns,
                                                                           .thread = thread,
                                                                           .node = node,
                                                                           .state = found};
}

static void export(struct fixture *fixture)
{
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "page.html", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(enc_html_write(&fixture->fake.profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    struct fake_bytes page = fake_read(&fixture->directory, "page.html");
    fixture->shown = page_numbers_shown((const char *)page.bytes);
    fake_bytes_free(&page);
    assert_non_null(fixture->shown);
}

/* Of the first tree: the columns that follow those of its two nodes. Of a node's last slice no time is told.
 */
static void assert_times(const struct fixture *fixture, const char *times, const char *columns)
{
    enum { BEFORE = 2 * 6 };
    char expected[64];
    snprintf(expected, sizeof expected, ",\"nodes\":2,\"times\":%s,\"numbers\":\"", times);
    const char *at = strstr(fixture->shown, expected);
    assert_non_null(at);
    at += strlen(expected);
    for (int i = 0; i < BEFORE; i++)
        at = strchr(at, ' ') + 1;
    char found[512];
    snprintf(found, sizeof found, "%.*s", (int)strcspn(at, "\""), at);
    assert_string_equal(found, columns);
}

static void time_is_in_the_slices_it_was_spent_in(void **state)
{
    struct fixture *fixture = *state;
    uint32_t thread = add_thread(fixture, "app", 3500, 2000);
    see(fixture, thread, fixture->work, TIMELINE_RUNNING, 2500000, 2500000);
    see(fixture, thread, fixture->lock, TIMELINE_WAITING, 4500000, 2000000);
    see(fixture, thread, fixture->work, TIMELINE_RUNNING, 5500000, 1000000);
    export(fixture);
    assert_times(fixture, "8",
                 "5 3 "                   /* how many are of each node */
                 "0 0 0 1 0 2 0 0 "       /* 0, 1, 2, 4, 5; and 2, 3, 4 */
                 "1000 1000 500 500 0 0 " /* CPU */
                 "0 0 0 0 500 1000");     /* blocked */
    assert_non_null(strstr(fixture->shown, ",\"slices\":{\"count\":240,\"ns\":1000000},\"numbers\":\"\""));
}

/* 0.9 units in each of three slices: none are told of the first, and one of the second. */
static void rounding_does_not_add_up(void **state)
{
    struct fixture *fixture = *state;
    uint32_t thread = add_thread(fixture, "app", 0, 0);
    fake_profile_weigh(&fixture->fake, fixture->work, 0, 2700, 0);
    fake_profile_weigh(&fixture->fake, fixture->lock, 0, 0, 2997300);
    for (uint64_t end_ns = MILLISECOND_NS; end_ns <= 3 * MILLISECOND_NS; end_ns += MILLISECOND_NS) {
        see(fixture, thread, fixture->lock, TIMELINE_WAITING, end_ns - 900, 999100);
        see(fixture, thread, fixture->work, TIMELINE_RUNNING, end_ns, 900);
    }
    export(fixture);
    assert_times(fixture, "6", "3 3 0 0 0 0 0 0 0 1 0 0 0 0 999 999");
}

/* They come before a thread runs. */
static void waits_for_a_cpu_have_a_column(void **state)
{
    struct fixture *fixture = *state;
    uint32_t thread = add_thread(fixture, "app", 1500, 300);
    fixture->fake.profile.has_rundelay = true;
    tree_node(&fixture->fake.tree, fixture->work)->self.rundelay_ns = 300000;
    see(fixture, thread, fixture->work, TIMELINE_RUNNING, 1800000, 1800000);
    see(fixture, thread, fixture->lock, TIMELINE_WAITING, 2100000, 300000);
    export(fixture);
    assert_non_null(strstr(fixture->shown, " 2 2 0 0 1 0 700 0 0 200 300 0\""));
}

/* What no record shows lies where there is room, if need be after the end. */
static void what_is_outside_of_the_run_is_at_its_ends(void **state)
{
    struct fixture *fixture = *state;
    uint32_t thread = add_thread(fixture, "app", 1000, 240000);
    struct thread_record *record = arena_at(&fixture->fake.arena, fixture->fake.thread_of_number[thread]);
    record->start_ns = start_ns - 7000;
    see(fixture, thread, fixture->work, TIMELINE_RUNNING, 993000, 1000000);
    export(fixture);
    const char *times = strstr(fixture->shown, "\"times\":241,");
    assert_non_null(times);
    assert_non_null(strstr(times, " 1 240 0 0 0 "));
    assert_non_null(strstr(times, " 0 7 1000 1000 "));
    assert_non_null(strstr(times, " 1000 1000\""));
}

static void threads_of_one_tree_add_up(void **state)
{
    struct fixture *fixture = *state;
    fixture->fake.profile.labels = LABELS_NAME;
    for (int i = 0; i < 2; i++) {
        uint32_t thread = add_thread(fixture, "pool", 1200, 400);
        see(fixture, thread, fixture->work, TIMELINE_RUNNING, 1200000, 1200000);
        see(fixture, thread, fixture->lock, TIMELINE_WAITING, 1600000, 400000);
    }
    export(fixture);
    assert_non_null(strstr(fixture->shown, "{\"name\":\"pool\",\"threads\":2,\"nodes\":2,\"times\":3,"));
    assert_times(fixture, "3", "1 2 1 0 0 2000 0"); /* the lock stands first in the merged tree */
}

/* Time on a root becomes that of [overflow]. */
static void time_of_no_node_has_its_slices_too(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->fake;
    fake->profile.labels = LABELS_NAME;
    for (int i = 0; i < 2; i++) {
        arena_ref root = fake_profile_thread(fake, 1, "pool");
        struct thread_record *thread =
            arena_at(&fake->arena, fake->thread_of_number[fake->profile.thread_count]);
        thread->start_ns = start_ns;
        fake_profile_weigh(fake, root, 1, 1400000, 0);
        see(fixture, fake->profile.thread_count, root, TIMELINE_RUNNING, 1400000, 1400000);
    }
    export(fixture);
    assert_non_null(
        strstr(fixture->shown, "\"nodes\":1,\"times\":2,\"numbers\":\"0 3 2 2800000 0 0 2 0 0 2000 0\""));
}

/* A node of another thread's tree, as a damaged file may have it. */
static void nodes_of_other_trees_are_left_out(void **state)
{
    struct fixture *fixture = *state;
    add_thread(fixture, "other", 500, 0);
    arena_ref other = fixture->work;
    uint32_t thread = add_thread(fixture, "app", 500, 500);
    see(fixture, thread, other, TIMELINE_RUNNING, 500000, 500000);
    export(fixture);
    assert_times(fixture, "2", "1 1 0 1"); /* after the time of the other node, which is not here */
}

/* A damaged file may begin there: the slice of this time would end after it. */
static void the_last_moment_of_all_is_in_a_slice(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t begin_ns = UINT64_MAX - 5500000;
    uint32_t thread = add_thread(fixture, "app", 700, 400);
    struct thread_record *record = arena_at(&fixture->fake.arena, fixture->fake.thread_of_number[thread]);
    record->start_ns = UINT64_MAX - 600000;
    fixture->timeline.start_ns = begin_ns;
    see(fixture, thread, fixture->lock, TIMELINE_WAITING, 0, 100000);
    fixture->records[0].first_ns = fixture->records[0].last_ns = UINT64_MAX - 500000;
    export(fixture);
    assert_times(fixture, "2", "1 1 5 4");
}

static void without_records_there_are_no_slices(void **state)
{
    struct fixture *fixture = *state;
    add_thread(fixture, "app", 500, 500);
    export(fixture);
    assert_null(strstr(fixture->shown, "\"times\":"));
    assert_null(strstr(fixture->shown, "\"slices\":"));
}

/* Both of them are the same recording here. */
static void a_comparison_has_the_slices_of_both(void **state)
{
    struct fixture *fixture = *state;
    int error;
    uint32_t thread = add_thread(fixture, "app", 500, 0);
    see(fixture, thread, fixture->work, TIMELINE_RUNNING, 500000, 500000);
    struct sink *sink = sink_create(fixture->directory.fd, "page.html", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(enc_html_write_comparison(&fixture->fake.profile, &fixture->fake.profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    struct fake_bytes page = fake_read(&fixture->directory, "page.html");
    const char *after = strstr((char *)page.bytes, "\"slices\":");
    assert_non_null(after);
    const char *before = strstr(after, "id=\"before\"");
    assert_non_null(before);
    assert_non_null(strstr(before, "\"times\":"));
    assert_non_null(strstr(before, "\"slices\":"));
    fake_bytes_free(&page);
}

/* So many nodes that their times do not fit into little memory. */
static void without_memory_there_is_an_error(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* what malloc gets there, and asks for itself, is not what is measured */
#endif
    struct fixture *fixture = *state;
    uint32_t thread = add_thread(fixture, "app", 100, UINT64_C(240) * MICROSECOND_NS);
    char name[16];
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "wait%d", i);
        arena_ref at = fake_profile_plain(&fixture->fake, 0, name);
        fake_profile_weigh(&fixture->fake, fake_profile_node(&fixture->fake, fixture->work, at), 1, 1000, 0);
    }
    see(fixture, thread, fixture->work, TIMELINE_RUNNING, 100000, 100000);
    narrow_page_assert(&fixture->fake.profile, fixture->directory.fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(time_is_in_the_slices_it_was_spent_in),
        TEST(rounding_does_not_add_up),
        TEST(waits_for_a_cpu_have_a_column),
        TEST(what_is_outside_of_the_run_is_at_its_ends),
        TEST(threads_of_one_tree_add_up),
        TEST(time_of_no_node_has_its_slices_too),
        TEST(nodes_of_other_trees_are_left_out),
        TEST(the_last_moment_of_all_is_in_a_slice),
        TEST(without_records_there_are_no_slices),
        TEST(a_comparison_has_the_slices_of_both),
        TEST(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
