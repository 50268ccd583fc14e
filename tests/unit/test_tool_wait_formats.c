/* What formats with times, and pages, say of waits: on what, and who held it. The profile is
 * waiting_profile.h's. */
#include "tool/formats/formats.h"

#include "lib/fake_files.h"
#include "lib/fake_written.h"
#include "lib/unit.h"
#include "lib/waiting_profile.h"

#include <jansson.h>
#include <string.h>

#define MS UINT64_C(1000000)

struct fixture {
    struct fake_directory directory;
    struct waiting_profile waiting;
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fake_directory_create(&fixture.directory);
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

/* The page makes frames of locations: those of labels have none, and say what they are elsewhere. */
static void a_page_has_them_beside_its_frames(void **state)
{
    struct fixture *fixture = *state;
    struct fake_bytes file =
        fake_written(&fixture->directory, enc_html_write, &fixture->waiting.fake.profile);
    const char *labels = strstr((char *)file.bytes, "\"wait_labels\":[");
    assert_non_null(labels);
    assert_int_equal(strspn(labels, "\"wait_labels:[],0123456789"),
                     strcspn(labels, "f")); /* "functions" follows */
    assert_non_null(strstr((char *)file.bytes, "\"mutex journal_mutex\""));
    assert_null(strstr((char *)file.bytes, "\"{on=mutex journal_mutex}\"\n,\"[0"));
    fake_bytes_free(&file);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Of the holder's thread, and of all. */
static void a_page_has_blame_only_where_anybody_is_blamed(void **state)
{
    struct fixture *fixture = *state;
    struct fake_bytes file =
        fake_written(&fixture->directory, enc_html_write, &fixture->waiting.fake.profile);
    assert_int_equal(count_of((char *)file.bytes, "\"blame\":\""), 0);
    fake_bytes_free(&file);
    waiting_profile_blame(&fixture->waiting, 4, WAITING_STACK("/run", "/parse"), "mutex table_lock", "reader",
                          200);
    file = fake_written(&fixture->directory, enc_html_write, &fixture->waiting.fake.profile);
    assert_int_equal(count_of((char *)file.bytes, "\"blame\":\""), 2);
    assert_int_equal(count_of((char *)file.bytes, "\"blame\":\"200000000\""), 2);
    fake_bytes_free(&file);
}

/* ---- over time ---- */

enum { STRETCHES = 3 };

/* One thread: it runs for 100 ms, then waits for a lock for 300 ms, held by two others. */
static void make_timed(struct fixture *fixture, struct timeline *timeline,
                       struct timeline_record records[STRETCHES])
{
    struct waiting_profile *waiting = &fixture->waiting;
    arena_ref root = fake_profile_thread(&waiting->fake, 20, "timed");
    const char *const *locking = WAITING_STACK("/run", "/append", "pthread_mutex_lock");
    const uint32_t number = waiting->fake.profile.thread_count;
    const struct {
        arena_ref node;
        uint64_t ms;
        enum timeline_state state;
    } stretches[STRETCHES] = {
        {waiting_profile_add(waiting, root, WAITING_STACK("/run", "/compute"), NULL, NULL, 100, 0), 100,
         TIMELINE_RUNNING},
        {waiting_profile_add(waiting, root, locking, "mutex timed", "reader", 0, 200), 200, TIMELINE_WAITING},
        {waiting_profile_add(waiting, root, locking, "mutex timed", "writer-2", 0, 100), 100,
         TIMELINE_WAITING},
    };
    uint64_t now_ns = 0;
    for (int i = 0; i < STRETCHES; i++) {
        now_ns += stretches[i].ms * MS;
        records[i] = (struct timeline_record){.first_ns = now_ns,
                                              .last_ns = now_ns,
                                              .wall_ns = stretches[i].ms * MS,
                                              .thread = number,
                                              .node = stretches[i].node,
                                              .state = stretches[i].state,
                                              .ticks = 1};
    }
    *timeline = (struct timeline){.records = records, .count = STRETCHES};
    waiting->fake.profile.timeline = timeline;
}

static void traces_say_what_each_wait_was_for(void **state)
{
    struct fixture *fixture = *state;
    struct timeline timeline;
    struct timeline_record records[STRETCHES];
    make_timed(fixture, &timeline, records);
    struct fake_bytes file =
        fake_written(&fixture->directory, enc_perfetto_write, &fixture->waiting.fake.profile);
    const char *text = (char *)file.bytes;
    assert_non_null(strstr(text, "\"ts\":100000,\"dur\":200000,\"args\":{\"function\":\"append\",\"stack\":"
                                 "\"run;append;pthread_mutex_lock\",\"on\":\"mutex timed\",\"holder\":"
                                 "\"reader\"}"));
    assert_non_null(strstr(text, "\"ts\":300000,\"dur\":100000,\"args\":{\"function\":\"append\",\"stack\":"
                                 "\"run;append;pthread_mutex_lock\",\"on\":\"mutex timed\",\"holder\":"
                                 "\"writer-2\"}"));
    fake_bytes_free(&file);
}

/* Its stacks are of functions alone, and those of both waits are one. */
static void markers_say_what_each_wait_was_for(void **state)
{
    struct fixture *fixture = *state;
    struct timeline timeline;
    struct timeline_record records[STRETCHES];
    make_timed(fixture, &timeline, records);
    struct fake_bytes file =
        fake_written(&fixture->directory, enc_firefox_write, &fixture->waiting.fake.profile);
    json_error_t error;
    json_t *all = json_loads((char *)file.bytes, 0, &error), *threads = json_object_get(all, "threads"),
           *data = NULL;
    const json_t *strings = json_object_get(json_object_get(all, "shared"), "stringArray"), *samples = NULL;
    assert_non_null(all);
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (strcmp(json_string_value(json_object_get(thread, "name")), "timed") != 0)
            continue;
        data = json_object_get(json_object_get(thread, "markers"), "data");
        samples = json_object_get(json_object_get(thread, "samples"), "stack");
    }
    assert_int_equal(json_array_size(data), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *marker = json_array_get(data, i);
        const json_int_t on = json_integer_value(json_object_get(marker, "on")),
                         holder = json_integer_value(json_object_get(marker, "holder"));
        assert_string_equal(json_string_value(json_array_get(strings, (size_t)on)), "mutex timed");
        assert_string_equal(json_string_value(json_array_get(strings, (size_t)holder)),
                            i ? "writer-2" : "reader");
        const json_int_t summary = json_integer_value(json_object_get(marker, "summary"));
        assert_string_equal(json_string_value(json_array_get(strings, (size_t)summary)),
                            i ? "append: mutex timed, held by writer-2"
                              : "append: mutex timed, held by reader");
    }
    assert_int_equal(json_array_size(samples), 1 + STRETCHES);
    assert_int_equal(json_integer_value(json_array_get(samples, 2)),
                     json_integer_value(json_array_get(samples, 3)));
    json_decref(all);
    fake_bytes_free(&file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(a_page_has_them_beside_its_frames),
        TEST(a_page_has_blame_only_where_anybody_is_blamed),
        TEST(traces_say_what_each_wait_was_for),
        TEST(markers_say_what_each_wait_was_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
