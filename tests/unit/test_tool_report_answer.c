/* Whose function the time of a stack is in, what is waited for, what is idle, and what a report says first.
 */
#include "tool/io/text.h"
#include "tool/read/recording.h"
#include "tool/report/report_answer.h"

#include "lib/pprof_builder.h"
#include "lib/unit.h"

#define VALUES(...) ((const uint64_t[]){__VA_ARGS__})
#define MS          UINT64_C(1000000)

enum { FILES_MAX = 8, FUNCTIONS_MAX = 64 };

struct fixture {
    struct pprof_builder built;
    struct recording recording;
    struct report report;
    struct report_request request;
    const char *files[FILES_MAX];
    struct {
        const char *name;
        uint32_t file;
    } functions[FUNCTIONS_MAX];
    uint32_t file_count, function_count;
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    built_init(&fixture.built);
    built_header(&fixture.built, "command: ./app");
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    report_free(&fixture->report);
    recording_close(&fixture->recording);
    built_deinit(&fixture->built);
    return 0;
}

/* The id of the location of a function; "FILE:NAME", where files are numbered as they are first used. */
static uint32_t location(struct fixture *fixture, const char *text)
{
    const char *colon = strchr(text, ' ');
    uint32_t file = 0, function = 0;
    for (; file < fixture->file_count; file++) {
        if (strncmp(fixture->files[file], text, (size_t)(colon - text)) == 0)
            break;
    }
    for (; function < fixture->function_count; function++) {
        if (strcmp(fixture->functions[function].name, colon + 1) == 0)
            break;
    }
    if (file == fixture->file_count)
        fixture->files[fixture->file_count++] = text;
    if (function == fixture->function_count) {
        fixture->functions[fixture->function_count].name = colon + 1;
        fixture->functions[fixture->function_count++].file = file;
    }
    return PSEUDO_COUNT + 1 + function;
}

/* frames: "FILE NAME", innermost first. All of the time is waited, or all is used. */
static void stack(struct fixture *fixture, uint64_t cpu_ms, uint64_t waited_ms, const char *const *frames)
{
    uint32_t ids[16], depth = 0;
    for (; frames[depth]; depth++)
        ids[depth] = location(fixture, frames[depth]);
    ids[depth] = 0;
    built_sample(&fixture->built, "app", 7, ids,
                 VALUES(1, cpu_ms * MS, waited_ms * MS, (cpu_ms + waited_ms) * MS));
}

#define STACK(cpu_ms, waited_ms, ...)                                                                        \
    stack(fixture, cpu_ms, waited_ms, (const char *const[]){__VA_ARGS__, NULL})

static void finish(struct fixture *fixture)
{
    struct pprof_builder *built = &fixture->built;
    for (uint32_t i = 0; i < fixture->file_count; i++) {
        char path[128];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(fixture->files[i], " "), fixture->files[i]);
        built_mapping(built, 0x100000 * (i + 1), 0, path, "", 1);
    }
    built_pseudo_locations(built);
    for (uint32_t i = 0; i < fixture->function_count; i++) {
        uint32_t file = fixture->functions[i].file;
        built_location(built, file + 1, 0x100000 * (file + 1) + 16 * (i + 1),
                       (const struct built_line[]){{PSEUDO_COUNT + 1 + i, 0}}, 1);
    }
    built_pseudo_functions(built);
    for (uint32_t i = 0; i < fixture->function_count; i++)
        built_function(built, fixture->functions[i].name, fixture->functions[i].name, "", 0);
    built_strings(built);
    assert_int_equal(recording_read_pprof(&fixture->recording, built->out.bytes, built->out.used, NULL), 0);
    assert_int_equal(report_make(&fixture->report, &fixture->recording.profile, &fixture->request), 0);
    report_sort(&fixture->report, METRIC_WALL, false);
}

/* The first row: its name, its own time in ms, and what it waits for. */
static void assert_first(const struct fixture *fixture, const char *name, uint64_t wall_ms, const char *waits)
{
    char text[ANSWER_TEXT_BYTES];
    assert_true(fixture->report.row_count > 0);
    const struct report_row *row = &fixture->report.rows[0];
    answer_waits(row, text);
    assert_string_equal(row->name, name);
    assert_int_equal(tree_wall_ns(&row->flat), wall_ms * MS);
    assert_string_equal(text, waits);
}

#define APP  "/opt/app/app "
#define LIB  "/opt/app/libcore.so "
#define LIBC "/lib/x86_64-linux-gnu/libc.so.6 "
#define LIBZ "/usr/lib/x86_64-linux-gnu/libz.so.1 "

static void a_lock_counts_for_the_function_that_takes_it(void **state)
{
    struct fixture *fixture = *state;
    STACK(0, 70, LIBC "futex_wait", LIBC "pthread_mutex_lock", APP "std::mutex::lock()",
          APP "Journal::append()", APP "serve", APP "main");
    STACK(10, 0, APP "Journal::append()", APP "serve", APP "main");
    STACK(20, 0, APP "parse", APP "serve", APP "main");
    finish(fixture);
    assert_first(fixture, "Journal::append()", 80, "lock");
}

static void a_librarys_work_counts_for_its_caller(void **state)
{
    struct fixture *fixture = *state;
    STACK(30, 0, LIBC "memcpy", LIBZ "deflate", LIBZ "[libz.so.1+0x123]", LIB "pack", APP "main");
    STACK(20, 0, APP "main");
    finish(fixture);
    assert_first(fixture, "pack", 30, "");
}

static void without_a_function_of_the_users_a_named_one_of_a_library_counts(void **state)
{
    struct fixture *fixture = *state;
    STACK(30, 0, LIBC "memcpy", LIBZ "deflate", "/usr/bin/python3.11 [python3.11+0x45]",
          "/usr/bin/python3.11 PyObject_Call", "/usr/bin/python3.11 main");
    finish(fixture);
    assert_first(fixture, "deflate", 30, "");
}

static void a_systems_program_is_the_users_too(void **state)
{
    struct fixture *fixture = *state;
    STACK(30, 0, LIBC "memcpy", "/usr/bin/redis-server lookupKey", "/usr/bin/redis-server main");
    finish(fixture);
    assert_first(fixture, "lookupKey", 30, "");
}

static void a_server_waits_for_a_row_lock(void **state)
{
    struct fixture *fixture = *state;
    STACK(0, 60, LIBC "epoll_wait", "/usr/lib/postgresql/15/bin/postgres WaitEventSetWait",
          "/usr/lib/postgresql/15/bin/postgres WaitLatch", "/usr/lib/postgresql/15/bin/postgres ProcSleep",
          "/usr/lib/postgresql/15/bin/postgres LockAcquireExtended",
          "/usr/lib/postgresql/15/bin/postgres XactLockTableWait",
          "/usr/lib/postgresql/15/bin/postgres heap_update", "/usr/lib/postgresql/15/bin/postgres main");
    STACK(0, 900, LIBC "epoll_wait", "/usr/lib/postgresql/15/bin/postgres WaitEventSetWait",
          "/usr/lib/postgresql/15/bin/postgres SocketBackend",
          "/usr/lib/postgresql/15/bin/postgres PostgresMain", "/usr/lib/postgresql/15/bin/postgres main");
    finish(fixture);
    assert_first(fixture, "heap_update", 60, "lock");
    assert_int_equal(tree_wall_ns(&fixture->report.selected), 60 * MS);
    assert_int_equal(fixture->report.waited_ns[WAIT_IDLE], 900 * MS);
}

static void a_pool_is_idle_and_a_deep_wait_is_not(void **state)
{
    struct fixture *fixture = *state;
    STACK(0, 500, LIBC "pthread_cond_wait", APP "Queue::pop()", APP "worker", LIBC "start_thread");
    STACK(0, 400, LIBC "epoll_wait", APP "aeApiPoll", APP "aeProcessEvents", APP "aeMain", APP "main");
    STACK(0, 30, LIBC "pthread_cond_wait", APP "Future::get()", APP "handle", APP "serve", APP "main");
    STACK(0, 20, LIBC "poll", APP "query", APP "fetch", APP "handle", APP "serve", APP "main");
    finish(fixture);
    assert_first(fixture, "Future::get()", 30, "condition");
    assert_int_equal(tree_wall_ns(&fixture->report.selected), 50 * MS);
    assert_int_equal(fixture->report.waited_ns[WAIT_IDLE], 900 * MS);
}

static void idle_time_is_shown_on_demand(void **state)
{
    struct fixture *fixture = *state;
    fixture->request.shows_idle = true;
    STACK(5, 500, LIBC "pthread_cond_wait", APP "worker", LIBC "start_thread");
    finish(fixture);
    assert_first(fixture, "worker", 505, "idle");
    assert_int_equal(tree_wall_ns(&fixture->report.selected), 505 * MS);
}

/* ---- what is said first ---- */

static void findings_are_in_words(void **state)
{
    struct fixture *fixture = *state;
    char text[4096], *at = text;
    STACK(0, 460, LIBC "futex_wait", LIBC "pthread_mutex_lock", APP "Journal::append(Entry const&)",
          APP "main");
    STACK(0, 70, LIBC "fsync", APP "Journal::append(Entry const&)", APP "main");
    STACK(10, 0, APP "Journal::append(Entry const&)", APP "main");
    STACK(300, 0, APP "parse", APP "main");
    STACK(0, 150, LIBC "clock_nanosleep", APP "tick", APP "main");
    STACK(0, 10, LIBC "wait4", APP "main");
    STACK(0, 500, LIBC "epoll_wait", APP "loop", APP "main");
    finish(fixture);
    answer_where(&fixture->report, false, text);
    assert_string_equal(
        text,
        "running 310 ms | lock 460 ms | sleep 150 ms | file 70.0 ms | child 10.0 ms | idle (hidden) 500 ms");
    FILE *stream = fmemopen(text, sizeof text, "w");
    answer_findings(&fixture->report, 80, stream);
    fclose(stream);
    assert_string_equal(at, "  54.0% Journal::append(Entry const&): waiting for a lock 46.0%, in files 7.0%\n"
                            "  30.0% parse: running 30.0%\n"
                            "  15.0% tick: asleep 15.0%\n");
}

static void a_wait_for_children_is_said_where_nothing_else_is(void **state)
{
    struct fixture *fixture = *state;
    char text[4096];
    STACK(0, 990, LIBC "wait4", APP "run_all", APP "main");
    STACK(10, 0, APP "main");
    finish(fixture);
    FILE *stream = fmemopen(text, sizeof text, "w");
    answer_findings(&fixture->report, 80, stream);
    fclose(stream);
    assert_string_equal(text, "  99.0% run_all: waiting for a thread or process to end 99.0%\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lock_counts_for_the_function_that_takes_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_librarys_work_counts_for_its_caller, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_function_of_the_users_a_named_one_of_a_library_counts,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_systems_program_is_the_users_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_waits_for_a_row_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pool_is_idle_and_a_deep_wait_is_not, setup, teardown),
        cmocka_unit_test_setup_teardown(idle_time_is_shown_on_demand, setup, teardown),
        cmocka_unit_test_setup_teardown(findings_are_in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wait_for_children_is_said_where_nothing_else_is, setup, teardown),
    };
    text_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
