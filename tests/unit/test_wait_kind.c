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

/* What a runtime or a server waits in, as its symbols are demangled. */
static const struct machine_case {
    enum wait_kind kind;
    const char *function;
} machines[] = {
    /* HotSpot 11 to 21 */
    {WAIT_LOCK, "ObjectMonitor::enter(JavaThread*)"},
    {WAIT_LOCK, "ObjectMonitor::EnterI(JavaThread*)"},
    {WAIT_LOCK, "ObjectMonitor::ReenterI(JavaThread*, ObjectWaiter*)"},
    {WAIT_CONDITION, "ObjectMonitor::wait(long, bool, JavaThread*)"},
    {WAIT_CONDITION, "Parker::park(bool, long)"},
    {WAIT_LOCK, "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire"},
    {WAIT_IDLE, "Ljava/util/concurrent/ThreadPoolExecutor;::getTask"},
    /* CPython 3.8 to 3.13 */
    {WAIT_LOCK, "take_gil"},
    {WAIT_LOCK, "take_gil.constprop.0"},
    {WAIT_LOCK, "PyThread_acquire_lock_timed"},
    {WAIT_LOCK, "_PyMutex_LockTimed"},
    {WAIT_LOCK, "PyMutex_Lock"},
    {WAIT_CONDITION, "PyEvent_WaitTimed"},
    /* PostgreSQL */
    {WAIT_LOCK, "LWLockAcquire"},
    {WAIT_LOCK, "LWLockAcquireOrWait"},
    {WAIT_LOCK, "ProcSleep"},
    /* InnoDB, of MariaDB 10.6 and later and of MySQL 8; and locks of tables */
    {WAIT_LOCK, "lock_wait(que_thr_t*)"},
    {WAIT_IDLE,
     "tpool::thread_pool_generic::wait_for_tasks(std::unique_lock<std::mutex>&, tpool::worker_data*)"},
    {WAIT_SLEEP, "Item_func_sleep::val_int()"},
    {WAIT_LOCK, "lock_wait_suspend_thread(que_thr_t*)"},
    {WAIT_LOCK, "srw_mutex_impl<true>::wait_and_lock()"},
    {WAIT_LOCK, "srw_lock_impl<false>::rd_wait()"},
    {WAIT_LOCK, "ssux_lock_impl<true>::wr_wait(unsigned int)"},
    {WAIT_LOCK, "sync_array_wait_event(sync_array_t*, sync_cell_t*&)"},
    {WAIT_LOCK, "TTASEventMutex<GenericPolicy>::wait(char const*, unsigned int, unsigned int)"},
    {WAIT_LOCK, "MDL_wait::timed_wait(MDL_context_owner*, timespec*, bool, PSI_stage_info_v1 const*)"},
    /* Go */
    {WAIT_LOCK, "runtime.futexsleep"},
    {WAIT_LOCK, "runtime.lock2"},
    {WAIT_IDLE, "runtime.stopm"},
    {WAIT_IDLE, "runtime.sysmon"},
    {WAIT_IDLE, "os/signal.signal_recv"},
    /* Rust's standard library, by both manglings, and parking_lot */
    {WAIT_LOCK, "std::sys::sync::mutex::futex::Mutex::lock_contended"},
    {WAIT_LOCK, "<std::sys::sync::mutex::futex::Mutex>::lock_contended"},
    {WAIT_LOCK, "std::sys::sync::rwlock::futex::RwLock::write_contended"},
    {WAIT_LOCK, "std::sys::unix::locks::futex_rwlock::RwLock::read_contended"},
    {WAIT_LOCK, "parking_lot::raw_mutex::RawMutex::lock_slow"},
    {WAIT_LOCK, "<parking_lot::raw_rwlock::RawRwLock>::lock_shared_slow"},
    {WAIT_CONDITION, "std::thread::park"},
    {WAIT_CONDITION, "std::thread::park_timeout"},
    {WAIT_CONDITION, "std::sys::sync::condvar::futex::Condvar::wait"},
    {WAIT_CONDITION, "std::sync::poison::condvar::Condvar::wait_timeout"},
    {WAIT_CONDITION, "parking_lot::condvar::Condvar::wait_until_internal"},
    {WAIT_IDLE, "rayon_core::sleep::Sleep::sleep"},
};

static void runtimes_locks_are_locks(void **state)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        enum wait_kind kind = WAIT_OTHER;
        (void)wait_machine_of(machines[i].function, &kind);
        if (kind != machines[i].kind)
            fail_msg("%s is %s, not %s", machines[i].function, wait_kind_words[kind],
                     wait_kind_words[machines[i].kind]);
    }
}

static void names_that_look_like_them_are_none(void **state)
{
    static const char *const functions[] = {"my_take_gil",
                                            "my_LWLockAcquire",
                                            "Journal::lock_wait",
                                            "futexsleep_of_ours",
                                            "RwLock::contended",
                                            "main",
                                            ""};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        enum wait_kind kind;
        if (wait_machine_of(functions[i], &kind))
            fail_msg("%s is %s", functions[i], wait_kind_words[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runtimes_locks_are_locks),
        cmocka_unit_test(names_that_look_like_them_are_none),
        cmocka_unit_test(stacks_say_what_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
