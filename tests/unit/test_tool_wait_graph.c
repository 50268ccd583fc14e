/* Who waits for whom: edges, knots and gains, with exact numbers of waiting_profile.h and of trees made here.
 */
#include "tool/waits/wait_graph_report.h"
#include "tool/io/text.h"

#include "lib/unit.h"
#include "lib/waiting_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

struct fixture {
    struct waiting_profile waiting;
    struct wait_graph graph;
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    text_init();
    waiting_profile_init(&fixture.waiting);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    wait_graph_free(&fixture->graph);
    fake_profile_deinit(&fixture->waiting.fake);
    return 0;
}

static void make(struct fixture *fixture, const char *pattern)
{
    const char *const patterns[] = {pattern, NULL};
    assert_int_equal(wait_graph_make(&fixture->graph, &fixture->waiting.fake.profile, patterns), 0);
}

/* The edges by gain: "WAITER THING HOLDER MS GAIN-MS KNOT", a line each. */
static void assert_edges(const struct fixture *fixture, const char *expected)
{
    char text[4096] = "";
    const struct wait_graph *graph = &fixture->graph;
    const struct wait_edge **edges = wait_graph_sorted(graph);
    assert_non_null(edges);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s %s %s %d %d %d\n",
                 wait_graph_name(graph, edges[i]->key.waiter), wait_graph_thing(graph, edges[i]),
                 wait_graph_holder(graph, edges[i]) ?: "-", (int)(edges[i]->ns / MS),
                 (int)(edges[i]->gain_ns / MS), (int)wait_graph_knot(graph, edges[i]));
    }
    assert_string_equal(text, expected);
    free(edges);
}

/* An empty program in place of the one of waiting_profile.h. */
static void begin_again(struct fixture *fixture)
{
    fake_profile_deinit(&fixture->waiting.fake);
    fixture->waiting = (struct waiting_profile){.location_count = 0};
    fake_profile_init(&fixture->waiting.fake, 1 << 20);
    fixture->waiting.app = fake_profile_module(&fixture->waiting.fake, "/opt/app");
    fixture->waiting.libc = fake_profile_module(&fixture->waiting.fake, "/lib/x86_64-linux-gnu/libc.so.6");
}

static arena_ref add_thread(struct fixture *fixture, const char *name, uint64_t running_ms)
{
    const int32_t tid = 100 + (int32_t)fixture->waiting.fake.profile.thread_count;
    arena_ref root = fake_profile_thread(&fixture->waiting.fake, tid, name);
    waiting_profile_add(&fixture->waiting, root, WAITING_STACK("/run", "/compute"), NULL, NULL, running_ms,
                        0);
    return root;
}

static void add_wait(struct fixture *fixture, arena_ref root, const char *on, const char *holder, uint64_t ms)
{
    waiting_profile_add(&fixture->waiting, root, WAITING_STACK("/run", "/f", "pthread_mutex_lock"), on,
                        holder, 0, ms);
}

/* ---- edges ---- */

static void an_edge_is_who_waits_for_what_and_whom(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, NULL);
    assert_int_equal(fixture->graph.wall_ns, 3000 * MS);
    assert_int_equal(fixture->graph.waited_ns, 2500 * MS);
    assert_int_equal(fixture->graph.parties.count, 4); /* time of no thread is none */
    assert_edges(fixture, "main thread writer-1 - 1000 1000 0\n"
                          "writer-2 file /var/journal - 400 771 0\n"
                          "writer-1 mutex journal_mutex writer-2 500 500 0\n"
                          "writer-2 mutex table_lock reader 200 342 1\n"
                          "reader tcp 10.0.0.7:5432 - 150 262 0\n"
                          "reader mutex journal_mutex writer-2 100 106 1\n"
                          "reader network - 50 87 0\n"
                          "writer-1 mutex journal_mutex - 60 60 0\n"
                          "writer-1 mutex journal_mutex reader 40 40 0\n");
}

static void threads_of_like_names_are_one(void **state)
{
    struct fixture *fixture = *state;
    make(fixture, "w*-?");
    assert_int_equal(fixture->graph.parties.count, 3);
    assert_edges(fixture, "main thread writer-1 - 1000 1000 0\n"
                          "w*-? file /var/journal - 400 675 0\n"
                          "w*-? mutex journal_mutex w*-? 500 543 1\n"
                          "w*-? mutex table_lock reader 200 320 1\n"
                          "reader tcp 10.0.0.7:5432 - 150 265 0\n"
                          "w*-? mutex journal_mutex - 60 101 0\n"
                          "reader mutex journal_mutex w*-? 100 100 1\n"
                          "reader network - 50 88 0\n"
                          "w*-? mutex journal_mutex reader 40 64 1\n");
}

static void waits_for_a_cpu_are_edges_too(void **state)
{
    struct fixture *fixture = *state;
    begin_again(fixture);
    arena_ref root = add_thread(fixture, "a", 10),
              node = tree_node(&fixture->waiting.fake.tree, root)->first_child;
    tree_node(&fixture->waiting.fake.tree, node)->self.rundelay_ns = 30 * MS;
    make(fixture, NULL);
    assert_edges(fixture, "a cpu - 30 30 0\n");
}

/* "NAME (pid N)" is a thread of another process of a merged profile. */
static void holders_may_be_of_other_processes(void **state)
{
    static const struct process_record processes[] = {{"app", 7, PROCESS_NO_RANK, "", NULL},
                                                      {"db", 8, PROCESS_NO_RANK, "", NULL}};
    struct fixture *fixture = *state;
    struct fake_profile *fake = &fixture->waiting.fake;
    begin_again(fixture);
    fake->profile.processes = processes;
    fake->profile.process_count = 2;
    fake->profile.is_merged = true;
    arena_ref one = add_thread(fixture, "w", 50), other = add_thread(fixture, "w", 50);
    ((struct thread_record *)arena_at(&fake->arena, fake->thread_of_number[2]))->process = 1;
    add_wait(fixture, one, "mutex shared", "w (pid 8)", 100);
    add_wait(fixture, other, "mutex own", "w", 50);
    make(fixture, NULL);
    assert_edges(fixture, "app (7): w mutex shared db (8): w 100 100 0\n"
                          "db (8): w mutex own db (8): w 50 100 1\n"); /* half of its time */
}

/* ---- knots ---- */

static void a_chain_is_no_knot_and_a_circle_is_one(void **state)
{
    struct fixture *fixture = *state;
    begin_again(fixture);
    arena_ref a = add_thread(fixture, "a", 10), b = add_thread(fixture, "b", 10),
              c = add_thread(fixture, "c", 10), d = add_thread(fixture, "d", 10);
    add_wait(fixture, a, "mutex 1", "b", 10);
    add_wait(fixture, b, "mutex 2", "c", 20);
    add_wait(fixture, c, "mutex 3", "b", 30);
    add_wait(fixture, d, "mutex 4", "nobody-of-ours", 40);
    make(fixture, NULL);
    assert_int_equal(fixture->graph.knot_count, 1);
    assert_edges(fixture, "d mutex 4 nobody-of-ours 40 40 0\n"
                          "c mutex 3 b 30 30 1\n"
                          "b mutex 2 c 20 26 1\n" /* a third of its time without c, of what a waits */
                          "a mutex 1 b 10 10 0\n");
}

static void knots_are_told_apart(void **state)
{
    struct fixture *fixture = *state;
    begin_again(fixture);
    arena_ref a = add_thread(fixture, "a", 10), b = add_thread(fixture, "b", 10),
              c = add_thread(fixture, "c", 10), d = add_thread(fixture, "d", 10),
              e = add_thread(fixture, "e", 10);
    add_wait(fixture, a, "m", "b", 10);
    add_wait(fixture, b, "m", "c", 10);
    add_wait(fixture, c, "m", "a", 10); /* a circle of three, */
    add_wait(fixture, c, "m", "d", 10);
    add_wait(fixture, d, "m", "e", 10);
    add_wait(fixture, e, "m", "d", 10); /* and one of two that it waits for */
    make(fixture, NULL);
    assert_int_equal(fixture->graph.knot_count, 2);
    const struct wait_graph *graph = &fixture->graph;
    uint32_t knots[5] = {0};
    for (uint32_t party = 0; party < 5; party++)
        knots[*wait_graph_name(graph, party) - 'a'] = wait_graph_party(graph, party)->knot;
    assert_int_equal(knots[0], knots[1]);
    assert_int_equal(knots[0], knots[2]);
    assert_int_equal(knots[3], knots[4]);
    assert_int_not_equal(knots[0], knots[3]);
    assert_true(knots[0] > 0 && knots[3] > 0);
}

/* ---- gains ---- */

/* a waits for b, which waits half of its time for c, which is in a file for a quarter of its time. */
static void what_a_holder_waits_for_has_its_part(void **state)
{
    struct fixture *fixture = *state;
    begin_again(fixture);
    arena_ref a = add_thread(fixture, "a", 0), b = add_thread(fixture, "b", 50),
              c = add_thread(fixture, "c", 75);
    add_wait(fixture, a, "mutex 1", "b", 80);
    add_wait(fixture, b, "mutex 2", "c", 50);
    waiting_profile_add(&fixture->waiting, c, WAITING_STACK("/run", "fsync"), "file /f", NULL, 0, 25);
    make(fixture, NULL);
    assert_edges(fixture, "b mutex 2 c 50 90 0\n" /* and 80 / 2 */
                          "a mutex 1 b 80 80 0\n"
                          "c file /f - 25 47 0\n"); /* and (50 + 40) / 4 */
}

/* All wait for each other all the time: nothing is passed on for ever, and no more is gained than is waited.
 */
static void a_deadlock_ends(void **state)
{
    struct fixture *fixture = *state;
    begin_again(fixture);
    arena_ref roots[3] = {add_thread(fixture, "a", 0), add_thread(fixture, "b", 0),
                          add_thread(fixture, "c", 0)};
    add_wait(fixture, roots[0], "m", "b", 10);
    add_wait(fixture, roots[1], "m", "c", 10);
    add_wait(fixture, roots[2], "m", "a", 10);
    make(fixture, NULL);
    assert_int_equal(fixture->graph.edge_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(fixture->graph.edges[i].gain_ns, 30 * MS);
}

/* ---- what is written ---- */

static void assert_written(const struct fixture *fixture, bool is_dot, const char *expected)
{
    char *text;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    const struct wait_edge **edges = wait_graph_sorted(&fixture->graph);
    if (is_dot)
        wait_graph_put_dot(&fixture->graph, edges, fixture->graph.edge_count, stream);
    else
        wait_graph_put_text(&fixture->graph, edges, 2, 60, stream);
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
    free(edges);
}

static void make_two(struct fixture *fixture)
{
    begin_again(fixture);
    arena_ref a = add_thread(fixture, "a\"\\", 10), b = add_thread(fixture, "b", 10);
    add_wait(fixture, a, "mutex 1", "b", 20);
    add_wait(fixture, b, "mutex 2", "a\"\\", 30);
    add_wait(fixture, b, "file /x", NULL, 10);
    make(fixture, NULL);
}

static void text_has_the_waits_and_the_knots(void **state)
{
    struct fixture *fixture = *state;
    make_two(fixture);
    assert_written(fixture, false,
                   "80.0 ms of thread time without waits for work; 60.0 ms of it waited\n"
                   "\n"
                   "    WALL    GAIN  WHO  WAITS FOR  HELD BY\n"
                   " 30.0 ms 30.0 ms  b    mutex 2    a\"\\\n"
                   " 20.0 ms 20.0 ms  a\"\\  mutex 1    b\n"
                   "and 1 more\n"
                   "\n"
                   "knot 1: b, a\"\\ wait for each other\n"
                   " 30.0 ms 30.0 ms  b    mutex 2    a\"\\\n"
                   " 20.0 ms 20.0 ms  a\"\\  mutex 1    b\n"
                   "\n"
                   "GAIN: an estimate of what all threads would save if nobody waited there\n");
}

static void dot_is_quoted(void **state)
{
    struct fixture *fixture = *state;
    make_two(fixture);
    assert_written(
        fixture, true,
        "digraph waits {\n"
        "  node [shape=box];\n"
        "  subgraph cluster_1 {\n"
        "    label=\"knot 1\"; color=red; fontcolor=red;\n"
        "    \"b\";\n"
        "    \"a\\\"\\\\\";\n"
        "  }\n"
        "  \"b\" -> \"a\\\"\\\\\" [label=\"mutex 2: 30.0 ms, gain ~30.0 ms\", penwidth=5.0, color=red];\n"
        "  \"a\\\"\\\\\" -> \"b\" [label=\"mutex 1: 20.0 ms, gain ~20.0 ms\", penwidth=3.7, color=red];\n"
        "  \"on file /x\" [shape=ellipse, label=\"file /x\"];\n"
        "  \"b\" -> \"on file /x\" [label=\"10.0 ms, gain ~20.0 ms\", penwidth=2.3];\n"
        "}\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(an_edge_is_who_waits_for_what_and_whom), TEST(threads_of_like_names_are_one),
        TEST(waits_for_a_cpu_are_edges_too),          TEST(holders_may_be_of_other_processes),
        TEST(a_chain_is_no_knot_and_a_circle_is_one), TEST(knots_are_told_apart),
        TEST(what_a_holder_waits_for_has_its_part),   TEST(a_deadlock_ends),
        TEST(text_has_the_waits_and_the_knots),       TEST(dot_is_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
