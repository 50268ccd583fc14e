/* Entries that count: which handler is called how often, and what stands for what. */
#include "unit.h"
#include "sig_counted.h"
#include "sig_wait.h"

#include <signal.h>

static int called_with;
static siginfo_t *called_info;
static void *called_context;

static void simple(int number)
{
    called_with = number;
}

static void detailed(int number, siginfo_t *info, void *context)
{
    called_with = number;
    called_info = info;
    called_context = context;
}

static void test_a_call_is_counted_and_passed_on(void **state)
{
    siginfo_t info;
    void (*entry)(int, siginfo_t *, void *) =
        (void (*)(int, siginfo_t *, void *))sig_counted((uintptr_t)detailed);
    uint32_t before = sig_wait_here.handled;
    (void)state;
    assert_true(entry != detailed);
    entry(12, &info, &entry);
    assert_int_equal(called_with, 12);
    assert_ptr_equal(called_info, &info);
    assert_ptr_equal(called_context, &entry);
    assert_int_equal(sig_wait_here.handled, before + 1);
}

static void test_the_kernel_calls_it(void **state)
{
    struct sigaction action = {.sa_handler = (void (*)(int))sig_counted((uintptr_t)simple)}, old;
    uint32_t before = sig_wait_here.handled;
    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    raise(SIGUSR1);
    assert_int_equal(called_with, SIGUSR1);
    assert_int_equal(sig_wait_here.handled, before + 1);
    sigaction(SIGUSR1, &old, NULL);
}

static void test_one_entry_for_one_handler(void **state)
{
    uintptr_t one = sig_counted((uintptr_t)simple), other = sig_counted((uintptr_t)detailed);
    (void)state;
    assert_true(one != other);
    assert_int_equal(sig_counted((uintptr_t)simple), one);
    assert_int_equal(sig_uncounted(one), (uintptr_t)simple);
    assert_int_equal(sig_uncounted(other), (uintptr_t)detailed);
    assert_int_equal(sig_uncounted(one + 1), one + 1);
    assert_int_equal(sig_uncounted((uintptr_t)simple), (uintptr_t)simple);
}

static void test_what_is_no_handler_stays(void **state)
{
    (void)state;
    assert_int_equal(sig_counted((uintptr_t)SIG_DFL), (uintptr_t)SIG_DFL);
    assert_int_equal(sig_counted((uintptr_t)SIG_IGN), (uintptr_t)SIG_IGN);
    assert_int_equal(sig_counted((uintptr_t)SIG_ERR), (uintptr_t)SIG_ERR);
    assert_int_equal(sig_uncounted((uintptr_t)SIG_DFL), (uintptr_t)SIG_DFL);
}

/* Last: it uses all entries up. */
static void test_without_an_entry_it_goes_uncounted(void **state)
{
    uintptr_t invented = 0x1000, plain = 0;
    (void)state;
    for (int i = 0; i < 2 * SIG_COUNTED_MAX; i++)
        plain += sig_counted(invented + (uintptr_t)i) == invented + (uintptr_t)i;
    assert_int_equal(plain, SIG_COUNTED_MAX + 2); /* simple and detailed have one each */
    assert_int_equal(sig_uncounted(sig_counted(invented)), invented);
    assert_int_equal(sig_uncounted(sig_counted(invented + SIG_COUNTED_MAX - 3)),
                     invented + SIG_COUNTED_MAX - 3);
    assert_int_equal(sig_uncounted(sig_counted((uintptr_t)simple)), (uintptr_t)simple);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_is_counted_and_passed_on),
        cmocka_unit_test(test_the_kernel_calls_it),
        cmocka_unit_test(test_one_entry_for_one_handler),
        cmocka_unit_test(test_what_is_no_handler_stays),
        cmocka_unit_test(test_without_an_entry_it_goes_uncounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
