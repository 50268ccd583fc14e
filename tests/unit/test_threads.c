/* Every thread is seen to come and to go exactly once. */
/* test: tsan */
#include "lib/unit.h"
#include "sample/thread.h"
#include "sample/threads.h"
#include "base/random.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char no_name[THREAD_NAME_BYTES] = "";

static int setup(void **state)
{
    static struct threads threads;
    *state = &threads;
    return threads_init(&threads);
}

static int teardown(void **state)
{
    threads_deinit(*state);
    return 0;
}

/* A thread of this tid that has come and is sampled. */
static struct thread *add(struct threads *threads, pid_t tid)
{
    struct thread *thread = threads_acquire(threads);
    assert_non_null(thread);
    threads_enter(threads, thread, tid, 0, 0);
    assert_ptr_equal(threads_take_arrived(threads), thread);
    assert_int_equal(threads_add(threads, thread), 0);
    return thread;
}

static void assert_dense(const struct threads *threads)
{
    for (uint32_t i = 0; i < threads->live_count; i++)
        assert_int_equal(threads->live[i]->live_index, i);
}

/* ---- records ---- */

static void a_record_holds_what_it_was_entered_with(void **state)
{
    struct threads *threads = *state;
    struct thread *thread = threads_acquire(threads);
    assert_int_equal(thread->observe.slot, -1);
    assert_int_equal(thread->number, 0);
    assert_null(threads_take_arrived(threads));
    threads_enter(threads, thread, 77, 1000, 50);
    assert_int_equal(thread->tid, 77);
    assert_int_equal(thread->number, 1);
    assert_int_equal(thread->start_ns, 1000);
    assert_int_equal(thread->start_cpu_ns, 50);
    assert_int_equal(thread->end_ns, 0);
    assert_int_equal(threads->registered, 1);
    assert_ptr_equal(threads_take_arrived(threads), thread);
    assert_null(thread->next_arrived);
    assert_null(threads_take_arrived(threads));
    assert_null(threads_take_left(threads));
}

static void leaving_says_who_when_and_how_many_remain(void **state)
{
    static const char name[THREAD_NAME_BYTES] = "fifteen chars..";
    struct threads *threads = *state;
    struct thread *first = add(threads, 1), *second = add(threads, 2);
    assert_int_equal(threads_leave(threads, second, name), 1);
    assert_int_equal(threads_leave(threads, first, no_name), 0);
    assert_int_equal(threads->registered, 0);
    assert_memory_equal(second->end_name, name, sizeof(name));
    assert_true(second->end_ns > 0 && first->end_ns >= second->end_ns);
    assert_true(second->end_cpu_ns > 0 && first->end_cpu_ns >= second->end_cpu_ns);
    assert_ptr_equal(threads_take_left(threads), first);
    assert_ptr_equal(first->next_left, second);
    assert_null(second->next_left);
    assert_null(threads_take_left(threads));
}

static void released_records_are_used_again_and_are_clean(void **state)
{
    struct threads *threads = *state;
    struct thread *first = threads_acquire(threads), *second = threads_acquire(threads);
    assert_ptr_not_equal(first, second);
    uint32_t index = first->index;
    struct thread expected = {.index = index, .observe = {.slot = -1}};
    memset(first, 0xff, sizeof(*first));
    first->index = index;
    threads_release(threads, first);
    threads_release(threads, second);
    assert_ptr_equal(threads_acquire(threads), second);
    assert_ptr_equal(threads_acquire(threads), first);
    assert_int_equal(first->index, expected.index);
    assert_int_equal(first->observe.slot, -1);
    assert_int_equal(first->end_ns, 0);
    assert_int_equal(first->stack_low | first->stack_high, 0);
    assert_false(first->is_foreign || first->observe.is_silent);
    assert_null(first->next_left);
    assert_int_equal(threads->fresh, 2);
}

static void a_record_is_nobody_elses_across_chunks(void **state)
{
    enum { RECORDS = 3 * THREADS_PER_CHUNK + 1 };
    struct threads *threads = *state;
    static struct thread *records[RECORDS];
    for (uint32_t i = 0; i < RECORDS; i++) {
        records[i] = threads_acquire(threads);
        assert_non_null(records[i]);
        assert_int_equal(records[i]->index, i);
        records[i]->tid = (pid_t)i;
    }
    for (uint32_t i = 0; i < RECORDS; i++)
        assert_int_equal(records[i]->tid, i);
    for (uint32_t i = 0; i < RECORDS; i++)
        threads_release(threads, records[i]);
    for (uint32_t i = RECORDS; i-- > 0;)
        assert_ptr_equal(threads_acquire(threads), records[i]);
}

/* Or a pop that was interrupted could take a head that has been away meanwhile for the one it saw (ABA). */
static void the_free_list_never_looks_the_same_again(void **state)
{
    struct threads *threads = *state;
    struct thread *thread = threads_acquire(threads);
    uint64_t heads[2 * 100];
    for (int i = 0; i < 200; i += 2) {
        threads_release(threads, thread);
        heads[i] = threads->free_head;
        assert_ptr_equal(threads_acquire(threads), thread);
        heads[i + 1] = threads->free_head;
        for (int j = 0; j < i; j++)
            assert_true(heads[j] != heads[i] && heads[j] != heads[i + 1]);
    }
}

static void a_full_pool_is_refused(void **state)
{
    struct threads *threads = *state;
    threads->fresh = THREADS_CHUNK_COUNT * THREADS_PER_CHUNK - 1;
    struct thread *last = threads_acquire(threads);
    assert_non_null(last);
    assert_null(threads_acquire(threads));
    threads_release(threads, last);
    assert_ptr_equal(threads_acquire(threads), last);
}

/* ---- the dense array ---- */

static void removal_keeps_the_others(void **state)
{
    enum { MANY = 1000 };
    struct threads *threads = *state;
    struct random_state random;
    struct thread *all[MANY];
    random_init(&random, 1);
    for (int i = 0; i < MANY; i++)
        all[i] = add(threads, i + 1);
    assert_int_equal(threads->live_count, MANY);
    assert_dense(threads);
    for (uint32_t left = MANY; left > 0; left--) {
        uint32_t victim = random_below(&random, left);
        pid_t tid = all[victim]->tid;
        assert_ptr_equal(threads_find(threads, tid), all[victim]);
        threads_remove(threads, all[victim]);
        assert_null(threads_find(threads, tid));
        all[victim] = all[left - 1];
        assert_int_equal(threads->live_count, left - 1);
        if (left % 100 == 0)
            assert_dense(threads);
    }
    for (int i = 0; i < MANY; i++)
        assert_null(threads_find(threads, i + 1));
}

/* One has left and is not yet taken off, another has its tid already: whichever way round they were added. */
static void a_tid_is_that_of_the_thread_that_has_not_left(void **state)
{
    struct threads *threads = *state;
    struct thread *first = add(threads, 7);
    threads_leave(threads, first, no_name);
    assert_null(threads_find(threads, 7));
    struct thread *second = add(threads, 7);
    assert_ptr_equal(threads_find(threads, 7), second);
    threads_remove(threads, first);
    assert_ptr_equal(threads_find(threads, 7), second);
    struct thread *third = add(threads, 7);
    threads_leave(threads, third, no_name);
    assert_ptr_equal(threads_find(threads, 7), second);
}

/* ---- many threads at once ---- */

enum { WORKERS = 8, ROUNDS = 20000, COMINGS = WORKERS * ROUNDS };

struct stress {
    struct threads *threads;
    pthread_barrier_t start;
    int done;                                        /* atomic: workers that have finished */
    uint32_t discarded;                              /* atomic */
    uint8_t arrived[COMINGS + 1], left[COMINGS + 1]; /* by number, the taker's own */
    uint32_t arrived_count, left_count;
};

/* A thread's whole life over and over, with a record now and then that is never entered. */
static void *work(void *argument)
{
    struct stress *stress = argument;
    pthread_barrier_wait(&stress->start);
    for (int round = 0; round < ROUNDS; round++) {
        char name[THREAD_NAME_BYTES] = "worker";
        struct thread *thread = threads_acquire(stress->threads);
        if (!thread)
            return NULL;
        if (round % 16 == 0) {
            threads_uncount(stress->threads, thread);
            threads_release(stress->threads, thread);
            __atomic_fetch_add(&stress->discarded, 1, __ATOMIC_RELAXED);
            thread = threads_acquire(stress->threads);
        }
        threads_enter(stress->threads, thread, 1 + round, (uint64_t)round, 0);
        threads_leave(stress->threads, thread, name);
    }
    __atomic_fetch_add(&stress->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* As the sampler does it: whoever is on the list of those that left has arrived before. */
static void take_all(struct stress *stress)
{
    struct thread *left = threads_take_left(stress->threads), *next;
    for (struct thread *at = threads_take_arrived(stress->threads); at; at = next) {
        next = at->next_arrived;
        stress->arrived[at->number]++;
        stress->arrived_count++;
        threads_add(stress->threads, at);
    }
    for (; left; left = next) {
        next = left->next_left;
        stress->left[left->number] += stress->arrived[left->number] == 1 && left->end_ns != 0;
        stress->left_count++;
        threads_remove(stress->threads, left);
        threads_release(stress->threads, left);
    }
}

/* With a pause between takings the workers have the CPUs to themselves, without one they meet the taker. */
static void run_stress(struct stress *stress, long pause_ns)
{
    const struct timespec pause = {.tv_nsec = pause_ns};
    pthread_t workers[WORKERS];
    assert_int_equal(pthread_barrier_init(&stress->start, NULL, WORKERS), 0);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, work, stress), 0);
    while (__atomic_load_n(&stress->done, __ATOMIC_ACQUIRE) < WORKERS) {
        take_all(stress);
        if (pause_ns)
            nanosleep(&pause, NULL);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    pthread_barrier_destroy(&stress->start);
    take_all(stress);
}

static void assert_each_came_and_went_once(const struct stress *stress)
{
    assert_int_equal(stress->arrived_count, COMINGS);
    assert_int_equal(stress->left_count, COMINGS);
    for (int number = 1; number <= COMINGS; number++) {
        if (stress->arrived[number] != 1 || stress->left[number] != 1)
            fail_msg("thread %d came %d and left %d times", number, stress->arrived[number],
                     stress->left[number]);
    }
    assert_int_equal(stress->threads->next_number, COMINGS);
    assert_int_equal(stress->threads->registered, 0);
    assert_int_equal(stress->threads->live_count, 0);
    assert_int_equal(stress->discarded, COMINGS / 16);
}

/* After all that the pool is whole: every record is free, once. */
static void assert_pool_is_whole(struct threads *threads)
{
    uint32_t count = threads->fresh;
    bool *seen = calloc(count, sizeof(*seen));
    assert_in_range(count, 1, COMINGS);
    for (uint32_t i = 0; i < count; i++) {
        struct thread *thread = threads_acquire(threads);
        assert_true(thread->index < count && !seen[thread->index]);
        seen[thread->index] = true;
    }
    assert_int_equal(threads_acquire(threads)->index, count);
    free(seen);
}

static void assert_stress(struct threads *threads, long pause_ns)
{
    struct stress *stress = calloc(1, sizeof(*stress));
    stress->threads = threads;
    run_stress(stress, pause_ns);
    assert_each_came_and_went_once(stress);
    assert_pool_is_whole(threads);
    free(stress);
}

static void nobody_is_lost_between_many_threads(void **state)
{
    assert_stress(*state, 100000);
}

static void nobody_is_lost_to_a_taker_that_never_rests(void **state)
{
    assert_stress(*state, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_record_holds_what_it_was_entered_with),
        TEST(leaving_says_who_when_and_how_many_remain),
        TEST(released_records_are_used_again_and_are_clean),
        TEST(a_record_is_nobody_elses_across_chunks),
        TEST(the_free_list_never_looks_the_same_again),
        TEST(a_full_pool_is_refused),
        TEST(removal_keeps_the_others),
        TEST(a_tid_is_that_of_the_thread_that_has_not_left),
        TEST(nobody_is_lost_between_many_threads),
        TEST(nobody_is_lost_to_a_taker_that_never_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
