/*
 * A process that makes a thread for each request is recorded for as long as it lives: memory stays what it
 * is, no time is lost, and what is new is seen.
 */
#include "account/merge_ended.h"
#include "tool/read/recording.h"

#include "lib/fake_files.h"
#include "lib/fake_recorder.h"
#include "lib/unit.h"
#include "lib/watched_stores.h"
#include "base/random.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { ARENA_BYTES = 1 << 20, REQUEST_NS = 86400 * 1000, SHORT_RUN = 60000, STACK_BYTES = 16 };

struct fixture {
    struct fake_recorder recorder;
    struct random_state random;
    uint64_t now_ns;
    struct fake_directory directory;
    char path[PATH_MAX];
    struct recording recording;
    struct values total; /* that has been recorded */
};

static void begin(struct fixture *fixture, size_t arena_bytes, size_t timeline_bytes)
{
    memset(fixture, 0, sizeof *fixture);
    fake_directory_create(&fixture->directory);
    snprintf(fixture->path, sizeof fixture->path, "%s/live.store", fixture->directory.path);
    fake_recorder_init(&fixture->recorder, arena_bytes, timeline_bytes);
    random_init(&fixture->random, 1);
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    begin(&fixture, ARENA_BYTES, 0);
    return 0;
}

static int setup_timed(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    begin(&fixture, ARENA_BYTES, 256 << 10);
    return 0;
}

static int setup_small(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    begin(&fixture, 64 << 10, 16 << 10);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    recording_close(&fixture->recording);
    fake_recorder_deinit(&fixture->recorder);
    fake_directory_remove(&fixture->directory);
    return 0;
}

/* ---- a process ---- */

static struct thread_record *record_of(const struct fixture *fixture, const struct thread *thread)
{
    return arena_at(&fixture->recorder.sampler.arena, thread->record);
}

static struct thread *begin_thread(struct fixture *fixture, const char *name)
{
    struct thread *thread = fake_recorder_begin(&fixture->recorder, fixture->now_ns, false);
    snprintf(record_of(fixture, thread)->name, THREAD_NAME_BYTES, "%s", name);
    return thread;
}

static void observe(struct fixture *fixture, struct thread *thread, uint64_t cpu_ns, const char *stack)
{
    fake_recorder_observe(&fixture->recorder, thread, fixture->now_ns, FOLD_GOES_ON, cpu_ns, true, stack);
}

static void end_thread(struct fixture *fixture, struct thread *thread, uint64_t cpu_ns)
{
    uint64_t wall_ns = FAKE_START_NS + fixture->now_ns - thread->start_ns;
    fixture->total.cpu_ns += cpu_ns;
    fixture->total.blocked_ns += wall_ns - cpu_ns;
    fake_recorder_end(&fixture->recorder, thread, fixture->now_ns, cpu_ns);
}

/* As sampler.c does it, at a tick. */
static void tick(struct fixture *fixture)
{
    struct sampler *sampler = &fixture->recorder.sampler;
    const struct merge_ended_recording recording = {&sampler->tree, &sampler->records, sampler->timeline};
    fake_recorder_tick(&fixture->recorder, fixture->now_ns);
    if (merge_ended_is_due(&sampler->merge_ended, &recording))
        merge_ended_slice(&sampler->merge_ended, &recording);
}

/* Below "main" and "serve" one of a few hundred paths. */
static const char *any_stack(struct fixture *fixture, char ret[STACK_BYTES])
{
    uint32_t which = random_below(&fixture->random, 300);
    snprintf(ret, STACK_BYTES, "ms%c%c%c%c", 'a' + which % 10, 'a' + which / 10 % 10, 'a' + which / 100, 'z');
    return ret;
}

/* A thread that lives for 86.4 us, one in four of them with a sample. name: with its number where %u is. */
static void serve_one(struct fixture *fixture, const char *name, uint32_t i)
{
    char stack[STACK_BYTES], own_name[THREAD_NAME_BYTES];
    snprintf(own_name, sizeof own_name, name, i);
    struct thread *thread = begin_thread(fixture, own_name);
    fixture->now_ns += REQUEST_NS / 2;
    if (i % 4 == 0)
        observe(fixture, thread, REQUEST_NS / 16, any_stack(fixture, stack));
    fixture->now_ns += REQUEST_NS / 2;
    end_thread(fixture, thread, REQUEST_NS / 8);
    if (i % 8 == 0)
        tick(fixture);
}

static void serve(struct fixture *fixture, const char *name, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        serve_one(fixture, name, i);
}

/* ---- what is recorded of it ---- */

struct seen {
    struct values all;
    uint32_t roots, records;
    uint64_t threads;      /* with those that were merged */
    struct values of_name; /* of threads of one name */
    uint32_t records_of_name;
};

static struct seen see(const struct arena *arena, const struct tree *tree, arena_ref newest, const char *name)
{
    struct seen seen = {0};
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        struct values sum = fake_sum(tree, root);
        fake_add_values(&seen.all, &sum);
        seen.roots++;
    }
    for (arena_ref ref = newest; ref;) {
        const struct thread_record *record = arena_at(arena, ref);
        seen.records++;
        seen.threads += 1 + record->merged_threads;
        if (strcmp(record->name, name) == 0) {
            struct values sum = fake_sum(tree, record->root);
            fake_add_values(&seen.of_name, &sum);
            seen.records_of_name++;
        }
        ref = record->next;
    }
    return seen;
}

static struct seen see_recorded(const struct fixture *fixture, const char *name)
{
    const struct sampler *sampler = &fixture->recorder.sampler;
    return see(&sampler->arena, &sampler->tree, sampler->records.newest, name);
}

static void assert_times(const struct values *seen, const struct values *expected)
{
    assert_int_equal(tree_wall_ns(seen), tree_wall_ns(expected));
    assert_int_equal(seen->cpu_ns, expected->cpu_ns);
    assert_int_equal(tree_offcpu_ns(seen), tree_offcpu_ns(expected));
}

/* What the memory of a long recording may be: of one that has once been full. */
struct size {
    size_t arena_bytes;
    uint32_t numbers, index_capacity;
};

static struct size size_of(const struct fixture *fixture)
{
    const struct sampler *sampler = &fixture->recorder.sampler;
    return (struct size){sampler->arena.used_bytes, sampler->records.number_count,
                         sampler->tree.node_index.capacity};
}

static void assert_not_larger(const struct fixture *fixture, struct size before)
{
    struct size now = size_of(fixture);
    assert_int_equal(fixture->recorder.sampler.tree.overflows, 0);
    assert_true(now.arena_bytes <= before.arena_bytes + before.arena_bytes / 16);
    assert_true(now.numbers <= before.numbers + before.numbers / 16);
    assert_int_equal(now.index_capacity, before.index_capacity);
}

/* ---- tests ---- */

/* 24 hours of 1,000,000 requests, a thousand times faster. From hour to hour a thread that is busy for a
 * while, with a function of its own, is seen with all its time. */
static void a_million_threads_fit(void **state)
{
    struct fixture *fixture = *state;
    struct values busy = {0};
    struct size size = {0};
    for (uint32_t hour = 0; hour < 24; hour++) {
        uint64_t start_ns = fixture->now_ns;
        struct thread *thread = begin_thread(fixture, "busy");
        for (uint32_t i = 0; i < 1000000 / 24 + 1; i++) {
            serve_one(fixture, "request", i);
            if (i % 1000 == 0)
                observe(fixture, thread, fixture->now_ns - start_ns, "bx");
        }
        arena_ref node = fake_find(&fixture->recorder.sampler.tree, record_of(fixture, thread)->root, "");
        assert_int_equal(node, thread->fold.root);
        end_thread(fixture, thread, fixture->now_ns - start_ns);
        busy.cpu_ns += fixture->now_ns - start_ns;
        if (hour == 0)
            size = size_of(fixture);
        assert_not_larger(fixture, size);
    }
    struct seen seen = see_recorded(fixture, "busy");
    assert_times(&seen.all, &fixture->total);
    assert_times(&seen.of_name, &busy);
    assert_int_equal(seen.records_of_name, 24); /* each has more than a 64th of the time */
    assert_true(seen.threads > 1000000);
    assert_int_equal(seen.threads, thread_records_seen(&fixture->recorder.sampler.records));
}

/* Names with a number of their own are merged as if they had none, but not with other names. */
static void numbered_names_are_one(void **state)
{
    struct fixture *fixture = *state;
    serve(fixture, "job-%u", SHORT_RUN / 2);
    struct size size = size_of(fixture);
    serve(fixture, "task-%u", SHORT_RUN / 2);
    assert_not_larger(fixture, size);
    struct seen seen = see_recorded(fixture, "job-#");
    assert_times(&seen.all, &fixture->total);
    assert_int_equal(seen.threads, SHORT_RUN);
    assert_true(tree_wall_ns(&seen.of_name) > tree_wall_ns(&fixture->total) / 4);
    assert_true(tree_wall_ns(&seen.of_name) <= tree_wall_ns(&fixture->total) / 2);
}

/* Letters only: none is like another. */
static void names_without_end_are_other_threads(void **state)
{
    struct fixture *fixture = *state;
    struct size size = {0};
    char name[THREAD_NAME_BYTES];
    for (uint32_t i = 0; i < SHORT_RUN; i++) {
        snprintf(name, sizeof name, "%c%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26,
                 'a' + i / 17576 % 26);
        serve_one(fixture, name, i);
        if (i == SHORT_RUN / 2)
            size = size_of(fixture);
    }
    assert_not_larger(fixture, size);
    struct seen seen = see_recorded(fixture, "[other threads]");
    assert_times(&seen.all, &fixture->total);
    assert_true(tree_wall_ns(&seen.of_name) > 0);
    assert_int_equal(seen.threads, SHORT_RUN);
}

/* A thread's tree, however old, if it has much of the time. */
static void the_largest_and_the_newest_stay_apart(void **state)
{
    struct fixture *fixture = *state;
    const struct sampler *sampler = &fixture->recorder.sampler;
    serve(fixture, "request", 100);
    struct thread *large = begin_thread(fixture, "request");
    for (uint32_t i = 0; i < 20; i++) {
        serve(fixture, "request", 100);
        observe(fixture, large, 0, "large");
    }
    arena_ref record = large->record;
    uint64_t wall_ns = FAKE_START_NS + fixture->now_ns - large->start_ns;
    end_thread(fixture, large, 0);
    for (uint32_t i = 0; fake_wall_ns(&sampler->tree, sampler->tree.spare_root) == 0 && i < 20000; i++)
        serve_one(fixture, "request", i);
    assert_true(sampler->records.merged_count > 1000);
    const struct thread_record *kept = arena_at(&sampler->arena, record);
    assert_true(kept->has_ended && kept->merged_threads == 0);
    assert_int_equal(fake_wall_ns(&sampler->tree, kept->root), wall_ns);
    uint32_t newest = 0;
    for (arena_ref ref = sampler->records.newest; ref && newest < 100; newest++) {
        const struct thread_record *at = arena_at(&sampler->arena, ref);
        assert_int_equal(at->merged_threads, 0);
        ref = at->next;
    }
}

/* The records of the timeline lead to where the time is. */
static void the_timeline_follows(void **state)
{
    struct fixture *fixture = *state;
    const struct sampler *sampler = &fixture->recorder.sampler;
    serve(fixture, "request", SHORT_RUN);
    assert_true(sampler->records.merged_count > SHORT_RUN / 2);
    struct seen seen = see_recorded(fixture, "request");
    assert_times(&seen.all, &fixture->total);
    for (uint32_t i = 0; i < sampler->timeline->count; i++) {
        const struct timeline_record *record = &sampler->timeline->records[i];
        arena_ref node = record->node;
        while (tree_node(&sampler->tree, node)->parent)
            node = tree_node(&sampler->tree, node)->parent;
        assert_int_equal(tree_node(&sampler->tree, node)->thread, record->thread);
        assert_true(record->first_ns <= record->last_ns);
    }
}

/* ---- killed ---- */

static void check_killed(void *context)
{
    struct fixture *fixture = context;
    recording_close(&fixture->recording);
    int status = recording_open(&fixture->recording, fixture->path);
    if (status < 0)
        fail_msg("%s", fixture->recording.reason);
    const struct recording *read = &fixture->recording;
    struct seen seen = {0};
    for (arena_ref root = read->tree.newest_root; root; root = tree_node(&read->tree, root)->next_sibling) {
        struct values sum = fake_sum(&read->tree, root);
        fake_add_values(&seen.all, &sum);
    }
    assert_times(&seen.all, &fixture->total);
}

/* The total is what it was after each instruction that stores to the file, and so after any kill. */
static void killed_while_it_merges_no_time_is_lost(void **state)
{
    struct fixture *fixture = *state;
    struct sampler *sampler = &fixture->recorder.sampler;
    const struct merge_ended_recording recording = {&sampler->tree, &sampler->records, sampler->timeline};
    assert_int_equal(fake_recorder_keep(&fixture->recorder, fixture->path, 0), 0);
    serve(fixture, "request", 89); /* ends with a tick */
    if (!watch_stores(&sampler->mapped_store, check_killed, fixture))
        skip();
    for (int round = 0; round < 4; round++)
        merge_ended_slice(&sampler->merge_ended, &recording);
    assert_true(watch_no_more() > 500);
    assert_true(sampler->records.merged_count > 40);
    assert_true(sampler->timeline->count > 4);
    check_killed(fixture);
    assert_int_equal(see_recorded(fixture, "request").threads, 89);
    assert_int_equal(fixture->recording.profile.timeline->count, sampler->timeline->count);
}

/* What serves again is known to the file at once. */
static void a_new_thread_in_old_memory_is_in_the_file(void **state)
{
    struct fixture *fixture = *state;
    struct sampler *sampler = &fixture->recorder.sampler;
    assert_int_equal(fake_recorder_keep(&fixture->recorder, fixture->path, 0), 0);
    serve(fixture, "request", 20001);
    assert_true(sampler->records.spare_count > 0 && sampler->tree.dropped_count > 0);
    uint32_t numbers = sampler->records.number_count;
    struct thread *thread = begin_thread(fixture, "new");
    fixture->now_ns += 500;
    observe(fixture, thread, 0, "msaaaz");
    fixture->total.cpu_ns += 500;
    mapped_store_beat_alone(&sampler->mapped_store, FAKE_START_NS + fixture->now_ns);
    assert_int_equal(sampler->records.number_count, numbers);
    assert_int_equal(recording_open(&fixture->recording, fixture->path), 0);
    const struct recording *read = &fixture->recording;
    const struct thread_record *record = profile_thread(&read->profile, thread->number);
    assert_non_null(record);
    assert_string_equal(record->name, "new");
    assert_int_equal(fake_wall_ns(&read->tree, record->root), 500);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_million_threads_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(numbered_names_are_one, setup, teardown),
        cmocka_unit_test_setup_teardown(names_without_end_are_other_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(the_largest_and_the_newest_stay_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(the_timeline_follows, setup_timed, teardown),
        cmocka_unit_test_setup_teardown(killed_while_it_merges_no_time_is_lost, setup_small, teardown),
        cmocka_unit_test_setup_teardown(a_new_thread_in_old_memory_is_in_the_file, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
