/* The data in a page, byte for byte, for profiles made by hand; and that no name gets out of it. */
#include "tool/formats/formats.h"

#include "encode/version.h"
#include "lib/fake_files.h"
#include "lib/fake_profile.h"
#include "lib/narrow_page.h"
#include "lib/page_numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array)     (sizeof(array) / sizeof *(array))
#define DATA_BEGINS      "<script type=\"application/json\" id=\"profile\">\n"
#define PSEUDO_LOCATIONS "[0,0,0]\n,[0,1,0]\n,[0,2,0]\n,[0,3,0]\n,[0,4,0]\n"
#define PSEUDO_FUNCTIONS "1,0,0\n,2,0,0\n,3,0,0\n,4,0,0\n,5,0,0\n"
#define NO_MORE          ",\"numbers\":\"\""
#define NOT_IDLE         "\"idle\":[\"0\",\"0\",\"0\",\"0\"]"
#define WAITS                                                                                                \
    "\"waits\":[\"other\",\"lock\",\"condition\",\"sleep\",\"poll\",\"events\",\"network\",\"file\","        \
    "\"child\",\"signal\",\"cpu\",\"idle\",\"stopped\",\"not seen\"]"
#define PSEUDO_STRINGS                                                                                       \
    "\"\"\n,\"[unsampled]\"\n,\"[not responding]\"\n,\"[truncated]\"\n,\"[overflow]\"\n,\"[unloaded]\"\n"

struct fixture {
    struct fake_profile fake;
    struct fake_directory directory;
    struct fake_bytes page;
    char *data; /* what is in the page, with its numbers as text */
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fake_directory_create(&fixture.directory);
    fake_profile_init(&fixture.fake, 1 << 22);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    free(fixture->data);
    fake_bytes_free(&fixture->page);
    fake_profile_deinit(&fixture->fake);
    fake_directory_remove(&fixture->directory);
    return 0;
}

static void write_page(struct fixture *fixture)
{
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "page.html", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(enc_html_write(&fixture->fake.profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    fixture->page = fake_read(&fixture->directory, "page.html");
}

/* Up to the end of the element, as a browser sees it. */
static void export(struct fixture *fixture)
{
    write_page(fixture);
    char *data = strstr((char *)fixture->page.bytes, DATA_BEGINS);
    assert_non_null(data);
    data += strlen(DATA_BEGINS);
    char *end = strstr(data, "</script>");
    assert_non_null(end);
    *end = '\0';
    fixture->data = page_numbers_shown(data);
    assert_non_null(fixture->data);
}

/* What follows a key, as far as expected goes. */
static void assert_member(const struct fixture *fixture, const char *expected)
{
    char key[32], *at;
    snprintf(key, sizeof key, "%.*s", (int)(strchr(expected, ':') - expected), expected);
    at = strstr(fixture->data, key);
    assert_non_null(at);
    char found[4096];
    snprintf(found, sizeof found, "%.*s", (int)strlen(expected), at);
    assert_string_equal(found, expected);
}

static void weigh_two_threads(struct fake_profile *fake)
{
    arena_ref app = fake_profile_module(fake, "/opt/app"),
              library = fake_profile_module(fake, "/lib/libw.so");
    struct symbol_frame main_frame = {fake_profile_function(fake, "main", "/src/app.c", 10), 12};
    struct symbol_frame work[] = {{fake_profile_function(fake, "helper", "/src/app.h", 4), 5},
                                  {fake_profile_function(fake, "work", "/src/app.c", 20), 22}};
    arena_ref in_main = fake_profile_location(fake, app, &main_frame, 1);
    arena_ref in_work = fake_profile_location(fake, app, work, 2);
    arena_ref in_wait = fake_profile_plain(fake, library, "wait");
    arena_ref first = fake_profile_thread(fake, 1000, "app"),
              second = fake_profile_thread(fake, 1001, "worker");
    arena_ref top = fake_profile_node(fake, first, in_main);
    fake_profile_weigh(fake, fake_profile_node(fake, top, in_work), 2, 20000001, 0);
    fake_profile_weigh(fake, fake_profile_node(fake, top, in_wait), 3, 0, 30000000);
    fake_profile_weigh(fake, fake_profile_node(fake, second, in_work), 1, 7, 3);
}

/* In thousandths of a squared millisecond, after the node's place. */
static void changes_stand_after_their_nodes(void **state)
{
    struct fixture *fixture = *state;
    struct tree *tree = &fixture->fake.tree;
    weigh_two_threads(&fixture->fake);
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        arena_ref node = tree_next(tree, root, root), below = node ? tree_next(tree, root, node) : 0;
        if (below)
            tree_node(tree, below)->changes = (struct changes){150e12F, 200e12F, -50e12F, 0};
    }
    export(fixture);
    assert_member(fixture,
                  "\"has_changes\":true,\"numbers\":\"0 0 1 5 7 6 0 3 2 0 0 20000001 0 30000000 0 0 8 0 "
                  "0 300000 0 0 400000 0 0 99999 0 0 0 0\"\n,\"total\"");
}

static void the_data_is_what_was_measured(void **state)
{
    struct fixture *fixture = *state;
    weigh_two_threads(&fixture->fake);
    export(fixture);
    assert_string_equal(
        fixture->data,
        "{\"command\":\"./app "
        "--flag\",\"start_utc_ns\":\"1764000000123456789\",\"duration_ns\":\"12345678901\","
        "\"period_ns\":10000000,"
        "\"comments\":[\"wallprof " WALLPROF_VERSION "\",\"command: ./app --flag\","
        "\"100 ticks a second requested, 0 made, 0 missed; up to 8 threads a tick\","
        "\"0 samples: 0 not whole, 0 without a reply; 0 late signals dropped\","
        "\"samples taken: 0 unchanged, 0 walked from outside, 0 by signal, 0 without a reply: 0.00 % without "
        "a "
        "signal\","
        "\"the sampler itself used 0.000 s of CPU, which is not in this profile; signals took about 0.000 s "
        "in "
        "the program's threads, which is in it\","
        "\"waits for a CPU are part of off-CPU time: the kernel did not tell how long they were\"],"
        "\"trees\":[{\"name\":\"app\",\"id\":1000,\"threads\":1,\"nodes\":3,"
        "\"numbers\":\"0 0 1 5 7 6 0 3 2 0 0 20000001 0 30000000 0 0 8 0\"\n,"
        "\"total\":[\"5\",\"20000001\",\"30000000\",\"50000001\"]," NOT_IDLE "},"
        "{\"name\":\"worker\",\"id\":1001,\"threads\":1,\"nodes\":1,\"numbers\":\"0 6 1 7 3 0\"\n,"
        "\"total\":[\"1\",\"7\",\"3\",\"10\"]," NOT_IDLE "}],"
        "\"total\":[\"6\",\"20000008\",\"30000003\",\"50000011\"]," NOT_IDLE NO_MORE "," WAITS ","
        "\"locations\":[" PSEUDO_LOCATIONS ",[1,5,12]\n,[1,6,5,7,22]\n,[2,8,0]\n],"
        "\"functions\":[3,0,0\n,4,0,0\n,5,0,0\n,6,0,0\n,7,0,0\n,8,9,10\n,10,11,4\n,12,9,20\n,13,0,0\n],"
        "\"strings\":[\"\"\n,\"/opt/app\"\n,\"/lib/libw.so\"\n,\"[unsampled]\"\n,\"[not responding]\"\n,"
        "\"[truncated]\"\n,\"[overflow]\"\n,\"[unloaded]\"\n,\"main\"\n,\"/src/app.c\"\n,\"helper\"\n,"
        "\"/src/app.h\"\n,\"work\"\n,\"wait\"\n]}");
}

/* The sums of idle time are exact, as the page takes them from totals. */
static void waits_are_told_and_idle_time_is_summed_up(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->fake;
    arena_ref app = fake_profile_module(fake, "/opt/app"), libc = fake_profile_module(fake, "/lib/libc.so.6");
    arena_ref in_pool = fake_profile_plain(fake, app, "pool"),
              in_lock = fake_profile_plain(fake, libc, "pthread_mutex_lock"),
              in_wait = fake_profile_plain(fake, libc, "pthread_cond_wait");
    for (int tid = 1; tid <= 2; tid++) {
        arena_ref pool = fake_profile_node(fake, fake_profile_thread(fake, tid, "t"), in_pool);
        fake_profile_weigh(fake, fake_profile_node(fake, pool, in_lock), 1, 2, 30);
        fake_profile_weigh(fake, fake_profile_node(fake, pool, in_wait), 7, 5, UINT64_C(1) << 62);
    }
    export(fixture);
    assert_member(fixture, "\"trees\":[{\"name\":\"t\",\"id\":1,\"threads\":1,\"nodes\":3,"
                           "\"numbers\":\"0 0 1 5 7 6 0 7 1 0 5 2 0 4611686018427387904 30 0 11 1\"\n,"
                           "\"total\":[\"8\",\"7\",\"4611686018427387934\",\"4611686018427387941\"],"
                           "\"idle\":[\"7\",\"0\",\"4611686018427387904\",\"4611686018427387904\"]}");
    assert_non_null(strstr(fixture->data,
                           "\"idle\":[\"14\",\"0\",\"9223372036854775808\",\"9223372036854775808\"]" NO_MORE
                           "," WAITS));
}

static void an_empty_profile_is_a_page_too(void **state)
{
    struct fixture *fixture = *state;
    export(fixture);
    assert_member(fixture, "\"trees\":[],\"total\":[\"0\",\"0\",\"0\",\"0\"]," NOT_IDLE NO_MORE "," WAITS
                           ",\"locations\":[" PSEUDO_LOCATIONS "],\"functions\":[" PSEUDO_FUNCTIONS
                           "],\"strings\":[" PSEUDO_STRINGS "]}");
}

static void threads_of_equal_labels_are_one_tree(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->fake;
    fake->profile.labels = LABELS_NAME;
    arena_ref location = fake_profile_plain(fake, fake_profile_module(fake, "/opt/app"), "work");
    for (int tid = 1; tid <= 3; tid++) {
        arena_ref root = fake_profile_thread(fake, tid, tid < 3 ? "pool" : "other");
        fake_profile_weigh(fake, fake_profile_node(fake, root, location), 1, (uint64_t)tid, 10);
    }
    export(fixture);
    assert_member(fixture,
                  "\"trees\":[{\"name\":\"other\",\"threads\":1,\"nodes\":1,\"numbers\":\"0 5 1 3 10 0\"\n,"
                  "\"total\":[\"1\",\"3\",\"10\",\"13\"]," NOT_IDLE "},"
                  "{\"name\":\"pool\",\"threads\":2,\"nodes\":1,\"numbers\":\"0 5 2 3 20 0\"\n");
}

static void without_labels_there_is_one_tree(void **state)
{
    struct fixture *fixture = *state;
    weigh_two_threads(&fixture->fake);
    fixture->fake.profile.labels = LABELS_NONE;
    export(fixture);
    assert_member(fixture, "\"trees\":[{\"threads\":2,\"nodes\":");
    assert_member(fixture,
                  "\"total\":[\"6\",\"20000008\",\"30000003\",\"50000011\"]," NOT_IDLE "}],\"total\"");
}

/* Time that found no room for a node: it is not lost, and it has a name. */
static void what_lies_on_a_root_is_an_overflow(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->fake;
    fake_profile_weigh(fake, fake_profile_thread(fake, 0, NULL), 1, 2, 3);
    export(fixture);
    assert_member(fixture, "\"trees\":[{\"threads\":0,\"nodes\":1,\"numbers\":\"0 3 1 2 3 "
                           "13\"\n,\"total\":[\"1\",\"2\",\"3\",\"5\"]," NOT_IDLE "}]");
}

static void memory_outside_all_modules_has_its_name(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->fake;
    arena_ref root = fake_profile_thread(fake, 1, "a");
    fake_profile_weigh(fake, fake_profile_node(fake, root, fake_profile_plain(fake, 0, "nowhere")), 1, 1, 1);
    fake_profile_region(fake, "[JIT]");
    fake_profile_weigh(fake, fake_profile_node(fake, root, fake_profile_plain(fake, 0, "made")), 1, 1, 1);
    export(fixture);
    assert_member(fixture, "\"locations\":[" PSEUDO_LOCATIONS ",[0,5,0]\n,[1,6,0]\n]");
    assert_member(fixture, "\"strings\":[\"\"\n,\"[JIT]\"\n");
}

/* More than a double holds, and more than 64 bits with a sign. */
static void large_values_are_exact(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->fake;
    arena_ref location = fake_profile_plain(fake, fake_profile_module(fake, "/opt/app"), "work");
    for (int tid = 1; tid <= 2; tid++) {
        arena_ref node = fake_profile_node(fake, fake_profile_thread(fake, tid, "t"), location);
        fake_profile_weigh(fake, node, 0, (UINT64_C(1) << 62) + 1, 0);
    }
    export(fixture);
    assert_member(fixture, "\"trees\":[{\"name\":\"t\",\"id\":1,\"threads\":1,\"nodes\":1,"
                           "\"numbers\":\"0 5 0 4611686018427387905 0 0\"");
    assert_non_null(
        strstr(fixture->data,
               "\"total\":[\"0\",\"9223372036854775810\",\"0\",\"9223372036854775810\"]," NOT_IDLE NO_MORE
               "," WAITS));
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        count++;
    return count;
}

static const char hostile[] = "</script><script>alert(1)</script><!--\"'&\\\xe2\x80\xa8\xff\n";

static void no_name_breaks_out(void **state)
{
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->fake;
    arena_ref module = fake_profile_module(fake, hostile);
    struct symbol_frame frame = {fake_profile_function(fake, hostile, hostile, 1), 1};
    arena_ref root = fake_profile_thread(fake, 1, "</script><!--");
    fake_profile_weigh(fake, fake_profile_node(fake, root, fake_profile_location(fake, module, &frame, 1)), 1,
                       1, 1);
    fake->profile.command = fake->profile.restraint = hostile;
    write_page(fixture);
    assert_int_equal(count_of((char *)fixture->page.bytes, "alert(1)"), 4); /* as text */
    assert_int_equal(count_of((char *)fixture->page.bytes, "<script>alert"), 0);
    fake_bytes_free(&fixture->page);
    export(fixture);
    assert_member(fixture,
                  "\"strings\":[\"\"\n,\"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)\\u003c/script"
                  "\\u003e\\u003c!--\\\"'\\u0026\\\\\\u2028?\\u000a\"\n");
    assert_member(fixture, "\"trees\":[{\"name\":\"\\u003c/script\\u003e\\u003c!--\"");
    assert_null(strpbrk(fixture->data, "<>&"));
    assert_null(strstr(fixture->data, "\xe2\x80\xa8"));
}

/* The page runs one script and one style, those its policy names. */
static void the_page_has_a_policy(void **state)
{
    struct fixture *fixture = *state;
    write_page(fixture);
    const char *page = (const char *)fixture->page.bytes;
    assert_non_null(strstr(page, "content=\"default-src 'none'; script-src 'sha256-"));
    assert_int_equal(count_of(page, "<script>"), 1);
    assert_int_equal(count_of(page, "<style>"), 1);
    assert_int_equal(count_of(page, "unsafe-"), 0);
    assert_int_equal(count_of(page, "_HASH@"), 0);
    assert_int_equal(count_of(page, "src="), 0);
    assert_string_equal(page + fixture->page.size - strlen("</html>\n"), "</html>\n");
}

/* Files and lines of many functions: the string table has to grow. */
static void weigh_many_functions(struct fake_profile *fake)
{
    arena_ref app = fake_profile_module(fake, "/opt/app");
    for (int i = 0; i < 6000; i++) {
        char name[64];
        snprintf(name, sizeof name, "a_function_with_a_long_name_%d", i);
        arena_ref root = i < 2 ? fake_profile_thread(fake, i, "same") : fake->tree.newest_root;
        fake_profile_weigh(fake, fake_profile_node(fake, root, fake_profile_plain(fake, app, name)), 1, 1, 1);
    }
}

/* AFTER's data comes first, in the element of a page of one profile. */
static void a_comparison_has_both_profiles(void **state)
{
    static const struct process_record app = {"app", 1, PROCESS_NO_RANK, "", NULL};
    struct fixture *fixture = *state;
    struct profile before = fixture->fake.profile, after = before;
    int error;
    before.command = "before";
    after.command = "after";
    after.processes = &app;
    after.process_count = 1;
    struct sink *sink = sink_create(fixture->directory.fd, "page.html", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(enc_html_write_comparison(&before, &after, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    fixture->page = fake_read(&fixture->directory, "page.html");
    const char *at =
        strstr((char *)fixture->page.bytes, DATA_BEGINS "{\"command\":\"after\",\"program\":\"app\",");
    assert_non_null(at);
    assert_non_null(strstr(
        at, "</script>\n<script type=\"application/json\" id=\"before\">\n{\"command\":\"before\",\"start"));
}

static void without_memory_there_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    fixture->fake.profile.labels = LABELS_NAME;
    weigh_many_functions(&fixture->fake);
    narrow_page_assert(&fixture->fake.profile, fixture->directory.fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(changes_stand_after_their_nodes),
        TEST(the_data_is_what_was_measured),
        TEST(waits_are_told_and_idle_time_is_summed_up),
        TEST(an_empty_profile_is_a_page_too),
        TEST(threads_of_equal_labels_are_one_tree),
        TEST(without_labels_there_is_one_tree),
        TEST(what_lies_on_a_root_is_an_overflow),
        TEST(memory_outside_all_modules_has_its_name),
        TEST(large_values_are_exact),
        TEST(no_name_breaks_out),
        TEST(the_page_has_a_policy),
        TEST(a_comparison_has_both_profiles),
        TEST(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
