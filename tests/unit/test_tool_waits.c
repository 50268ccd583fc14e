/* What files say of waits: the label of pprof's samples, the innermost frames of folded stacks, and that both
 * come out the same when a file is read and written again. */
#include "tool/formats/formats.h"
#include "encode/enc_pprof.h"
#include "tool/meaning/wait_words.h"
#include "tool/read/recording.h"

#include "lib/fake_files.h"
#include "lib/fake_pprof.h"
#include "lib/fake_profile.h"
#include "lib/fake_written.h"
#include "lib/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MS  UINT64_C(1000000)
#define APP '/' /* the first letter of a function of the program's own */

enum { LOCATIONS_MAX = 32, TEXT_BYTES = 8192 };

struct fixture {
    struct fake_profile fake;
    struct fake_directory directory;
    arena_ref app, libc;
    struct {
        const char *name;
        arena_ref ref;
    } locations[LOCATIONS_MAX];
    int location_count;
};

/* ---- what is made ---- */

/* "FILE:NAME" is a function of a script. */
static arena_ref script_of(struct fixture *fixture, const char *name, const char *colon)
{
    static char files[LOCATIONS_MAX][64];
    char *file = files[fixture->location_count];
    snprintf(file, sizeof files[0], "%.*s", (int)(colon - name), name);
    const struct symbol_frame frame = {fake_profile_function(&fixture->fake, colon + 1, file, 1), 1};
    fixture->fake.symbols.functions[frame.function].is_script = true;
    return fake_profile_location(&fixture->fake, 0, &frame, 1);
}

/* "/NAME" is a function of the program, any other one of the C library. */
static arena_ref location_of(struct fixture *fixture, const char *name)
{
    for (int i = 0; i < fixture->location_count; i++) {
        if (strcmp(fixture->locations[i].name, name) == 0)
            return fixture->locations[i].ref;
    }
    const char *colon = strstr(name, ".py:");
    arena_ref ref = colon ? script_of(fixture, name, colon + 3)
                          : fake_profile_plain(&fixture->fake, *name == APP ? fixture->app : fixture->libc,
                                               name + (*name == APP));
    fixture->locations[fixture->location_count].name = name;
    fixture->locations[fixture->location_count++].ref = ref;
    return ref;
}

/* Functions, outermost first. Returns the node. */
static arena_ref weigh(struct fixture *fixture, arena_ref root, const char *const *names, uint64_t samples,
                       uint64_t cpu_ms, uint64_t waited_ms)
{
    arena_ref node = root;
    for (; *names; names++)
        node = fake_profile_node(&fixture->fake, node, location_of(fixture, *names));
    fake_profile_weigh(&fixture->fake, node, samples, cpu_ms * MS, waited_ms * MS);
    return node;
}

#define STACK(...) ((const char *const[]){__VA_ARGS__, NULL})

static void add_thread(struct fixture *fixture, int32_t tid)
{
    arena_ref root = fake_profile_thread(&fixture->fake, tid, "worker");
    weigh(fixture, root, STACK("/main", "/serve", "/handle", "/append", "pthread_mutex_lock"), 9, 1, 40);
    weigh(fixture, root, STACK("/main", "/serve", "/handle", "/append", "fsync"), 3, 2, 1);
    weigh(fixture, root, STACK("/main", "/serve", "/handle"), 5, 50, 0);
    weigh(fixture, root, STACK("/main", "/serve", "/handle", "/get", "pthread_cond_wait"), 2, 0, 7);
    weigh(fixture, root, STACK("/main", "/pop", "pthread_cond_wait"), 4, 0, 900);
    arena_ref unseen = tree_pseudo_child(&fixture->fake.tree, root, PSEUDO_UNSAMPLED);
    fake_profile_weigh(&fixture->fake, unseen, 0, 3 * MS, 6 * MS);
}

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fake_directory_create(&fixture.directory);
    fake_profile_init(&fixture.fake, 1 << 22);
    fixture.app = fake_profile_module(&fixture.fake, "/opt/app");
    fixture.libc = fake_profile_module(&fixture.fake, "/lib/x86_64-linux-gnu/libc.so.6");
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_profile_deinit(&fixture->fake);
    fake_directory_remove(&fixture->directory);
    return 0;
}

/* ---- what is written ---- */

static int write_pprof(const struct profile *profile, struct sink *sink)
{
    return formats_write(FORMAT_PPROF, profile, sink);
}

static const char *name_of_leaf(const struct fake_pprof *read, const struct fake_sample *sample)
{
    const struct fake_location *location = &read->locations[sample->locations.at[0] - 1];
    return fake_string(read, read->functions[location->function_ids[0] - 1].field[2]);
}

static const char *label_of(const struct fake_pprof *read, const struct fake_sample *sample, const char *key)
{
    const char *found = "-";
    for (size_t i = 0; i < sample->label_count; i++) {
        if (strcmp(fake_string(read, sample->labels[i].key), key) != 0)
            continue;
        assert_string_equal(found, "-"); /* once */
        found = fake_string(read, sample->labels[i].str);
    }
    return found;
}

/* A line for each sample: the innermost function, the label, samples, and CPU, off-CPU and wall time in ms.
 */
static void assert_samples(const struct fixture *fixture, fake_write_fn *write, const char *expected)
{
    struct fake_bytes file = fake_written(&fixture->directory, write, &fixture->fake.profile);
    struct fake_pprof read;
    char text[TEXT_BYTES] = "";
    fake_pprof_read(&file, &read);
    for (size_t i = 0; i < read.sample_count; i++) {
        const struct fake_sample *sample = &read.samples[i];
        const uint64_t *values = sample->values.at;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s %s %d %d %d %d\n", name_of_leaf(&read, sample),
                 label_of(&read, sample, "wait"), (int)values[0], (int)(values[1] / MS),
                 (int)(values[2] / MS), (int)(values[sample->values.count - 1] / MS));
    }
    assert_string_equal(text, expected);
    fake_pprof_free(&read);
    fake_bytes_free(&file);
}

/* The same bytes when it is read and written again. */
static void assert_same_again(const struct fixture *fixture)
{
    char path[PATH_MAX];
    struct recording recording;
    struct fake_bytes file = fake_written(&fixture->directory, write_pprof, &fixture->fake.profile);
    snprintf(path, sizeof path, "%s/file", fixture->directory.path);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(file.bytes, 1, file.size, stream), file.size);
    fclose(stream);
    assert_int_equal(recording_open(&recording, path), 0);
    struct fake_bytes again = fake_written(&fixture->directory, write_pprof, &recording.profile);
    assert_int_equal(again.size, file.size);
    assert_memory_equal(again.bytes, file.bytes, file.size);
    recording_close(&recording);
    fake_bytes_free(&again);
    fake_bytes_free(&file);
}

/* ---- the label ---- */

static void a_node_has_a_sample_for_its_wait_and_one_for_the_rest(void **state)
{
    struct fixture *fixture = *state;
    add_thread(fixture, 1);
    assert_samples(fixture, write_pprof,
                   "[unsampled] - 0 3 6 9\n"
                   "pthread_cond_wait idle 4 0 900 900\n"
                   "handle - 5 50 0 50\n"
                   "pthread_cond_wait condition 2 0 7 7\n"
                   "fsync - 3 2 0 2\n"
                   "fsync file 0 0 1 1\n"
                   "pthread_mutex_lock - 0 1 0 1\n"
                   "pthread_mutex_lock lock 9 0 40 40\n");
    assert_same_again(fixture);
}

static void the_library_writes_none(void **state)
{
    struct fixture *fixture = *state;
    add_thread(fixture, 1);
    assert_samples(fixture, enc_pprof_write,
                   "[unsampled] - 0 3 6 9\n"
                   "pthread_cond_wait - 4 0 900 900\n"
                   "handle - 5 50 0 50\n"
                   "pthread_cond_wait - 2 0 7 7\n"
                   "fsync - 3 2 1 3\n"
                   "pthread_mutex_lock - 9 1 40 41\n");
}

/* Their trees are merged into one that is not the profile's. */
static void threads_of_one_name_wait_for_the_same(void **state)
{
    struct fixture *fixture = *state;
    fixture->fake.profile.labels = LABELS_NAME;
    add_thread(fixture, 1);
    add_thread(fixture, 2);
    assert_samples(fixture, write_pprof,
                   "handle - 10 100 0 100\n"
                   "pthread_mutex_lock - 0 2 0 2\n"
                   "pthread_mutex_lock lock 18 0 80 80\n"
                   "fsync - 6 4 0 4\n"
                   "fsync file 0 0 2 2\n"
                   "pthread_cond_wait condition 4 0 14 14\n"
                   "pthread_cond_wait idle 8 0 1800 1800\n"
                   "[unsampled] - 0 6 12 18\n");
    assert_same_again(fixture);
}

/* The label is of what is waited for, and a wait for a CPU is in the other sample. */
static void waits_for_a_cpu_are_not_labelled(void **state)
{
    struct fixture *fixture = *state;
    arena_ref root = fake_profile_thread(&fixture->fake, 1, "worker");
    arena_ref node = fake_profile_node(&fixture->fake, root, location_of(fixture, "recv"));
    tree_node(&fixture->fake.tree, node)->self =
        (struct values){.samples = 3, .cpu_ns = 2 * MS, .rundelay_ns = MS, .blocked_ns = 8 * MS};
    fixture->fake.profile.has_rundelay = true;
    assert_samples(fixture, write_pprof, "recv - 0 2 1 3\nrecv network 3 0 8 8\n");
    assert_same_again(fixture);
}

/* What is told of one node is what reports say of all. */
static void one_node_is_told_as_all_are(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = &fixture->fake.profile;
    struct meaning meaning;
    struct meaning_names names;
    arena_ref root = fake_profile_thread(&fixture->fake, 9, "others");
    add_thread(fixture, 1);
    weigh(fixture, root, STACK("/main", "take_gil", "/f", "/g", "/h", "/i", "pthread_cond_wait"), 1, 0, 1);
    weigh(fixture, root, STACK("/main", "uv_mutex_lock", "take_gil", "sem_wait"), 1, 0, 1);
    weigh(fixture, root, STACK("/main", "std::f", "/g", "std::h", "poll"), 1, 0, 1);
    weigh(fixture, root, STACK("/a", "/b", "/c", "Parker::park(bool, long)", "/d", "futex_wait"), 1, 0, 1);
    weigh(fixture, root, STACK("/a", "Parker::park(bool, long)", "/d", "/e", "futex_wait"), 1, 0, 1);
    assert_int_equal(meaning_init(&meaning, profile), 0);
    assert_int_equal(meaning_names_init(&names, profile), 0);
    const struct tree *tree = profile->tree;
    unsigned kinds = 0;
    for (arena_ref top = tree->newest_root; top; top = tree_node(tree, top)->next_sibling) {
        for (arena_ref node = tree_next(tree, top, top); node; node = tree_next(tree, top, node)) {
            const enum wait_kind kind = meaning_wait_at(&names, tree, node);
            assert_int_equal(kind, meaning.nodes[tree_node_index(node)].wait);
            kinds |= 1U << kind;
        }
    }
    assert_int_equal(kinds, 1U << WAIT_OTHER | 1U << WAIT_LOCK | 1U << WAIT_CONDITION | 1U << WAIT_FILE |
                                1U << WAIT_IDLE | 1U << WAIT_UNSEEN);
    meaning_names_deinit(&names);
    meaning_deinit(&meaning);
}

/* CPython makes all waits of locks, which its own library tells apart. PHP polls sockets. */
static void what_scripts_wait_for(void **state)
{
#define LIBRARY "/usr/lib/python3.11/"
#define LOCK    "PyThread_acquire_lock_timed", "sem_wait"
    const struct {
        const char *const *stack;
        enum wait_kind kind;
    } cases[] = {
        {STACK("shop.py:<module>", "shop.py:count", LOCK), WAIT_LOCK},
        {STACK("shop.py:<module>", "shop.py:a", "shop.py:b", LIBRARY "threading.py:Condition.wait", LOCK),
         WAIT_CONDITION},
        {STACK("shop.py:work", LIBRARY "queue.py:Queue.get", LIBRARY "threading.py:Condition.wait", LOCK),
         WAIT_IDLE},
        {STACK("shop.py:<module>", LIBRARY "threading.py:Thread.join", LOCK), WAIT_CHILD},
        {STACK("shop.py:<module>", LIBRARY "threading.py:Thread.join", "take_gil", "pthread_cond_wait"),
         WAIT_LOCK},
        {STACK(LIBRARY "concurrent/futures/thread.py:_worker", LOCK), WAIT_IDLE},
        {STACK(LIBRARY "concurrent/futures/thread.py:_worker", "shop.py:count", LOCK), WAIT_LOCK},
        {STACK("shop.py:<module>", "shop.py:take_gil", "recv"), WAIT_SOCKET},
        /* what polls in a function of streams is a socket's, and not for work */
        {STACK("_start", "/srv/shop.py:{main}", "_php_stream_fill_read_buffer", "poll"), WAIT_SOCKET},
        {STACK("_start", "/srv/shop.py:{main}", "_php_stream_fill_read_buffer", "read"), WAIT_FILE},
        {STACK("_start", "/srv/shop.py:{main}", "curl_easy_perform", "pthread_mutex_lock"), WAIT_LOCK},
        {STACK("_start", "/srv/shop.py:{main}", "poll"), WAIT_IDLE},
        {STACK("_start", "/srv/shop.py:{main}", "_php_stream_read", "/srv/shop.py:Wrapper::read",
               "nanosleep"),
         WAIT_SLEEP},
    };
    struct fixture *fixture = *state;
    struct meaning_names names;
    struct meaning meaning;
    arena_ref nodes[sizeof cases / sizeof *cases];
    arena_ref root = fake_profile_thread(&fixture->fake, 1, "python");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        nodes[i] = weigh(fixture, root, cases[i].stack, 1, 0, 1);
    assert_int_equal(meaning_init(&meaning, &fixture->fake.profile), 0);
    assert_int_equal(meaning_names_init(&names, &fixture->fake.profile), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(meaning.nodes[tree_node_index(nodes[i])].wait, cases[i].kind);
        assert_int_equal(meaning_wait_at(&names, &fixture->fake.tree, nodes[i]), cases[i].kind);
    }
    meaning_names_deinit(&names);
    meaning_deinit(&meaning);
}

/* ---- folded stacks ---- */

static void folded_stacks_end_in_what_is_waited_for(void **state)
{
    struct fixture *fixture = *state;
    fixture->fake.profile.has_wait_frames = true;
    add_thread(fixture, 1);
    struct fake_bytes file = fake_written(&fixture->directory, enc_folded_write, &fixture->fake.profile);
    assert_string_equal((char *)file.bytes,
                        "[worker tid=1];main;serve;handle 50\n"
                        "[worker tid=1];main;serve;handle;append;pthread_mutex_lock 1\n"
                        "[worker tid=1];main;serve;handle;append;pthread_mutex_lock;(lock) 40\n"
                        "[worker tid=1];main;serve;handle;append;fsync 2\n"
                        "[worker tid=1];main;serve;handle;append;fsync;(file) 1\n"
                        "[worker tid=1];main;serve;handle;get;pthread_cond_wait;(condition) 7\n"
                        "[worker tid=1];main;pop;pthread_cond_wait;(idle) 900\n"
                        "[worker tid=1];[unsampled] 9\n");
    fake_bytes_free(&file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(a_node_has_a_sample_for_its_wait_and_one_for_the_rest),
        TEST(the_library_writes_none),
        TEST(threads_of_one_name_wait_for_the_same),
        TEST(waits_for_a_cpu_are_not_labelled),
        TEST(one_node_is_told_as_all_are),
        TEST(what_scripts_wait_for),
        TEST(folded_stacks_end_in_what_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
