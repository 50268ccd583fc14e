/* A profile written as a store and read again is the same profile; a store that was cut or changed is refused
 * or read, and never worse. */
#include "encode/enc_pprof.h"
#include "encode/enc_store.h"
#include "tool/read/recording.h"
#include "profile/store.h"

#include "lib/fake_files.h"
#include "lib/fake_written.h"
#include "lib/small_profile.h"
#include "base/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    struct fake_directory directory;
    struct small_profile small;
    struct recording recording;
    struct fake_bytes store; /* of the profile */
    char path[PATH_MAX];
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fake_directory_create(&fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/out", fixture.directory.path);
    small_profile_create(&fixture.small);
    fixture.small.profile.timeline = &fixture.small.timeline;
    fixture.small.profile.has_timed_samples = true;
    fixture.store = fake_written(&fixture.directory, enc_store_write, &fixture.small.profile);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_bytes_free(&fixture->store);
    small_profile_destroy(&fixture->small);
    fake_directory_remove(&fixture->directory);
    return 0;
}

static void assert_same(const struct fake_bytes *a, const struct fake_bytes *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->bytes, b->bytes, a->size);
}

static void what_is_read_is_what_was_written(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(recording_open(&fixture->recording, fixture->path), 0);
    const struct profile *profile = &fixture->recording.profile;
    struct fake_bytes before = fake_written(&fixture->directory, enc_pprof_write, &fixture->small.profile);
    struct fake_bytes after = fake_written(&fixture->directory, enc_pprof_write, profile);
    assert_int_equal(profile->timeline->count, 2);
    assert_memory_equal(profile->timeline->records, fixture->small.records,
                        2 * sizeof *fixture->small.records);
    assert_memory_equal(profile->timeline->events, fixture->small.events, sizeof fixture->small.events);
    assert_int_equal(profile->timeline->thinned, 5);
    assert_int_equal(profile->timeline->start_ns, fixture->small.timeline.start_ns);
    struct fake_bytes again = fake_written(&fixture->directory, enc_store_write, profile);
    assert_same(&before, &after);
    assert_same(&fixture->store, &again);
    assert_true(fixture->recording.is_store);
    fake_bytes_free(&before);
    fake_bytes_free(&after);
    fake_bytes_free(&again);
    recording_close(&fixture->recording);
}

/* Reads bytes as a store; they are copied, so that what lies after them is known to be nobody's. */
static int read_bytes(struct fixture *fixture, const unsigned char *bytes, size_t count)
{
    unsigned char *copy = malloc(count ? count : 1);
    memcpy(copy, bytes, count);
    memset(&fixture->recording, 0, sizeof fixture->recording);
    int status = recording_read_store(&fixture->recording, copy, count);
    if (status == 0) { /* and all of it can be used */
        struct fake_bytes pprof =
            fake_written(&fixture->directory, enc_pprof_write, &fixture->recording.profile);
        fake_bytes_free(&pprof);
    }
    recording_close(&fixture->recording);
    free(copy);
    return status;
}

static void a_store_cut_anywhere_is_refused(void **state)
{
    struct fixture *fixture = *state;
    for (size_t count = 0; count < fixture->store.size; count++) {
        assert_int_equal(read_bytes(fixture, fixture->store.bytes, count), -EBADMSG);
        assert_non_null(strstr(fixture->recording.reason, "cut short"));
    }
    assert_int_equal(read_bytes(fixture, fixture->store.bytes, fixture->store.size), 0);
}

/* Any word of it replaced by others that are likely to be taken for something. */
static void a_changed_store_does_no_harm(void **state)
{
    struct fixture *fixture = *state;
    static const uint32_t words[] = {0, 1, 2, 0x7fffffff, UINT32_MAX, 0x80, 0x1000};
    unsigned refused = 0;
    for (size_t at = 0; at + 4 <= fixture->store.size; at += 4) {
        uint32_t old;
        memcpy(&old, fixture->store.bytes + at, 4);
        if (at >= sizeof(struct store_header) && at < STORE_HEADER_BYTES)
            continue; /* padding */
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            memcpy(fixture->store.bytes + at, &words[i], 4);
            refused += read_bytes(fixture, fixture->store.bytes, fixture->store.size) < 0;
        }
        uint32_t more = old + 8, less = old - 8;
        memcpy(fixture->store.bytes + at, &more, 4);
        refused += read_bytes(fixture, fixture->store.bytes, fixture->store.size) < 0;
        memcpy(fixture->store.bytes + at, &less, 4);
        refused += read_bytes(fixture, fixture->store.bytes, fixture->store.size) < 0;
        memcpy(fixture->store.bytes + at, &old, 4);
    }
    assert_true(refused > 1000);
    assert_int_equal(read_bytes(fixture, fixture->store.bytes, fixture->store.size), 0);
}

struct refusal {
    size_t at;
    uint32_t word;
    int error;
    const char *reason;
};

static void what_cannot_be_read_says_why(void **state)
{
    struct fixture *fixture = *state;
#define HEADER(field) offsetof(struct store_header, field)
    static const struct refusal refusals[] = {
        {HEADER(version), 6, -EPROTO, "it is a store of version 6, and this wallprof reads version 5"},
        {HEADER(byte_order), 0x04030201, -EPROTO, "another byte order"},
        {HEADER(node_bytes), 72, -EPROTO, "another build"},
        {HEADER(tree.newest_root), 0x7ffffff, -EBADMSG, "damaged: a node"},
        {HEADER(tree.newest_module), 3, -EBADMSG, "damaged: a module"},
        {HEADER(tree.location_count), 1, -EBADMSG, "damaged: a location"},
        {HEADER(tree.thread_count), 1, -EBADMSG, "damaged: a node"},
        {HEADER(symbols.bytes), 8, -EBADMSG, "damaged: its names are missing"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        uint32_t old;
        memcpy(&old, fixture->store.bytes + refusals[i].at, 4);
        memcpy(fixture->store.bytes + refusals[i].at, &refusals[i].word, 4);
        assert_int_equal(read_bytes(fixture, fixture->store.bytes, fixture->store.size), refusals[i].error);
        assert_non_null(strstr(fixture->recording.reason, refusals[i].reason));
        memcpy(fixture->store.bytes + refusals[i].at, &old, 4);
    }
}

/* ---- what no recorder writes, and encoders rely on ---- */

static void refuse_changed(struct fixture *fixture, const char *reason)
{
    fake_bytes_free(&fixture->store);
    fixture->store = fake_written(&fixture->directory, enc_store_write, &fixture->small.profile);
    assert_int_equal(read_bytes(fixture, fixture->store.bytes, fixture->store.size), -EBADMSG);
    assert_non_null(strstr(fixture->recording.reason, reason));
}

/* Readers number nodes by where they lie. */
static void records_that_overlap_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct small_profile *small = &fixture->small;
    const struct thread_record *thread = arena_at(&small->arena, small->thread_of_number[1]);
    struct tree_node *root = tree_node(&small->tree, thread->root);
    const arena_ref ref = arena_alloc(&small->arena, 2 * sizeof(struct tree_node)), within = ref + 4;
    const struct tree_node outer = {
        .parent = thread->root, .location = small->tree.pseudo[0], .first_child = within, .depth = 1};
    const struct tree_node inner = {.parent = ref, .location = small->tree.pseudo[0], .depth = 2};
    root->first_child = ref;
    *tree_node(&small->tree, ref) = outer;
    *tree_node(&small->tree, within) = inner;
    refuse_changed(fixture, "a node is not where it should be");
}

static void a_root_has_no_location(void **state)
{
    struct fixture *fixture = *state;
    struct small_profile *small = &fixture->small;
    const struct thread_record *thread = arena_at(&small->arena, small->thread_of_number[1]);
    tree_node(&small->tree, thread->root)->location = 0x7ffffff;
    refuse_changed(fixture, "a node makes no sense");
}

static void a_thread_has_one_tree_of_its_own(void **state)
{
    struct fixture *fixture = *state;
    struct small_profile *small = &fixture->small;
    struct thread_record *thread = arena_at(&small->arena, small->thread_of_number[1]);
    const struct thread_record *other = arena_at(&small->arena, small->thread_of_number[2]);
    const arena_ref root = thread->root;
    thread->root = other->root;
    refuse_changed(fixture, "a thread makes no sense");
    thread->root = root;
    tree_node(&small->tree, root)->thread = 2;
    refuse_changed(fixture, "a tree is not its thread's");
    tree_node(&small->tree, root)->thread = 0;
    refuse_changed(fixture, "a tree is not its thread's");
    tree_node(&small->tree, root)->thread = 1;
    thread->tid = -11;
    refuse_changed(fixture, "a thread makes no sense");
}

static void a_timeline_is_of_its_thread(void **state)
{
    struct fixture *fixture = *state;
    struct timeline_record *record = &fixture->small.records[1];
    record->thread = 2;
    refuse_changed(fixture, "its timeline makes no sense");
    record->thread = 1;
    record->wall_ns = UINT64_MAX;
    refuse_changed(fixture, "its timeline makes no sense");
}

static void names_that_no_process_has_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct small_profile *small = &fixture->small;
    struct symbols_lost_file lost = {small->program, INT32_MIN};
    small->symbols.lost_files = &lost;
    small->symbols.lost_file_count = 1;
    refuse_changed(fixture, "its names make no sense");
    lost.error = -4096; /* the kernel has no such error */
    refuse_changed(fixture, "its names make no sense");
    small->symbols.lost_file_count = 0;
    small->functions[SMALL_MAIN].start_line = UINT32_MAX;
    refuse_changed(fixture, "its names make no sense");
    small->functions[SMALL_MAIN].start_line = 1;
    small->frames[small->first_frame[PSEUDO_COUNT]].line = UINT32_MAX;
    refuse_changed(fixture, "its names make no sense");
    small->frames[small->first_frame[PSEUDO_COUNT]].line = 1;
    small->functions[SMALL_MAIN].name = "";
    refuse_changed(fixture, "its names make no sense");
}

static void times_that_nothing_lasts_are_refused(void **state)
{
    struct fixture *fixture = *state;
    uint64_t *const times[] = {&fixture->small.profile.start_utc_ns, &fixture->small.profile.duration_ns,
                               &fixture->small.profile.period_ns};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const uint64_t was = *times[i];
        *times[i] = UINT64_MAX;
        refuse_changed(fixture, "its times make no sense");
        *times[i] = was;
    }
}

/* Thousands of them within one long text would take its length each. */
static void a_name_begins_where_a_text_does(void **state)
{
    struct fixture *fixture = *state;
    struct store_header header;
    memcpy(&header, fixture->store.bytes, sizeof header);
    fixture->store.bytes[header.symbols.offset + sizeof(struct store_symbols)]++;
    assert_int_equal(read_bytes(fixture, fixture->store.bytes, fixture->store.size), -EBADMSG);
    assert_non_null(strstr(fixture->recording.reason, "its names make no sense"));
}

static void files_that_are_none_say_why(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(recording_open(&fixture->recording, "/nonexistent"), -ENOENT);
    assert_string_equal(fixture->recording.reason, "No such file or directory");
    assert_int_equal(recording_open(&fixture->recording, fixture->directory.path), -EISDIR);
    assert_string_equal(fixture->recording.reason, "Is a directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(what_is_read_is_what_was_written),      TEST(a_store_cut_anywhere_is_refused),
        TEST(a_changed_store_does_no_harm),          TEST(what_cannot_be_read_says_why),
        TEST(records_that_overlap_are_refused),      TEST(a_root_has_no_location),
        TEST(a_thread_has_one_tree_of_its_own),      TEST(a_timeline_is_of_its_thread),
        TEST(names_that_no_process_has_are_refused), TEST(times_that_nothing_lasts_are_refused),
        TEST(a_name_begins_where_a_text_does),       TEST(files_that_are_none_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
