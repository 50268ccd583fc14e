#include "wait_kind.h"

#include <stddef.h>
#include <string.h>

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
    {"epoll_wait", WAIT_POLL, true},
    {"epoll_pwait", WAIT_POLL, true},
    {"epoll_pwait2", WAIT_POLL, true},
    {"io_getevents", WAIT_POLL, true},
    {"recv", WAIT_SOCKET, true},
    {"recvfrom", WAIT_SOCKET, true},
    {"recvmsg", WAIT_SOCKET, true},
    {"recvmmsg", WAIT_SOCKET, true},
    {"send", WAIT_SOCKET, true},
    {"sendto", WAIT_SOCKET, true},
    {"sendmsg", WAIT_SOCKET, true},
    {"sendmmsg", WAIT_SOCKET, true},
    {"accept", WAIT_SOCKET, true},
    {"accept4", WAIT_SOCKET, true},
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

bool wait_kind_is_idle(enum wait_kind kind)
{
    return kind == WAIT_CONDITION || kind == WAIT_SLEEP || kind == WAIT_POLL || kind == WAIT_SIGNAL;
}
