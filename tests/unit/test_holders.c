/* Which thread is named as the holder of a lock: a living one of ours, and never one that has only taken over
 * a tid. */
/* test: not-emulated */
#include "lib/unit.h"
#include "base/clock.h"
#include "profile/tree.h"
#include "proc/proc_tasks.h"
#include "sample/sampler_internal.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NOBODY = 4000000 };

static struct sampler sampler;
static struct threads threads;
static struct thread *subject;

static int setup(void **state)
{
    memset(&sampler, 0, sizeof sampler);
    sampler.threads = &threads;
    sampler.thread_scan.task_directory = proc_tasks_open(-1);
    if (threads_init(&threads) < 0 || arena_init(&sampler.arena, 1 << 20) < 0 ||
        tree_init(&sampler.tree, &sampler.arena) < 0)
        return -1;
    waits_init(&sampler.waits, &sampler.tree, &sampler.modules, sampler_find_holder, &sampler);
    waits_begin_tick(&sampler.waits, clock_monotonic_ns(), true);
    prctl(PR_SET_NAME, "keeper");
    subject = threads_acquire(&threads);
    threads_enter(&threads, subject, gettid(), 1000, 0);
    return threads_take_arrived(&threads) == subject ? threads_add(&threads, subject) : -1;
}

static int teardown(void **state)
{
    waits_deinit(&sampler.waits);
    tree_deinit(&sampler.tree);
    arena_deinit(&sampler.arena);
    threads_deinit(&threads);
    close(sampler.thread_scan.task_directory);
    return 0;
}

static const char *holder_of(pid_t tid, uint64_t other_ns)
{
    arena_ref label = sampler_find_holder(&sampler, tid, other_ns);
    return label ? tree_label_value(&sampler.arena, tree_location_at(&sampler.tree, label)) : "-";
}

static void a_thread_of_ours_is_named(void **state)
{
    assert_string_equal(holder_of(gettid(), 0), "keeper");
    assert_string_equal(holder_of(NOBODY, 0), "-");
}

static void one_that_has_left_is_not(void **state)
{
    static const char name[THREAD_NAME_BYTES] = "keeper";
    threads_leave(&threads, subject, name);
    assert_string_equal(holder_of(gettid(), 0), "-");
}

/* Its tid has been another one's: that one may have died with the lock, unless it was seen without it since.
 */
static void who_has_taken_over_a_tid_must_have_taken_the_lock(void **state)
{
    subject->holder.shares_tid = true;
    assert_string_equal(holder_of(gettid(), 0), "-");
    assert_string_equal(holder_of(gettid(), 1000), "-");
    assert_string_equal(holder_of(gettid(), 1001), "keeper");
}

/* A name is read again when the thread's age has doubled, and 50 ms have passed. */
static void a_new_name_is_learned(void **state)
{
    const uint64_t first_ns = sampler.waits.tick_ns;
    subject->start_ns = first_ns - 60 * NS_PER_MS;
    assert_string_equal(holder_of(gettid(), 0), "keeper");
    prctl(PR_SET_NAME, "writer");
    waits_begin_tick(&sampler.waits, first_ns + 60 * NS_PER_MS - 1, true);
    assert_string_equal(holder_of(gettid(), 0), "keeper");
    waits_begin_tick(&sampler.waits, first_ns + 60 * NS_PER_MS, true);
    assert_string_equal(holder_of(gettid(), 0), "writer");
    thread_annotations_set_name(&subject->annotations, "by itself");
    waits_begin_tick(&sampler.waits, first_ns + 200 * NS_PER_MS, true);
    assert_string_equal(holder_of(gettid(), 0), "by itself");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thread_of_ours_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_has_left_is_not, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_taken_over_a_tid_must_have_taken_the_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_name_is_learned, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
