/*
 * The C library's functions under our hooks.
 *
 * Resolved at the first use, because hooks are called before our constructor runs (other libraries'
 * constructors come first). dlsym allocates nothing on the way to a function that exists. Any thread;
 * idempotent, hence without a lock.
 */
#ifndef WALLPROF_REAL_H
#define WALLPROF_REAL_H

#include <aio.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>

typedef void real_handler_fn(int);

struct real {
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*pthread_join)(pthread_t, void **);
    int (*thrd_create)(thrd_t *, thrd_start_t, void *);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*raise)(int);
    int (*gsignal)(int);
    int (*kill)(pid_t, int);
    int (*killpg)(pid_t, int);
    int (*tgkill)(pid_t, pid_t, int);
    int (*sigqueue)(pid_t, int, const union sigval);
    int (*pthread_kill)(pthread_t, int);
    int (*pthread_sigqueue)(pthread_t, int, const union sigval);
    int (*setitimer)(enum __itimer_which, const struct itimerval *, struct itimerval *);
    int (*timer_create)(clockid_t, struct sigevent *, timer_t *);
    int (*mq_notify)(mqd_t, const struct sigevent *);
    int (*getaddrinfo_a)(int, struct gaicb **, int, struct sigevent *);
    int (*aio_read)(struct aiocb *);
    int (*aio_write)(struct aiocb *);
    int (*aio_fsync)(int, struct aiocb *);
    int (*lio_listio)(int, struct aiocb *const *, int, struct sigevent *);
    int (*fcntl)(int, int, ...);
    int (*signalfd)(int, const sigset_t *, int);
    int (*pthread_attr_setsigmask_np)(pthread_attr_t *, const sigset_t *);
    int (*pthread_attr_getsigmask_np)(const pthread_attr_t *, sigset_t *);
    int (*dlclose)(void *);
    pid_t (*fork)(void);
    pid_t (*_Fork)(void);
    int (*daemon)(int, int);
    pid_t (*forkpty)(int *, char *, const struct termios *, const struct winsize *);
    int (*clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
    int (*poll)(struct pollfd *, nfds_t, int);
    int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
    int (*epoll_wait)(int, struct epoll_event *, int, int);
    int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
    int (*epoll_pwait2)(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
    int (*sem_wait)(sem_t *);
    int (*sem_timedwait)(sem_t *, const struct timespec *);
    int (*sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
    int (*semop)(int, struct sembuf *, size_t);
    int (*semtimedop)(int, struct sembuf *, size_t, const struct timespec *);
    int (*msgsnd)(int, const void *, size_t, int);
    ssize_t (*msgrcv)(int, void *, size_t, long, int);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*sigsuspend)(const sigset_t *);
    int (*pause)(void);
    int (*aio_suspend)(const struct aiocb *const[], int, const struct timespec *);
    long (*syscall)(long, ...);
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*readv)(int, const struct iovec *, int);
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*writev)(int, const struct iovec *, int);
    ssize_t (*getrandom)(void *, size_t, unsigned);
    ssize_t (*sendfile)(int, int, off_t *, size_t);
    ssize_t (*copy_file_range)(int, off64_t *, int, off64_t *, size_t, unsigned);
    int (*tcdrain)(int);
    int (*setsockopt)(int, int, int, const void *, socklen_t);
    int (*accept)(int, struct sockaddr *, socklen_t *);
    int (*accept4)(int, struct sockaddr *, socklen_t *, int);
    int (*connect)(int, const struct sockaddr *, socklen_t);
    ssize_t (*recv)(int, void *, size_t, int);
    ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
    ssize_t (*recvmsg)(int, struct msghdr *, int);
    int (*recvmmsg)(int, struct mmsghdr *, unsigned, int, struct timespec *);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    ssize_t (*sendmsg)(int, const struct msghdr *, int);
    int (*sendmmsg)(int, struct mmsghdr *, unsigned, int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const *, char *const *);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const *, char *const *);
    FILE *(*popen)(const char *, const char *);
    int (*system)(const char *);
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*unshare)(int);
    int (*setns)(int, int);
    int (*capset)(void *, const void *);
    int (*prctl)(int, ...);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    pid_t (*wait4)(pid_t, int *, int, struct rusage *);
    int (*waitid)(idtype_t, id_t, siginfo_t *, int);
    void (*_exit)(int); /* these do not return */
    void (*abort)(void);
};

/* What real_functions looks at; nobody else. */
extern struct real_table {
    struct real functions;
    int is_resolved; /* atomic; several threads may resolve at once, to the same values */
} real_table __attribute__((visibility("hidden")));

const struct real *real_resolve(void);

static inline const struct real *real_functions(void)
{
    if (__builtin_expect(__atomic_load_n(&real_table.is_resolved, __ATOMIC_ACQUIRE), 1)) /* see real.c */
        return &real_table.functions;
    return real_resolve();
}

/* The C library's end of a program whose buffer is too small, in the functions that _FORTIFY_SOURCE calls. */
extern void __chk_fail(void) __attribute__((noreturn));

/* What an interposed function looks like: visible from outside, whatever the rest is compiled with. */
#define WALLPROF_HOOK __attribute__((visibility("default")))

/* And one that waits, or a part of it that calls what waits: known by where its code is (sig_wait.h). */
#define WALLPROF_WAIT      __attribute__((section("wallprof_waits")))
#define WALLPROF_WAIT_HOOK WALLPROF_HOOK WALLPROF_WAIT

/* Another name with which the C library exports a function of ours that may wait; in the file of that, after
 * it. */
#define WALLPROF_ALSO(name, function)                                                                        \
    extern __typeof__(function) name __attribute__((alias(#function), visibility("default")))

#endif
