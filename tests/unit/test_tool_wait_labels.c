/*
 * What a wait was for and who held it, from the tree to every reader: through stores and pprof files and
 * back, through a merge, and in formats that have functions only. Exact numbers, of waiting_profile.h.
 */
#include "encode/enc_pprof.h"
#include "encode/enc_store.h"
#include "profile/wait_labels.h"
#include "tool/formats/formats.h"
#include "tool/merge/merge.h"
#include "tool/read/recording.h"
#include "tool/read/wait_texts.h"
#include "tool/report/callers.h"
#include "tool/report/finding.h"
#include "tool/report/report.h"

#include "lib/fake_files.h"
#include "lib/fake_pprof.h"
#include "lib/fake_written.h"
#include "lib/unit.h"
#include "lib/waiting_profile.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { TEXT_BYTES = 8192 };

struct fixture {
    struct fake_directory directory;
    struct waiting_profile waiting;
    struct recording recording;
    char path[PATH_MAX];
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fake_directory_create(&fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/file", fixture.directory.path);
    waiting_profile_init(&fixture.waiting);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_profile_deinit(&fixture->waiting.fake);
    fake_directory_remove(&fixture->directory);
    return 0;
}

static int write_pprof(const struct profile *profile, struct sink *sink)
{
    return formats_write(FORMAT_PPROF, profile, sink);
}

/* ---- files ---- */

static void open_as(struct fixture *fixture, fake_write_fn *write, const struct profile *profile)
{
    struct fake_bytes file = fake_written(&fixture->directory, write, profile);
    FILE *stream = fopen(fixture->path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(file.bytes, 1, file.size, stream), file.size);
    fclose(stream);
    fake_bytes_free(&file);
    if (recording_open(&fixture->recording, fixture->path) < 0)
        fail_msg("%s", fixture->recording.reason);
}

static void assert_same_files(const struct fixture *fixture, const struct profile *one,
                              const struct profile *other)
{
    struct fake_bytes a = fake_written(&fixture->directory, write_pprof, one);
    struct fake_bytes b = fake_written(&fixture->directory, write_pprof, other);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    fake_bytes_free(&a);
    fake_bytes_free(&b);
}

static const char *label_of(const struct fake_pprof *read, const struct fake_sample *sample, const char *key)
{
    for (size_t i = 0; i < sample->label_count; i++) {
        if (strcmp(fake_string(read, sample->labels[i].key), key) == 0)
            return fake_string(read, sample->labels[i].str);
    }
    return "-";
}

static void a_sample_has_the_stack_of_its_leaf_and_labels_beside_it(void **state)
{
    struct fixture *fixture = *state;
    struct fake_bytes file = fake_written(&fixture->directory, write_pprof, &fixture->waiting.fake.profile);
    struct fake_pprof read;
    char text[TEXT_BYTES] = "";
    fake_pprof_read(&file, &read);
    for (size_t i = 0; i < read.sample_count; i++) {
        const struct fake_sample *sample = &read.samples[i];
        const struct fake_location *leaf = &read.locations[sample->locations.at[0] - 1];
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s %s/%zu %s %s %s %d\n",
                 label_of(&read, sample, "thread"),
                 fake_string(&read, read.functions[leaf->function_ids[0] - 1].field[2]),
                 sample->locations.count, label_of(&read, sample, "wait"), label_of(&read, sample, "on"),
                 label_of(&read, sample, "holder"), (int)(sample->values.at[sample->values.count - 1] / MS));
    }
    assert_string_equal(text, "main pthread_join/2 child thread writer-1 - 1000\n"
                              "reader pthread_cond_wait/2 idle cond queue_cond - 1000\n"
                              "reader recv/4 network - - 50\n"
                              "reader recv/4 network tcp 10.0.0.7:5432 - 150\n"
                              "reader pthread_mutex_lock/4 lock mutex journal_mutex writer-2 100\n"
                              "reader compute/2 - - - 300\n"
                              "writer-1 pthread_mutex_lock/3 lock mutex journal_mutex - 60\n"
                              "writer-1 pthread_mutex_lock/3 lock mutex journal_mutex reader 40\n"
                              "writer-1 pthread_mutex_lock/3 lock mutex journal_mutex writer-2 500\n"
                              "writer-1 compute/2 - - - 100\n"
                              "writer-2 pthread_mutex_lock/3 lock mutex table_lock reader 200\n"
                              "writer-2 fsync/3 file file /var/journal - 400\n"
                              "writer-2 compute/2 - - - 100\n");
    assert_int_equal(read.location_count, PSEUDO_COUNT + 12); /* labels are none */
    fake_pprof_free(&read);
    fake_bytes_free(&file);
}

static void pprof_files_and_stores_keep_them(void **state)
{
    struct fixture *fixture = *state;
    const struct profile *profile = &fixture->waiting.fake.profile;
    open_as(fixture, write_pprof, profile);
    assert_same_files(fixture, &fixture->recording.profile, profile);
    recording_close(&fixture->recording);
    open_as(fixture, enc_store_write, profile);
    assert_same_files(fixture, &fixture->recording.profile, profile);
    recording_close(&fixture->recording);
}

/* The wall time of a thread's nodes with such labels at their end; NULL: without. */
static uint64_t waited_for(const struct profile *profile, const char *on, const char *holder)
{
    const struct tree *tree = profile->tree;
    uint64_t ns = 0;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node)) {
            const struct wait_labels waited = wait_labels_of(tree, tree, node);
            if (strcmp(on ?: "", waited.on ?: "") == 0 && strcmp(holder ?: "", waited.holder ?: "") == 0)
                ns += tree_wall_ns(&tree_node(tree, node)->self);
        }
    }
    return ns / MS;
}

static void a_merge_keeps_them(void **state)
{
    struct fixture *fixture = *state;
    struct merge *merge = merge_begin(LABELS_ID);
    struct recording *merged;
    for (int i = 0; i < 2; i++) {
        open_as(fixture, i ? write_pprof : enc_store_write, &fixture->waiting.fake.profile);
        fixture->recording.process.pid = 100 + i;
        assert_int_equal(merge_add(merge, &fixture->recording), 0);
        recording_close(&fixture->recording);
    }
    assert_int_equal(merge_finish(merge, &merged), 0);
    assert_int_equal(waited_for(&merged->profile, "mutex journal_mutex", "writer-2"), 2 * 600);
    assert_int_equal(waited_for(&merged->profile, "mutex journal_mutex", NULL), 2 * 60);
    assert_int_equal(waited_for(&merged->profile, NULL, NULL), 2 * 550);
    merge_release(merge);
}

/* ---- names ---- */

static void linkers_names_are_spelt_for_people(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"mutex journal_mutex", "mutex journal_mutex"},
        {"mutex _ZN6Server4lockE+8", "mutex Server::lock+8"},
        {"mutex in _ZN7Journal6appendERKSs", "mutex in Journal::append"},
        {"mutex _ZZN7Journal6appendEvE4lock", "mutex Journal::append()::lock"},
        {"rwlock _ZN12_GLOBAL__N_15tableE", "rwlock (anonymous namespace)::table"},
        {"mutex _Z", "mutex _Z"},
        {"file /tmp/x_ZN1aE", "file /tmp/x_ZN1aE"},
        {"_ZN6Server4lockE", "Server::lock"},
        {"", ""},
    };
    char ret[LABELS_VALUE_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(wait_text_spell(cases[i].text, ret), cases[i].expected);
}

static void a_long_text_is_cut_at_a_letter(void **state)
{
    char text[600] = "file ", ret[LABELS_VALUE_BYTES];
    (void)state;
    for (int i = 0; i < 200; i++)
        strcat(text, "\xc3\xa4");
    assert_string_not_equal(wait_text_spell(text, ret), text);
    assert_int_equal(strlen(ret), LABELS_VALUE_BYTES - 1); /* 5 + 2 * 125 */
    assert_memory_equal(ret, text, LABELS_VALUE_BYTES - 1);
    text[5] = 'x';
    text[6] = 'y';
    text[4] = '/';
    memmove(text + 1, text, strlen(text) + 1); /* the cut is within a letter now */
    assert_int_equal(strlen(wait_text_spell(text, ret)), LABELS_VALUE_BYTES - 2);
}

static void readers_spell_them(void **state)
{
    struct fixture *fixture = *state;
    fake_write_fn *const writes[] = {write_pprof, enc_store_write};
    arena_ref root = fake_profile_thread(&fixture->waiting.fake, 20, "other");
    waiting_profile_add(&fixture->waiting, root, WAITING_STACK("/run", "pthread_mutex_lock"),
                        "mutex _ZN6Server4lockE+8", "reader", 0, 70);
    for (int i = 0; i < 2; i++) {
        open_as(fixture, writes[i], &fixture->waiting.fake.profile);
        assert_int_equal(waited_for(&fixture->recording.profile, "mutex Server::lock+8", "reader"), 70);
        recording_close(&fixture->recording);
    }
}

/* ---- they are no functions ---- */

static void folded_stacks_end_in_functions(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = &fixture->waiting.fake.profile;
    profile->labels = LABELS_NONE;
    struct fake_bytes file = fake_written(&fixture->directory, enc_folded_write, profile);
    assert_string_equal((char *)file.bytes, "main;pthread_join 1000\n"
                                            "run;append;fsync 400\n"
                                            "run;append;pthread_mutex_lock 800\n"
                                            "run;compute 500\n"
                                            "run;serve;lookup;pthread_mutex_lock 100\n"
                                            "run;serve;fetch;recv 200\n"
                                            "run;pthread_cond_wait 1000\n");
    fake_bytes_free(&file);
}

static void folded_stacks_with_waits_say_what_for(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = &fixture->waiting.fake.profile;
    profile->labels = LABELS_NONE;
    profile->has_wait_frames = true;
    struct fake_bytes file = fake_written(&fixture->directory, enc_folded_write, profile);
    const char *text = (char *)file.bytes;
    assert_non_null(strstr(text, "run;append;pthread_mutex_lock;(lock);(mutex journal_mutex) 60\n"));
    assert_non_null(
        strstr(text, "run;append;pthread_mutex_lock;(lock);(mutex journal_mutex);(held by writer-2) 500\n"));
    assert_non_null(strstr(text, "run;serve;fetch;recv;(network) 50\n"));
    fake_bytes_free(&file);
}

static void callgrind_has_the_time_at_the_function(void **state)
{
    struct fixture *fixture = *state;
    struct fake_bytes file =
        fake_written(&fixture->directory, enc_callgrind_write, &fixture->waiting.fake.profile);
    assert_null(strchr((char *)file.bytes, '{'));
    assert_non_null(strstr((char *)file.bytes, "fn=(8)\n0 900000000 90 0 900000000\n")); /* the lock */
    fake_bytes_free(&file);
}

static const struct report_row *row_of(const struct report *report, const char *name)
{
    for (size_t i = 0; i < report->row_count; i++) {
        if (strcmp(report->rows[i].name, name) == 0)
            return &report->rows[i];
    }
    return NULL;
}

static void reports_count_them_for_the_function(void **state)
{
    struct fixture *fixture = *state;
    const struct profile *profile = &fixture->waiting.fake.profile;
    struct report_request request = {.by = REPORT_BY_FUNCTION};
    struct report report;
    struct finding finding;
    assert_int_equal(report_make(&report, profile, &request), 0);
    const struct report_row *append = row_of(&report, "append");
    assert_int_equal(append->flat.blocked_ns / MS, 1200);
    assert_int_equal(append->cum.blocked_ns / MS, 1200);
    assert_int_equal(append->waited_ns[WAIT_LOCK] / MS, 800);
    assert_int_equal(report.waited_ns[WAIT_IDLE] / MS, 1000);
    assert_int_equal(finding_look(&finding, &report, profile, append), 0);
    assert_string_equal(finding.through, "pthread_mutex_lock");
    assert_int_equal(finding.through_ns / MS, 800);
    finding_free(&finding);
    for (size_t i = 0; i < report.row_count; i++)
        assert_int_not_equal(*report.rows[i].name, '{');
    report_free(&report);
    request.by = REPORT_BY_LEAF;
    assert_int_equal(report_make(&report, profile, &request), 0);
    assert_int_equal(row_of(&report, "pthread_mutex_lock")->flat.blocked_ns / MS, 900);
    report_free(&report);
    request.by = REPORT_BY_LABEL; /* they are none of the program's */
    assert_int_equal(report_make(&report, profile, &request), 0);
    assert_int_equal(report.row_count, 1);
    assert_string_equal(report.rows[0].name, "[no label]");
    assert_int_equal(tree_wall_ns(&report.rows[0].cum), tree_wall_ns(&report.selected));
    report_free(&report);
}

static void a_report_can_be_of_what_was_waited_for_alone(void **state)
{
    struct fixture *fixture = *state;
    const struct report_request request = {.by = REPORT_BY_THREAD, .label = "on=mutex *"};
    struct report report;
    assert_int_equal(report_make(&report, &fixture->waiting.fake.profile, &request), 0);
    assert_int_equal(tree_wall_ns(&report.selected) / MS, 900);
    report_free(&report);
}

static void callers_see_through_them(void **state)
{
    struct fixture *fixture = *state;
    struct callers callers;
    assert_int_equal(callers_find(&callers, &fixture->waiting.fake.profile, "pthread_mutex_lock", false), 0);
    assert_int_equal(callers.caller_count, 2);
    assert_string_equal(callers.callers[0].name, "append");
    assert_int_equal(callers.callee_count, 1);
    assert_string_equal(callers.callees[0].name, "");
    assert_int_equal(callers.callees[0].values.blocked_ns / MS, 900);
    callers_free(&callers);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(a_sample_has_the_stack_of_its_leaf_and_labels_beside_it),
        TEST(pprof_files_and_stores_keep_them),
        TEST(a_merge_keeps_them),
        TEST(linkers_names_are_spelt_for_people),
        TEST(a_long_text_is_cut_at_a_letter),
        TEST(readers_spell_them),
        TEST(folded_stacks_end_in_functions),
        TEST(folded_stacks_with_waits_say_what_for),
        TEST(callgrind_has_the_time_at_the_function),
        TEST(reports_count_them_for_the_function),
        TEST(a_report_can_be_of_what_was_waited_for_alone),
        TEST(callers_see_through_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
