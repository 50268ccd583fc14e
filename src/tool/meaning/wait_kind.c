#include "wait_kind.h"
#include "name_match.h"

#include <stddef.h>
#include <string.h>

const char *const wait_kind_words[WAIT_KIND_COUNT] = {
    [WAIT_OTHER] = "other",     [WAIT_LOCK] = "lock",       [WAIT_CONDITION] = "condition",
    [WAIT_SLEEP] = "sleep",     [WAIT_POLL] = "poll",       [WAIT_EVENTS] = "events",
    [WAIT_SOCKET] = "network",  [WAIT_FILE] = "file",       [WAIT_CHILD] = "child",
    [WAIT_SIGNAL] = "signal",   [WAIT_CPU] = "cpu",         [WAIT_IDLE] = "idle",
    [WAIT_STOPPED] = "stopped", [WAIT_UNSEEN] = "not seen",
};

static const struct wait_function {
    const char *name;
    enum wait_kind kind;
    bool is_certain; /* no caller tells more; else several kinds of waits go through it */
} functions[] = {
    {"futex_wait", WAIT_LOCK, false},
    {"futex_wait_cancelable", WAIT_LOCK, false},
    {"futex_abstimed_wait", WAIT_LOCK, false},
    {"futex_abstimed_wait_common", WAIT_LOCK, false},
    {"futex_abstimed_wait_cancelable", WAIT_LOCK, false},
    {"futex_lock_pi", WAIT_LOCK, false},
    {"lll_lock_wait", WAIT_LOCK, false},
    {"lll_lock_wait_private", WAIT_LOCK, false},
    {"lll_timedwait_tid", WAIT_CHILD, false},
    {"timedwait", WAIT_LOCK, false}, /* musl's */
    {"timedwait_cp", WAIT_LOCK, false},
    {"syscall", WAIT_OTHER, false},
    {"syscall_cp", WAIT_OTHER, false},
    {"syscall_cp_c", WAIT_OTHER, false},
    {"syscall_cp_asm", WAIT_OTHER, false},
    {"syscall_cancel", WAIT_OTHER, false},
    {"syscall_cancel_arch", WAIT_OTHER, false},
    {"internal_syscall_cancel", WAIT_OTHER, false},
    {"kernel_vsyscall", WAIT_OTHER, false},
    {"pthread_mutex_lock", WAIT_LOCK, true},
    {"pthread_mutex_lock_full", WAIT_LOCK, true},
    {"pthread_mutex_timedlock", WAIT_LOCK, true},
    {"pthread_mutex_clocklock", WAIT_LOCK, true},
    {"pthread_mutex_clocklock_common", WAIT_LOCK, true},
    {"pthread_mutex_cond_lock", WAIT_LOCK, true},
    {"pthread_rwlock_rdlock", WAIT_LOCK, true},
    {"pthread_rwlock_rdlock_full", WAIT_LOCK, true},
    {"pthread_rwlock_wrlock", WAIT_LOCK, true},
    {"pthread_rwlock_wrlock_full", WAIT_LOCK, true},
    {"pthread_rwlock_timedrdlock", WAIT_LOCK, true},
    {"pthread_rwlock_timedwrlock", WAIT_LOCK, true},
    {"mtx_lock", WAIT_LOCK, true},
    {"lock", WAIT_LOCK, true}, /* musl's */
    {"pthread_cond_wait", WAIT_CONDITION, true},
    {"pthread_cond_wait_common", WAIT_CONDITION, true},
    {"pthread_cond_timedwait", WAIT_CONDITION, true},
    {"pthread_cond_clockwait", WAIT_CONDITION, true},
    {"cnd_wait", WAIT_CONDITION, true},
    {"cnd_timedwait", WAIT_CONDITION, true},
    {"sem_wait", WAIT_CONDITION, true},
    {"sem_timedwait", WAIT_CONDITION, true},
    {"sem_clockwait", WAIT_CONDITION, true},
    {"new_sem_wait", WAIT_CONDITION, true},
    {"new_sem_wait_slow", WAIT_CONDITION, true},
    {"semop", WAIT_CONDITION, true},
    {"semtimedop", WAIT_CONDITION, true},
    {"pthread_barrier_wait", WAIT_CONDITION, true},
    {"msgrcv", WAIT_CONDITION, true},
    {"mq_receive", WAIT_CONDITION, true},
    {"mq_timedreceive", WAIT_CONDITION, true},
    {"nanosleep", WAIT_SLEEP, true},
    {"clock_nanosleep", WAIT_SLEEP, true},
    {"clock_nanosleep_time", WAIT_SLEEP, true},
    {"usleep", WAIT_SLEEP, true},
    {"sleep", WAIT_SLEEP, true},
    {"thrd_sleep", WAIT_SLEEP, true},
    {"poll", WAIT_POLL, true},
    {"ppoll", WAIT_POLL, true},
    {"select", WAIT_POLL, true},
    {"pselect", WAIT_POLL, true},
    {"pselect64_syscall", WAIT_POLL, true},
    {"epoll_wait", WAIT_EVENTS, true},
    {"epoll_pwait", WAIT_EVENTS, true},
    {"epoll_pwait2", WAIT_EVENTS, true},
    {"io_getevents", WAIT_EVENTS, true},
    {"recv", WAIT_SOCKET, true},
    {"recvfrom", WAIT_SOCKET, true},
    {"recvmsg", WAIT_SOCKET, true},
    {"recvmmsg", WAIT_SOCKET, true},
    {"send", WAIT_SOCKET, true},
    {"sendto", WAIT_SOCKET, true},
    {"sendmsg", WAIT_SOCKET, true},
    {"sendmmsg", WAIT_SOCKET, true},
    {"accept", WAIT_EVENTS, true},
    {"accept4", WAIT_EVENTS, true},
    {"connect", WAIT_SOCKET, true},
    {"read", WAIT_FILE, true},
    {"readv", WAIT_FILE, true},
    {"pread", WAIT_FILE, true},
    {"preadv", WAIT_FILE, true},
    {"write", WAIT_FILE, true},
    {"writev", WAIT_FILE, true},
    {"pwrite", WAIT_FILE, true},
    {"pwritev", WAIT_FILE, true},
    {"open", WAIT_FILE, true},
    {"openat", WAIT_FILE, true},
    {"close", WAIT_FILE, true},
    {"fsync", WAIT_FILE, true},
    {"fdatasync", WAIT_FILE, true},
    {"sync", WAIT_FILE, true},
    {"syncfs", WAIT_FILE, true},
    {"sync_file_range", WAIT_FILE, true},
    {"msync", WAIT_FILE, true},
    {"fallocate", WAIT_FILE, true},
    {"posix_fallocate", WAIT_FILE, true},
    {"ftruncate", WAIT_FILE, true},
    {"fcntl", WAIT_FILE, true},
    {"flock", WAIT_FILE, true},
    {"lockf", WAIT_FILE, true},
    {"getdents", WAIT_FILE, true},
    {"stat", WAIT_FILE, true},
    {"fstat", WAIT_FILE, true},
    {"lstat", WAIT_FILE, true},
    {"fstatat", WAIT_FILE, true},
    {"unlink", WAIT_FILE, true},
    {"rename", WAIT_FILE, true},
    {"sendfile", WAIT_FILE, true},
    {"splice", WAIT_FILE, true},
    {"copy_file_range", WAIT_FILE, true},
    {"wait", WAIT_CHILD, true},
    {"wait3", WAIT_CHILD, true},
    {"wait4", WAIT_CHILD, true},
    {"wait4_time", WAIT_CHILD, true},
    {"waitid", WAIT_CHILD, true},
    {"waitpid", WAIT_CHILD, true},
    {"pthread_join", WAIT_CHILD, true},
    {"pthread_timedjoin_np", WAIT_CHILD, true},
    {"pthread_clockjoin_ex", WAIT_CHILD, true},
    {"thrd_join", WAIT_CHILD, true},
    {"pause", WAIT_SIGNAL, true},
    {"sigsuspend", WAIT_SIGNAL, true},
    {"sigwait", WAIT_SIGNAL, true},
    {"sigwaitinfo", WAIT_SIGNAL, true},
    {"sigtimedwait", WAIT_SIGNAL, true},
};

static size_t without_ending(const char *text, size_t bytes, const char *ending)
{
    size_t ending_bytes = strlen(ending);
    bool has_it = bytes > ending_bytes && memcmp(text + bytes - ending_bytes, ending, ending_bytes) == 0;
    return has_it ? bytes - ending_bytes : bytes;
}

/* __GI___libc_read, __read_nocancel, pread64 and read@@GLIBC_2.2.5 are read and pread. */
static const char *plain_name(const char *name, size_t *ret_bytes)
{
    static const char *const prefixes[] = {"_", "GI_", "libc_"};
    size_t bytes = strcspn(name, "@.");
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]);) {
        size_t prefix_bytes = strlen(prefixes[i]);
        bool has_it = bytes >= prefix_bytes && memcmp(name, prefixes[i], prefix_bytes) == 0;
        name += has_it ? prefix_bytes : 0;
        bytes -= has_it ? prefix_bytes : 0;
        i = has_it ? 0 : i + 1;
    }
    bytes = without_ending(name, bytes, "_nocancel");
    *ret_bytes = without_ending(name, bytes, "64");
    return name;
}

static const struct wait_function *find_wait_function(const char *function)
{
    size_t bytes;
    const char *name = plain_name(function, &bytes);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strlen(functions[i].name) == bytes && memcmp(functions[i].name, name, bytes) == 0)
            return &functions[i];
    }
    return NULL;
}

bool wait_guess_add(struct wait_guess *guess, const char *function)
{
    const struct wait_function *known = find_wait_function(function);
    if (!known)
        return false;
    if (!guess->is_begun || known->is_certain || guess->kind == WAIT_OTHER)
        guess->kind = known->kind;
    guess->is_begun = true;
    return !known->is_certain;
}

/* Patterns of fnmatch(3); a name goes on with its arguments. By who has them. */
static const struct wait_machine {
    const char *pattern;
    enum wait_kind kind;
} machines[] = {
    /* the C and C++ libraries, GLib, libuv, Abseil, OpenMP */
    {"std::mutex::lock", WAIT_LOCK},
    {"std::condition_variable*::wait*", WAIT_CONDITION},
    {"std::this_thread::sleep*", WAIT_SLEEP},
    {"g_mutex_lock*", WAIT_LOCK},
    {"g_main_context_poll*", WAIT_IDLE},
    {"uv_mutex_lock", WAIT_LOCK},
    {"node::*::BlockingPop*", WAIT_IDLE},
    {"v8::base::Mutex::Lock*", WAIT_LOCK},
    {"v8::base::RecursiveMutex::Lock*", WAIT_LOCK},
    {"absl::*Mutex::*Lock*", WAIT_LOCK},
    {"absl::*Mutex::Await*", WAIT_CONDITION},
    {"gomp_*barrier_wait*", WAIT_CONDITION},
    {"gomp_mutex_lock*", WAIT_LOCK},
    /* the JVM */
    {"ObjectMonitor::enter*", WAIT_LOCK},
    {"ObjectMonitor::EnterI*", WAIT_LOCK},
    {"ObjectMonitor::ReenterI*", WAIT_LOCK},
    {"ObjectMonitor::wait*", WAIT_CONDITION},
    {"ObjectSynchronizer::enter*", WAIT_LOCK},
    {"ObjectSynchronizer::wait*", WAIT_CONDITION},
    {"SharedRuntime::complete_monitor_locking_C*", WAIT_LOCK},
    {"InterpreterRuntime::monitorenter*", WAIT_LOCK},
    {"JVM_MonitorWait*", WAIT_CONDITION},
    {"Unsafe_Park*", WAIT_CONDITION}, /* a lock's and a pool's, where Java functions have names: below */
    {"Parker::park*", WAIT_CONDITION},
    {"Monitor::wait*", WAIT_IDLE},
    {"MonitorLocker::wait*", WAIT_IDLE},
    {"JVM_Sleep*", WAIT_SLEEP},
    {"JavaThread::sleep*", WAIT_SLEEP},
    {"WatcherThread::sleep*", WAIT_IDLE},
    {"CallJavaMainInNewThread", WAIT_IDLE}, /* the first thread: it waits for the one that runs main() */
    {"SemaphoreGangTaskDispatcher::*", WAIT_IDLE},
    {"*java?util?concurrent?locks?AbstractQueuedSynchronizer*acquire*", WAIT_LOCK},
    {"*java?util?concurrent?ThreadPoolExecutor*getTask*", WAIT_IDLE},
    {"*java?util?concurrent?ForkJoinPool*awaitWork*", WAIT_IDLE},
    /* CPython, Ruby */
    {"take_gil*", WAIT_LOCK},
    {"PyEval_RestoreThread", WAIT_LOCK},
    {"PyThread_acquire_lock*", WAIT_LOCK},
    {"PyMutex_Lock*", WAIT_LOCK},
    {"_PyMutex_Lock*", WAIT_LOCK},
    {"PyEvent_Wait*", WAIT_CONDITION},
    {"pysleep", WAIT_SLEEP},
    {"time_sleep", WAIT_SLEEP},
    {"gvl_acquire*", WAIT_LOCK},
    {"thread_sched_to_running*", WAIT_LOCK},
    /* Go, Rust */
    {"runtime.findRunnable*", WAIT_IDLE},
    {"runtime.findrunnable*", WAIT_IDLE},
    {"runtime.stopm", WAIT_IDLE},
    {"runtime.templateThread", WAIT_IDLE},
    {"runtime.sysmon", WAIT_IDLE},
    {"os/signal.signal_recv", WAIT_IDLE},
    {"runtime.lock2", WAIT_LOCK},
    {"runtime.semacquire*", WAIT_LOCK},
    {"runtime.futexsleep", WAIT_LOCK},
    {"*lock_contended*", WAIT_LOCK},
    {"std::*RwLock*::*_contended*", WAIT_LOCK},
    {"parking_lot::raw_*ock*_slow*", WAIT_LOCK},
    {"parking_lot::condvar::*wait*", WAIT_CONDITION},
    {"std::*Condvar*::wait*", WAIT_CONDITION},
    {"std::thread::park*", WAIT_CONDITION},
    {"rayon_core::sleep::Sleep::sleep*", WAIT_IDLE},
    {"std::thread::sleep*", WAIT_SLEEP},
    {"tokio::*::park*", WAIT_IDLE},
    /* PostgreSQL */
    {"LWLockAcquire*", WAIT_LOCK},
    {"LWLockWaitForVar", WAIT_LOCK},
    {"ProcSleep", WAIT_LOCK},
    {"LockAcquire*", WAIT_LOCK},
    {"XactLockTableWait", WAIT_LOCK},
    {"MultiXactIdWait", WAIT_LOCK},
    {"LockBufferForCleanup", WAIT_LOCK},
    {"perform_spin_delay", WAIT_LOCK},
    {"ConditionVariable*Sleep", WAIT_CONDITION},
    {"SocketBackend", WAIT_IDLE},
    {"WaitLatch*", WAIT_IDLE},
    {"WaitEventSetWait*", WAIT_IDLE},
    /* MySQL, MariaDB */
    {"lock_wait*", WAIT_LOCK},
    {"sync_array_wait_event*", WAIT_LOCK},
    {"TTASEventMutex<*>::wait*", WAIT_LOCK},
    {"MDL_wait::timed_wait*", WAIT_LOCK},
    {"srw_lock*::*wait*", WAIT_LOCK},
    {"srw_mutex*::wait*", WAIT_LOCK},
    {"ssux_lock*::*wait*", WAIT_LOCK},
    {"os_event::wait*", WAIT_IDLE},
    {"tpool::thread_pool_generic::wait_for_tasks*", WAIT_IDLE},
    {"Item_func_sleep::val_int*", WAIT_SLEEP},
    {"my_net_read_packet*", WAIT_IDLE},
};

bool wait_machine_of(const char *function, enum wait_kind *ret)
{
    function += *function == '<'; /* <std::sync::Mutex>::lock, as Rust's newer mangling has it */
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (name_match(machines[i].pattern, function)) {
            *ret = machines[i].kind;
            return true;
        }
    }
    return false;
}

/* PHP's streams are files, pipes and sockets, and only sockets are polled. */
bool wait_machine_polls(const char *function)
{
    return name_match("_php_stream_*", function) || name_match("php_network_*", function) ||
           name_match("curl_easy_perform", function);
}

bool wait_machine_is_gil(const char *function)
{
    return name_match("take_gil*", function) || strcmp(function, "PyEval_RestoreThread") == 0;
}

/* CPython's own library. Before 3.11 names are without their class. */
static const struct wait_script {
    const char *file, *function;
    enum wait_kind kind;
    bool is_own;
} scripts[] = {
    {"*/threading.py", "Condition.wait", WAIT_CONDITION, false},
    {"*/threading.py", "wait", WAIT_CONDITION, false},
    {"*/threading.py", "Thread.join", WAIT_CHILD, false},
    {"*/threading.py", "join", WAIT_CHILD, false},
    {"*/threading.py", "_shutdown", WAIT_CHILD, false},
    {"*/concurrent/futures/thread.py", "_worker", WAIT_IDLE, true},
};

bool wait_machine_of_script(const char *file, const char *function, enum wait_kind *ret, bool *ret_is_own)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(scripts[i].function, function) != 0 || !name_match(scripts[i].file, file))
            continue;
        *ret = scripts[i].kind;
        *ret_is_own = scripts[i].is_own;
        return true;
    }
    return false;
}

bool wait_kind_is_for_work(enum wait_kind kind, bool is_outermost)
{
    if (kind == WAIT_EVENTS || kind == WAIT_SIGNAL)
        return true;
    return is_outermost && (kind == WAIT_POLL || kind == WAIT_CONDITION);
}
