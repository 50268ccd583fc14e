/* What stacks of waiting threads are taken for: those of glibc 2.31 to 2.41 and of musl. */
#include "tool/meaning/wait_kind.h"

#include "lib/unit.h"

struct stack_case {
    enum wait_kind kind;
    const char *functions[5]; /* innermost first */
};

static const struct stack_case stacks[] = {
    {WAIT_LOCK, {"__lll_lock_wait", "___pthread_mutex_lock", "work"}},
    {WAIT_LOCK, {"futex_wait", "__GI___lll_lock_wait", "lll_mutex_lock_optimized", "work"}},
    {WAIT_LOCK, {"__futex_abstimed_wait_common", "__pthread_rwlock_wrlock_full64", "work"}},
    {WAIT_LOCK, {"futex_wait", "work"}},
    {WAIT_LOCK, {"syscall", "futex_wait", "work"}},
    {WAIT_CONDITION, {"__futex_abstimed_wait_common", "pthread_cond_wait@@GLIBC_2.3.2", "work"}},
    {WAIT_CONDITION, {"futex_wait_cancelable", "__pthread_cond_wait_common", "work"}},
    {WAIT_CONDITION, {"__futex_abstimed_wait_common", "__new_sem_wait_slow64.constprop.0", "work"}},
    {WAIT_CONDITION,
     {"__syscall_cp_asm", "__syscall_cp_c", "__timedwait_cp", "pthread_cond_timedwait", "work"}},
    {WAIT_SLEEP, {"clock_nanosleep@@GLIBC_2.17", "__GI___nanosleep", "sleep"}},
    {WAIT_SLEEP,
     {"__syscall_cancel_arch", "__internal_syscall_cancel", "__syscall_cancel", "clock_nanosleep"}},
    {WAIT_POLL, {"__GI___poll", "g_main_loop_run"}},
    {WAIT_EVENTS, {"epoll_wait", "serve"}},
    {WAIT_POLL, {"__select", "work"}},
    {WAIT_POLL, {"pselect64_syscall", "jobserver_acquire"}},
    {WAIT_SOCKET, {"__libc_recv", "work"}},
    {WAIT_EVENTS, {"__libc_accept4", "work"}},
    {WAIT_FILE, {"__GI___libc_read", "_IO_new_file_underflow", "work"}},
    {WAIT_FILE, {"__read_nocancel", "work"}},
    {WAIT_FILE, {"__libc_pread64", "work"}},
    {WAIT_FILE, {"fsync", "work"}},
    {WAIT_CHILD, {"__GI___wait4", "work"}},
    {WAIT_CHILD, {"__futex_abstimed_wait_common", "__pthread_clockjoin_ex", "pthread_join", "work"}},
    {WAIT_SIGNAL, {"__sigtimedwait", "sigwait", "work"}},
    {WAIT_SIGNAL, {"__libc_pause", "work"}},
    {WAIT_OTHER, {"work", "pthread_mutex_lock", "main"}}, /* it waits for a CPU, in a function of its own */
    {WAIT_OTHER, {"ioctl", "read", "main"}},
    {WAIT_OTHER, {"[libc.so.6+0x1234]", "main"}},
    {WAIT_OTHER, {"syscall", "my_read", "read"}},
    {WAIT_OTHER, {"", "_", "64"}},
};

static void stacks_say_what_is_waited_for(void **state)
{
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct wait_guess guess = {0};
        for (size_t depth = 0; depth < 5 && stacks[i].functions[depth]; depth++) {
            if (!wait_guess_add(&guess, stacks[i].functions[depth]))
                break;
        }
        if (guess.kind != stacks[i].kind)
            fail_msg("%s is %d", stacks[i].functions[0], (int)guess.kind);
    }
}

static void who_waits_for_work_is_idle(void **state)
{
    assert_true(wait_kind_is_idle(WAIT_CONDITION));
    assert_true(wait_kind_is_idle(WAIT_SLEEP));
    assert_true(wait_kind_is_idle(WAIT_POLL));
    assert_true(wait_kind_is_idle(WAIT_SIGNAL));
    assert_false(wait_kind_is_idle(WAIT_LOCK));
    assert_false(wait_kind_is_idle(WAIT_FILE));
    assert_false(wait_kind_is_idle(WAIT_SOCKET));
    assert_false(wait_kind_is_idle(WAIT_CHILD));
    assert_false(wait_kind_is_idle(WAIT_OTHER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_say_what_is_waited_for),
        cmocka_unit_test(who_waits_for_work_is_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
