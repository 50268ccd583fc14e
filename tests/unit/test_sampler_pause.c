/* Nobody works while anybody holds: a counter that both sides touch without any other protection. */
/* test: tsan */
#include "lib/unit.h"
#include "base/clock.h"
#include "session/sampler_pause.h"

#include <pthread.h>

enum { HOLDERS = 3, ROUNDS = 20000 };

static struct sampler_pause pause_state;
static uint64_t shared; /* not atomic on purpose: ThreadSanitizer sees an overlap */
static uint32_t holders_left;

static void hold(struct sampler_pause *held)
{
    sampler_pause_ask(held);
    sampler_pause_await(held, 0);
}

/* Two holders may hold at once; only the worker is excluded,
 * so each has a word of its own to compare with. */
static void *hold_repeatedly(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        hold(&pause_state);
        uint64_t before = shared;
        __asm__ volatile("" ::: "memory");
        uint64_t after = shared;
        sampler_pause_release(&pause_state);
        if (before != after)
            return (void *)1;
    }
    __atomic_fetch_sub(&holders_left, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *work(void *unused)
{
    (void)unused;
    while (__atomic_load_n(&holders_left, __ATOMIC_ACQUIRE) > 0) {
        sampler_pause_work(&pause_state);
        for (int i = 0; i < 100; i++)
            shared++;
        sampler_pause_rest(&pause_state);
    }
    return NULL;
}

static void test_holders_exclude_the_worker(void **state)
{
    pthread_t holders[HOLDERS], worker;
    holders_left = HOLDERS;
    assert_int_equal(pthread_create(&worker, NULL, work, NULL), 0);
    for (int i = 0; i < HOLDERS; i++)
        assert_int_equal(pthread_create(&holders[i], NULL, hold_repeatedly, NULL), 0);
    for (int i = 0; i < HOLDERS; i++) {
        void *saw_change;
        pthread_join(holders[i], &saw_change);
        assert_null(saw_change);
    }
    pthread_join(worker, NULL);
    assert_int_equal(pause_state.holds, 0);
    assert_int_equal(pause_state.busy, 0);
}

static void test_holds_nest(void **state)
{
    hold(&pause_state);
    hold(&pause_state);
    sampler_pause_release(&pause_state);
    assert_int_equal(pause_state.holds, 1);
    sampler_pause_release(&pause_state);
    sampler_pause_work(&pause_state); /* does not wait */
    assert_int_equal(pause_state.busy, 1);
    sampler_pause_rest(&pause_state);
}

static void test_rests_for_a_while_after_the_release(void **state)
{
    uint64_t moment_ns = clock_monotonic_ns() + 20 * NS_PER_MS;
    hold(&pause_state);
    sampler_pause_rest_until(&pause_state, moment_ns);
    sampler_pause_release(&pause_state);
    sampler_pause_work(&pause_state);
    assert_true(clock_monotonic_ns() >= moment_ns);
    sampler_pause_rest(&pause_state);
    sampler_pause_rest_until(&pause_state, UINT64_MAX);
    sampler_pause_rest_until(&pause_state, 0);
    sampler_pause_work(&pause_state); /* does not wait */
    sampler_pause_rest(&pause_state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_holds_nest),
        cmocka_unit_test(test_rests_for_a_while_after_the_release),
        cmocka_unit_test(test_holders_exclude_the_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
