/*
 * Threads that no hook has seen are found once each, and nobody else is taken for one. The threads here are
 * real; which of them are registered is the test's choice. The main thread is the sampler.
 */
/* test: not-emulated */
#include "lib/unit.h"
#include "sample/thread.h"
#include "sample/thread_scan.h"
#include "base/clock.h"

#include <linux/io_uring.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MANY = 400 };

static struct threads threads;
static struct thread_scan census;
static uint64_t now_ns;

/* ---- threads that do nothing ---- */

struct sleeper {
    pthread_t handle;
    pthread_barrier_t begun;
    pthread_mutex_t *lock; /* held by the test as long as it is to live */
    pid_t tid;
};

static void *sleep_on(void *argument)
{
    struct sleeper *sleeper = argument;
    sleeper->tid = gettid();
    pthread_barrier_wait(&sleeper->begun);
    pthread_mutex_lock(sleeper->lock);
    pthread_mutex_unlock(sleeper->lock);
    return NULL;
}

static void start(struct sleeper *sleeper, pthread_mutex_t *lock)
{
    pthread_attr_t attributes;
    sleeper->lock = lock;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    assert_int_equal(pthread_barrier_init(&sleeper->begun, NULL, 2), 0);
    assert_int_equal(pthread_create(&sleeper->handle, &attributes, sleep_on, sleeper), 0);
    pthread_barrier_wait(&sleeper->begun);
    pthread_attr_destroy(&attributes);
}

/* Joined is not yet gone: the kernel wakes who waits before it takes the thread off its list. */
static void end(struct sleeper *sleeper)
{
    struct timespec unused;
    pthread_join(sleeper->handle, NULL);
    while (clock_gettime(clock_of_thread(sleeper->tid), &unused) == 0)
        usleep(100);
    pthread_barrier_destroy(&sleeper->begun);
}

static struct sleeper sleeper, other, many[MANY];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the sampler's part ---- */

static void take_arrived(void)
{
    for (struct thread *at = threads_take_arrived(&threads), *next; at; at = next) {
        next = at->next_arrived;
        assert_int_equal(threads_add(&threads, at), 0);
    }
}

static bool scan(void)
{
    now_ns += 100 * NS_PER_MS;
    return thread_scan_begin(&census, &threads, now_ns);
}

/* Who is found to be a stranger in so many scans, 0 for nobody. */
static pid_t find_stranger(int scans)
{
    struct thread_scan_task stranger;
    while (scans-- > 0) {
        assert_true(scan());
        take_arrived();
        if (thread_scan_next_stranger(&census, &threads, &stranger))
            return stranger.tid;
    }
    return 0;
}

static struct thread *enter(struct thread *thread, pid_t tid)
{
    threads_enter(&threads, thread, tid, clock_monotonic_ns(), 0);
    return thread;
}

static struct thread *add(pid_t tid)
{
    struct thread *thread = enter(threads_acquire(&threads), tid);
    take_arrived();
    return thread;
}

static struct thread *adopt(const struct thread_scan_task *stranger)
{
    struct thread *thread = threads_acquire(&threads);
    thread->tid = stranger->tid;
    threads_uncount(&threads, thread);
    assert_int_equal(thread_scan_adopt(&census, thread, stranger), 0);
    assert_int_equal(threads_add(&threads, thread), 0);
    return thread;
}

static void drop(struct thread *thread, uint64_t end_ns)
{
    thread_scan_forget(&census, thread, end_ns);
    threads_remove(&threads, thread);
    threads_release(&threads, thread);
}

static int setup(void **state)
{
    memset(&census, 0, sizeof(census));
    pthread_mutex_trylock(&lock); /* still held, maybe, from the test before */
    pthread_mutex_trylock(&other_lock);
    if (threads_init(&threads) < 0 || thread_scan_init(&census) < 0)
        return -1;
    thread_scan_open(&census, NULL);
    return census.task_directory < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    close(census.task_directory);
    thread_scan_deinit(&census);
    threads_deinit(&threads);
    return 0;
}

static void end_sleeper(void)
{
    pthread_mutex_unlock(&lock);
    end(&sleeper);
}

/* ---- strangers ---- */

static void who_was_there_first_is_found_at_once(void **state)
{
    struct thread_scan_task stranger;
    uint64_t before_ns = clock_monotonic_ns();
    start(&sleeper, &lock);
    assert_true(thread_scan_start(&census, &threads));
    assert_true(thread_scan_next_stranger(&census, &threads, &stranger));
    assert_int_equal(stranger.tid, sleeper.tid);
    assert_true(stranger.time_ns + 20 * NS_PER_MS > before_ns && stranger.time_ns < clock_monotonic_ns());
    assert_false(thread_scan_next_stranger(&census, &threads, &stranger));
    assert_false(thread_scan_start(&census, &threads));
    end_sleeper();
}

static void a_stranger_is_found_at_the_second_scan(void **state)
{
    struct thread_scan_task stranger;
    start(&sleeper, &lock);
    assert_int_equal(find_stranger(1), 0);
    assert_false(thread_scan_begin(&census, &threads, now_ns + 99 * NS_PER_MS));
    assert_int_equal(find_stranger(1), sleeper.tid);
    assert_false(thread_scan_next_stranger(&census, &threads, &stranger));
    end_sleeper();
}

static void who_ends_between_the_looks_is_no_stranger(void **state)
{
    start(&sleeper, &lock);
    assert_int_equal(find_stranger(1), 0);
    end_sleeper();
    assert_int_equal(find_stranger(5), 0);
}

static void another_thread_with_the_tid_is_met_anew(void **state)
{
    start(&sleeper, &lock);
    assert_int_equal(find_stranger(1), 0);
    assert_int_equal(census.met.count, 1);
    census.met.tasks[0].time_ns -= 10 * NS_PER_MS; /* the start of one before it */
    assert_int_equal(find_stranger(1), 0);
    assert_int_equal(find_stranger(1), sleeper.tid);
    end_sleeper();
}

static void the_registered_are_no_strangers(void **state)
{
    start(&sleeper, &lock);
    start(&other, &other_lock);
    add(sleeper.tid);
    assert_int_equal(find_stranger(2), other.tid);
    add(other.tid);
    assert_int_equal(find_stranger(5), 0);
    pthread_mutex_unlock(&other_lock);
    end(&other);
    end_sleeper();
}

/* ---- threads on their way in ---- */

static void who_is_coming_is_waited_for(void **state)
{
    struct thread *thread = threads_acquire(&threads);
    start(&sleeper, &lock);
    assert_int_equal(find_stranger(10), 0);
    enter(thread, sleeper.tid);
    assert_int_equal(find_stranger(10), 0);
    end_sleeper();
}

/* It enters after the sampler has taken who has arrived, and before the census judges. */
static void who_enters_during_the_look_is_not_taken_twice(void **state)
{
    struct thread_scan_task stranger;
    struct thread *thread = threads_acquire(&threads);
    start(&sleeper, &lock);
    assert_int_equal(find_stranger(2), 0);
    take_arrived();
    enter(thread, sleeper.tid);
    assert_true(scan());
    assert_int_equal(census.strangers.count, 1);
    take_arrived();
    assert_false(thread_scan_next_stranger(&census, &threads, &stranger));
    assert_int_equal(find_stranger(10), 0);
    end_sleeper();
}

/* There is no moment at which nobody is coming, and still the stranger is one. */
static void a_stranger_is_found_while_others_keep_coming(void **state)
{
    struct thread *coming = threads_acquire(&threads), *newer;
    pid_t found = 0;
    start(&sleeper, &lock);
    for (int i = 0; i < 10 && !found; i++) {
        found = find_stranger(1);
        newer = threads_acquire(&threads);
        threads_uncount(&threads, coming);
        threads_release(&threads, coming);
        coming = newer;
    }
    assert_int_equal(found, sleeper.tid);
    end_sleeper();
}

static void who_could_not_be_created_is_not_waited_for(void **state)
{
    struct thread *thread = threads_acquire(&threads);
    start(&sleeper, &lock);
    assert_int_equal(find_stranger(5), 0);
    threads_uncount(&threads, thread);
    assert_int_equal(find_stranger(2), sleeper.tid);
    end_sleeper();
}

/* A creator that has read which group newcomers count in, and counts itself in only two turns later. */
static void who_comes_in_the_other_group_is_waited_for_too(void **state)
{
    assert_true(threads_turn(&threads));
    struct thread *thread = threads_acquire(&threads);
    assert_true(threads_turn(&threads));
    assert_false(threads_have_come(&threads));
    start(&sleeper, &lock);
    assert_int_equal(find_stranger(10), 0);
    assert_int_equal(enter(thread, sleeper.tid)->tid, sleeper.tid);
    assert_int_equal(find_stranger(10), 0);
    end_sleeper();
}

/* ---- threads on their way out ---- */

static void who_has_left_is_no_stranger_while_it_ends(void **state)
{
    start(&sleeper, &lock);
    struct thread *thread = add(sleeper.tid);
    drop(thread, clock_monotonic_ns());
    assert_int_equal(find_stranger(10), 0);
    end_sleeper();
}

static void a_new_thread_with_the_tid_of_one_that_left_is_a_stranger(void **state)
{
    uint64_t before_ns = clock_monotonic_ns() - 100 * NS_PER_MS;
    start(&sleeper, &lock);
    struct thread *thread = add(sleeper.tid);
    drop(thread, before_ns);
    assert_int_equal(find_stranger(2), sleeper.tid);
    end_sleeper();
}

/* More threads have ended since than are remembered. */
static void who_takes_long_to_end_is_no_stranger(void **state)
{
    start(&sleeper, &lock);
    struct thread *thread = add(sleeper.tid), later = {0};
    drop(thread, clock_monotonic_ns());
    for (pid_t i = 1; i <= 3; i++) {
        later.tid = sleeper.tid + i * THREAD_SCAN_LEFT_MAX;
        thread_scan_forget(&census, &later, clock_monotonic_ns());
    }
    assert_int_equal(find_stranger(10), 0);
    assert_int_equal(census.ending.count, 1);
    end_sleeper();
    assert_int_equal(find_stranger(1), 0);
    assert_int_equal(census.ending.count, 0);
}

/* It was met on its way to its hook, and leaves after the sampler has taken who has left. */
static void who_leaves_during_the_look_is_no_stranger(void **state)
{
    static const char no_name[THREAD_NAME_BYTES] = "";
    struct thread_scan_task stranger;
    start(&sleeper, &lock);
    assert_int_equal(find_stranger(1), 0);
    struct thread *thread = add(sleeper.tid);
    assert_true(scan());
    assert_int_equal(census.strangers.count, 1);
    threads_leave(&threads, thread, no_name);
    assert_false(thread_scan_next_stranger(&census, &threads, &stranger));
    assert_int_equal(find_stranger(10), 0);
    end_sleeper();
}

/* ---- threads that are gone ---- */

static void the_end_of_a_stranger_is_found(void **state)
{
    struct thread_scan_task stranger;
    start(&sleeper, &lock);
    thread_scan_start(&census, &threads);
    assert_true(thread_scan_next_stranger(&census, &threads, &stranger));
    struct thread *thread = adopt(&stranger);
    assert_true(scan());
    assert_null(thread_scan_next_gone(&census, &threads));
    end_sleeper();
    assert_true(scan());
    assert_ptr_equal(thread_scan_next_gone(&census, &threads), thread);
    drop(thread, now_ns);
    assert_null(thread_scan_next_gone(&census, &threads));
    assert_int_equal(census.foreign_count, 0);
}

static void a_stranger_whose_tid_has_passed_on_is_gone(void **state)
{
    start(&sleeper, &lock);
    struct thread_scan_task stranger = {.tid = sleeper.tid, .time_ns = clock_monotonic_ns() - NS_PER_S};
    struct thread *thread = adopt(&stranger);
    assert_true(scan());
    assert_ptr_equal(thread_scan_next_gone(&census, &threads), thread);
    end_sleeper();
}

static void who_ends_without_a_word_is_gone(void **state)
{
    start(&sleeper, &lock);
    struct thread *thread = add(sleeper.tid);
    assert_true(scan());
    assert_null(thread_scan_next_gone(&census, &threads));
    end_sleeper();
    assert_true(scan());
    assert_ptr_equal(thread_scan_next_gone(&census, &threads), thread);
}

static void who_has_said_so_is_not_gone(void **state)
{
    static const char no_name[THREAD_NAME_BYTES] = "";
    start(&sleeper, &lock);
    struct thread *thread = add(sleeper.tid);
    threads_leave(&threads, thread, no_name);
    end_sleeper();
    assert_true(scan());
    assert_null(thread_scan_next_gone(&census, &threads));
}

/* ---- many ---- */

/* More than one scan can list or check, with a few strangers among them; half of all end without a word. */
static void all_are_found_among_many(void **state)
{
    struct thread_scan_task stranger;
    struct thread *gone;
    uint32_t strangers = 0, scans = 0, gone_count = 0;
    for (int i = 0; i < MANY; i++)
        start(&many[i], i < MANY / 2 ? &lock : &other_lock);
    for (int i = 0; i < MANY; i++) {
        if (i % 20 != 0)
            add(many[i].tid);
    }
    for (; strangers < MANY / 20 && scans < 20; scans++) {
        assert_true(scan());
        while (thread_scan_next_stranger(&census, &threads, &stranger)) {
            adopt(&stranger);
            strangers++;
        }
    }
    assert_int_equal(strangers, MANY / 20);
    assert_true(scans > MANY / PROC_TASKS_NEXT_MAX);
    assert_int_equal(threads.live_count, MANY);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < MANY / 2; i++)
        end(&many[i]);
    for (scans = 0; gone_count < MANY / 2 && scans < 50; scans++) {
        assert_true(scan());
        while ((gone = thread_scan_next_gone(&census, &threads)) != NULL) {
            drop(gone, now_ns);
            gone_count++;
        }
    }
    assert_int_equal(gone_count, MANY / 2);
    assert_int_equal(threads.live_count, MANY / 2);
    assert_int_equal(census.foreign_count, MANY / 20 / 2);
    assert_int_equal(find_stranger(10), 0);
    pthread_mutex_unlock(&other_lock);
    for (int i = MANY / 2; i < MANY; i++)
        end(&many[i]);
}

/* ---- threads of the kernel's own ---- */

/* A ring whose submissions a thread of the kernel looks for. The descriptor, or -1 without io_uring. */
static int open_polled_ring(void)
{
    struct io_uring_params ring = {.flags = IORING_SETUP_SQPOLL};
    return (int)syscall(SYS_io_uring_setup, 1, &ring);
}

static void a_thread_of_the_kernel_is_no_stranger(void **state)
{
    struct thread_scan_task stranger;
    uint32_t alone = proc_tasks_count(census.task_directory);
    int ring = open_polled_ring();
    if (ring < 0)
        skip();
    assert_int_equal(proc_tasks_count(census.task_directory), alone + 1);
    thread_scan_start(&census, &threads);
    assert_false(thread_scan_next_stranger(&census, &threads, &stranger));
    assert_int_equal(find_stranger(5), 0);
    close(ring);
}

/* Only the kernel can set the mark: the name does not count. */
static void a_thread_with_the_name_of_a_kernels_is_a_stranger(void **state)
{
    start(&sleeper, &lock);
    pthread_setname_np(sleeper.handle, "iou-wrk-1");
    assert_int_equal(find_stranger(2), sleeper.tid);
    end_sleeper();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(who_was_there_first_is_found_at_once),
        TEST(a_stranger_is_found_at_the_second_scan),
        TEST(who_ends_between_the_looks_is_no_stranger),
        TEST(another_thread_with_the_tid_is_met_anew),
        TEST(the_registered_are_no_strangers),
        TEST(who_is_coming_is_waited_for),
        TEST(who_enters_during_the_look_is_not_taken_twice),
        TEST(a_stranger_is_found_while_others_keep_coming),
        TEST(who_could_not_be_created_is_not_waited_for),
        TEST(who_comes_in_the_other_group_is_waited_for_too),
        TEST(who_has_left_is_no_stranger_while_it_ends),
        TEST(a_new_thread_with_the_tid_of_one_that_left_is_a_stranger),
        TEST(who_takes_long_to_end_is_no_stranger),
        TEST(who_leaves_during_the_look_is_no_stranger),
        TEST(the_end_of_a_stranger_is_found),
        TEST(a_stranger_whose_tid_has_passed_on_is_gone),
        TEST(who_ends_without_a_word_is_gone),
        TEST(who_has_said_so_is_not_gone),
        TEST(all_are_found_among_many),
        TEST(a_thread_with_the_name_of_a_kernels_is_a_stranger),
        TEST(a_thread_of_the_kernel_is_no_stranger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
