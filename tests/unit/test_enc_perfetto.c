/* A trace for Perfetto made by hand, event by event. */
#include "tool/formats/formats.h"

#include "lib/fake_files.h"
#include "lib/small_profile.h"

#include <errno.h>
#include <string.h>

struct fixture {
    struct fake_directory directory;
    struct small_profile small;
    struct fake_bytes file;
};

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    *state = &fixture;
    fake_directory_create(&fixture.directory);
    small_profile_create(&fixture.small);
    fixture.small.profile.timeline = &fixture.small.timeline;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fake_bytes_free(&fixture->file);
    small_profile_destroy(&fixture->small);
    fake_directory_remove(&fixture->directory);
    return 0;
}

static const char *written(struct fixture *fixture)
{
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "out.perfetto.json", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(enc_perfetto_write(&fixture->small.profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    fake_bytes_free(&fixture->file);
    fixture->file = fake_read(&fixture->directory, "out.perfetto.json");
    return (const char *)fixture->file.bytes;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s\nis not in\n%s", part, text);
}

static void threads_have_names_and_an_order(void **state)
{
    const char *text = written(*state);
    assert_has(text,
               "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":11,\"tid\":11,\"args\":{\"name\":\"main\"}}");
    assert_has(
        text, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":11,\"tid\":12,\"args\":{\"name\":\"worker\"}}");
    assert_has(
        text,
        "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":11,\"tid\":13,\"args\":{\"sort_index\":2}}");
}

/* The worker's life is in no record, so it lies as its tree has it: 30 + 1 ms on a CPU and 9 ms of a wait.
 * Times are whole eighths of a microsecond. */
static void states_are_complete_events(void **state)
{
    const char *text = written(*state);
    assert_has(text,
               "{\"ph\":\"X\",\"name\":\"running\",\"cat\":\"running\",\"pid\":11,\"tid\":12,\"ts\":10000,"
               "\"dur\":1000,\"args\":{\"function\":\"helper\",\"stack\":\"run;fact;helper\"}}");
    assert_has(text,
               "{\"ph\":\"X\",\"name\":\"other\",\"cat\":\"blocked\",\"pid\":11,\"tid\":12,\"ts\":11000,"
               "\"dur\":9000,\"args\":{\"function\":\"helper\",\"stack\":\"run;fact;helper\"}}");
    assert_has(text,
               "{\"ph\":\"X\",\"name\":\"running\",\"cat\":\"running\",\"pid\":11,\"tid\":12,\"ts\":20000,"
               "\"dur\":30000.125,\"args\":{\"function\":\"fact\",\"stack\":\"run;fact;fact;fact\"}}");
}

static void who_waits_for_a_cpu_is_runnable(void **state)
{
    struct fixture *fixture = *state;
    struct tree_node *node = tree_node(&fixture->small.tree, fixture->small.records[0].node);
    node->self.rundelay_ns += 5000;
    assert_has(written(fixture),
               "{\"ph\":\"X\",\"name\":\"waiting for a CPU\",\"cat\":\"runnable\",\"pid\":11,\"tid\":11,");
}

/* Nobody knows whose time it is, and a number that two threads have had is one thread to a reader. */
static void a_number_that_is_anothers_is_made_up(void **state)
{
    struct fixture *fixture = *state;
    struct thread_record *third =
        arena_at(&fixture->small.arena, fixture->small.thread_of_number[SMALL_THREADS]);
    third->tid = 12;
    assert_has(written(fixture), "\"pid\":11,\"tid\":4194307,\"args\":{\"sort_index\":2}}");
    third->tid = 0;
    assert_has(written(fixture), "\"pid\":11,\"tid\":4194307,\"args\":{\"sort_index\":2}}");
}

static void long_stacks_have_room(void **state)
{
    struct fixture *fixture = *state;
    static char name[3 * 4096];
    memset(name, 'x', sizeof name - 1);
    name[1] = ';';
    fixture->small.functions[SMALL_FACT].name = name;
    const char *text = written(fixture), *stack = strstr(text, "\"stack\":\"run;x:xxx");
    assert_non_null(stack);
    assert_has(stack + sizeof name, "x;helper\"}}");
}

static void the_header_says_when_and_what(void **state)
{
    const char *text = written(*state);
    assert_has(text, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"command\":\"/opt/app/bin/app --fast\",");
    assert_has(text, "\"start_utc_ns\":\"1764000000123456789\",\"comments\":[\"wallprof ");
}

static void without_a_timeline_there_is_nothing_to_write(void **state)
{
    struct fixture *fixture = *state;
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "none.json", SINK_PLAIN, &error);
    fixture->small.profile.timeline = NULL;
    assert_int_equal(enc_perfetto_write(&fixture->small.profile, sink), -ENODATA);
    sink_commit(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_have_names_and_an_order, setup, teardown),
        cmocka_unit_test_setup_teardown(states_are_complete_events, setup, teardown),
        cmocka_unit_test_setup_teardown(who_waits_for_a_cpu_is_runnable, setup, teardown),
        cmocka_unit_test_setup_teardown(a_number_that_is_anothers_is_made_up, setup, teardown),
        cmocka_unit_test_setup_teardown(long_stacks_have_room, setup, teardown),
        cmocka_unit_test_setup_teardown(the_header_says_when_and_what, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_timeline_there_is_nothing_to_write, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
