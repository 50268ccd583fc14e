/* Which numbers are ours, and what masks made now and earlier say. */
#include "lib/unit.h"
#include "sig/signal/sig_numbers.h"

#include <signal.h>

static bool is_any_free(int number)
{
    return number != 60; /* in use by somebody */
}

static uint64_t bit(int number)
{
    return sig_numbers_bit(number);
}

static const uint64_t all = ~(uint64_t)0;

/* The steps build on one another: numbers are given back for good. */
static void test_numbers_and_masks_over_time(void **state)
{
    sig_numbers_choose(0, SIGPROF, 0, is_any_free);
    assert_int_equal(sig_numbers_current(), SIGPROF);
    assert_int_equal(sig_numbers_ours(), bit(SIGPROF) | bit(64));
    assert_int_equal(sig_numbers_all(), bit(SIGPROF) | bit(64) | bit(63));

    uint64_t first = sig_numbers_to_kernel(all);
    assert_int_equal(first, all & ~bit(SIGPROF) & ~bit(64));
    assert_int_equal(sig_numbers_to_program(first), all);
    assert_int_equal(sig_numbers_to_program(0), 0);
    assert_true(sig_numbers_is_held_for_stack(bit(SIGPROF) | bit(64) | bit(SIGUSR1)));
    assert_int_equal(sig_numbers_to_program(bit(SIGPROF) | bit(64) | bit(SIGUSR1)), bit(SIGUSR1));
    assert_false(sig_numbers_is_held_for_stack(bit(SIGPROF)));
    assert_false(sig_numbers_is_held_for_stack(all));
    assert_int_equal(sig_numbers_renew(first), first);
    assert_int_equal(sig_numbers_singled_out(all), 0);
    assert_int_equal(sig_numbers_singled_out(bit(SIGUSR1)), 0);
    assert_int_equal(sig_numbers_singled_out(bit(SIGUSR1) | bit(SIGPROF)), bit(SIGPROF));
    assert_int_equal(sig_numbers_singled_out(all & ~bit(63)), bit(63));

    sig_numbers_choose(bit(SIGPROF), 0, 0, is_any_free);
    assert_int_equal(sig_numbers_current(), 64);
    assert_int_equal(sig_numbers_all(), bit(64) | bit(63) | bit(62));
    assert_int_equal(sig_numbers_renew(first), all & ~bit(64) & ~bit(63));
    assert_int_equal(sig_numbers_to_program(first), all);

    /* The program now lets SIGPROF in, and nothing else: that stays so whatever is given back later. */
    uint64_t second = sig_numbers_to_kernel(all & ~bit(SIGPROF));
    assert_int_equal(sig_numbers_to_program(second), all & ~bit(SIGPROF));
    sig_numbers_ask_back(64);
    assert_int_equal(sig_numbers_asked_back(), bit(64));
    assert_int_equal(sig_numbers_to_program(second), all & ~bit(SIGPROF));
    sig_numbers_note(bit(61));
    sig_numbers_choose(bit(64), 0, 0, is_any_free);
    assert_int_equal(sig_numbers_asked_back(), 0);
    assert_int_equal(sig_numbers_all(), bit(63) | bit(62) | bit(59)); /* 61 is waited for, 60 not free */
    assert_int_equal(sig_numbers_to_program(second), all & ~bit(SIGPROF));
    assert_int_equal(sig_numbers_to_program(first), all);
    assert_int_equal(sig_numbers_renew(second), all & ~bit(SIGPROF) & ~bit(63) & ~bit(62));
}

/* The last one is shared: the kernel's masks are the program's. */
static bool is_none_free(int number)
{
    (void)number;
    return false;
}

static void test_nothing_is_free(void **state)
{
    sig_numbers_choose(bit(63) | bit(62) | bit(59), 0, 0, is_none_free);
    assert_int_equal(sig_numbers_current(), 63);
    assert_int_equal(sig_numbers_ours(), 0);
    assert_int_equal(sig_numbers_to_kernel(all), all);
    assert_int_equal(sig_numbers_to_program(all & ~bit(63)), all & ~bit(63));
    assert_int_equal(sig_numbers_given() & bit(63), 0);
    sig_numbers_stop();
    assert_int_equal(sig_numbers_current(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_and_masks_over_time),
        cmocka_unit_test(test_nothing_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
