/* Whether a thread that replies to a signal had a CPU when it was asked, or was woken and waited for one. */
#include "sample/observe_overdue.h"

#include "lib/unit.h"

#include <string.h>

enum { PLACE = 0x1000, OTHER = 0x2000 };
#define US UINT64_C(1000)

static struct thread thread;

static int setup(void **state)
{
    (void)state;
    memset(&thread, 0, sizeof thread);
    thread.observe.was_runnable = true;
    thread.observe.sent_ns = 7000 * US;
    thread.observe.sent_cpu_ns = 300 * US;
    thread.remote.waits_at[0] = PLACE;
    return 0;
}

/* It replies after so long, and has used so much CPU time of it. pc: where a system call had returned to. */
static struct sig_slot reply(uint64_t elapsed_us, uint64_t used_us, uint64_t pc)
{
    return (struct sig_slot){
        .time_ns = (7000 + elapsed_us) * US, .cpu_ns = (300 + used_us) * US, .returned_pc = pc};
}

static void who_used_little_of_the_time_waited_for_a_cpu(void **state)
{
    (void)state;
    struct sig_slot slot = reply(40, 20, PLACE);
    assert_true(observe_was_woken(&thread, &slot));
    slot = reply(5000, 20, PLACE);
    assert_true(observe_was_woken(&thread, &slot));
    slot = reply(40, 40, PLACE); /* it ran all the time */
    assert_false(observe_was_woken(&thread, &slot));
    slot = reply(40, 30, PLACE);
    assert_false(observe_was_woken(&thread, &slot));
}

/* Elsewhere it may have run until the sampler took its CPU. */
static void where_it_never_waits_it_was_not_woken(void **state)
{
    (void)state;
    struct sig_slot slot = reply(40, 20, OTHER);
    assert_false(observe_was_woken(&thread, &slot));
    slot = reply(40, 20, 0); /* in no call, as no place is known */
    assert_false(observe_was_woken(&thread, &slot));
    thread.remote.waits_at[3] = OTHER;
    slot = reply(40, 20, OTHER);
    assert_true(observe_was_woken(&thread, &slot));
}

static void who_was_blocked_when_it_was_chosen_was_not_woken(void **state)
{
    (void)state;
    const struct sig_slot slot = reply(40, 20, PLACE);
    thread.observe.was_runnable = false;
    assert_false(observe_was_woken(&thread, &slot));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(who_used_little_of_the_time_waited_for_a_cpu, setup),
        cmocka_unit_test_setup(where_it_never_waits_it_was_not_woken, setup),
        cmocka_unit_test_setup(who_was_blocked_when_it_was_chosen_was_not_woken, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
