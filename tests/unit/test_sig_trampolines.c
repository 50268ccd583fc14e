/* Entries that count: which handler is called how often, and what stands for what. */
#include "lib/unit.h"
#include "sig/signal/sig_trampolines.h"
#include "sig/signal/sig_wait.h"

#include <signal.h>
#include <unistd.h>

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
        (void (*)(int, siginfo_t *, void *))sig_trampoline((uintptr_t)detailed, SA_RESTART);
    uint32_t before = sig_wait_here.handled;
    assert_true(entry != detailed);
    entry(12, &info, &entry);
    assert_int_equal(called_with, 12);
    assert_ptr_equal(called_info, &info);
    assert_ptr_equal(called_context, &entry);
    assert_int_equal(sig_wait_here.handled, before + 1);
}

static void test_the_kernel_calls_it(void **state)
{
    struct sigaction action = {.sa_handler = (void (*)(int))sig_trampoline((uintptr_t)simple, SA_RESTART)},
                     old;
    uint32_t before = sig_wait_here.handled;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    raise(SIGUSR1);
    assert_int_equal(called_with, SIGUSR1);
    assert_int_equal(sig_wait_here.handled, before + 1);
    sigaction(SIGUSR1, &old, NULL);
}

/* An entry of the other kind passes the same on, and counts too. */
static void test_without_restart_too(void **state)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO}, old;
    uint32_t before = sig_wait_here.handled;
    union sigval value = {.sival_int = 7};
    action.sa_sigaction = (void (*)(int, siginfo_t *, void *))sig_trampoline((uintptr_t)detailed, 0);
    called_info = NULL;
    assert_int_equal(sigaction(SIGUSR2, &action, &old), 0);
    sigqueue(getpid(), SIGUSR2, value);
    assert_int_equal(called_with, SIGUSR2);
    assert_non_null(called_info);
    assert_int_equal(sig_wait_here.handled, before + 1);
    sigaction(SIGUSR2, &old, NULL);
}

static void test_one_entry_for_one_handler(void **state)
{
    uintptr_t one = sig_trampoline((uintptr_t)simple, SA_RESTART),
              other = sig_trampoline((uintptr_t)detailed, SA_RESTART);
    assert_true(one != other);
    assert_int_equal(sig_trampoline((uintptr_t)simple, SA_RESTART), one);
    assert_int_equal(sig_trampoline_handler(one), (uintptr_t)simple);
    assert_int_equal(sig_trampoline_handler(other), (uintptr_t)detailed);
    assert_int_equal(sig_trampoline_handler(one + 1), one + 1);
    uintptr_t ending = sig_trampoline((uintptr_t)simple, 0);
    assert_true(ending != one);
    assert_int_equal(sig_trampoline_handler(ending), (uintptr_t)simple);
    assert_int_equal(sig_trampoline_handler((uintptr_t)simple), (uintptr_t)simple);
}

static void test_what_is_no_handler_stays(void **state)
{
    assert_int_equal(sig_trampoline((uintptr_t)SIG_DFL, SA_RESTART), (uintptr_t)SIG_DFL);
    assert_int_equal(sig_trampoline((uintptr_t)SIG_IGN, SA_RESTART), (uintptr_t)SIG_IGN);
    assert_int_equal(sig_trampoline((uintptr_t)SIG_ERR, SA_RESTART), (uintptr_t)SIG_ERR);
    assert_int_equal(sig_trampoline_handler((uintptr_t)SIG_DFL), (uintptr_t)SIG_DFL);
}

/* Last: it uses all entries up. */
static void test_without_an_entry_it_goes_uncounted(void **state)
{
    uintptr_t invented = 0x1000, plain = 0;
    for (int i = 0; i < 2 * SIG_TRAMPOLINES_MAX; i++)
        plain += sig_trampoline(invented + (uintptr_t)i, SA_RESTART) == invented + (uintptr_t)i;
    assert_int_equal(plain, SIG_TRAMPOLINES_MAX + 2); /* simple and detailed have one each */
    assert_int_equal(sig_trampoline_handler(sig_trampoline(invented, SA_RESTART)), invented);
    assert_int_equal(sig_trampoline_handler(sig_trampoline(invented + SIG_TRAMPOLINES_MAX - 3, SA_RESTART)),
                     invented + SIG_TRAMPOLINES_MAX - 3);
    assert_int_equal(sig_trampoline_handler(sig_trampoline((uintptr_t)simple, SA_RESTART)),
                     (uintptr_t)simple);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_is_counted_and_passed_on),
        cmocka_unit_test(test_the_kernel_calls_it),
        cmocka_unit_test(test_without_restart_too),
        cmocka_unit_test(test_one_entry_for_one_handler),
        cmocka_unit_test(test_what_is_no_handler_stays),
        cmocka_unit_test(test_without_an_entry_it_goes_uncounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
