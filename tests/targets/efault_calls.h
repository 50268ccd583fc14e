/*
 * For target_efault.c: how each interposed function is called, and with what. A row is for one function, or
 * for one way to call it. Its function makes the call with pointers that are good or bad.
 */
#ifndef WALLPROF_EFAULT_CALLS_H
#define WALLPROF_EFAULT_CALLS_H

#include "target.h"

#include <aio.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <grp.h>
#include <pthread.h>
#include <pty.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 6, IN_CHILD = 1, INTERRUPTED = 2, BYTES = 16 };

struct argument {
    const void *good; /* copied for each call */
    size_t bytes;
    bool is_endless; /* without it the call has no time limit */
};

struct call {
    const char *name, *variant;
    long (*make)(void *function, void *const *p);
    unsigned flags;
    struct argument arguments[ARGUMENTS_MAX];
};

/* function: an expression of the type of f. expression: calls f with p[0], p[1]... */
#define MAKE(id, function, expression)                                                                       \
    static long make_##id(void *address, void *const *p)                                                     \
    {                                                                                                        \
        __typeof__(function) f = (__typeof__(function))(uintptr_t)address;                                   \
        (void)f, (void)p;                                                                                    \
        return (long)(expression);                                                                           \
    }

static int idle[2], ready[2], filled[2], stream[2], sender, receiver, listener, client, zero_fd, null_fd,
    file_fd, file2_fd, epoll_idle, epoll_ready, semaphores, queue, pidfd, ring;
static aio_context_t aio, aio_done;

/* ---- what good pointers lead to ---- */

static struct timespec time_2ms = {.tv_nsec = 2000000}, time_none, time_1s = {.tv_sec = 1},
                       moment = {.tv_sec = 1};
static struct timeval timeval_2ms = {.tv_usec = 2000}, timeval_1s = {.tv_sec = 1};
static struct pollfd poll_idle, poll_ready;
static fd_set fds_idle;
static sigset_t all_signals, only_usr1, only_usr2, all_but_usr2;
static struct sigaction action;
static struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} kernel_action;
static struct sigevent event = {.sigev_notify = SIGEV_NONE};
static struct itimerval no_timer;
static struct iovec part;
static struct msghdr message;
static struct mmsghdr messages;
static struct sembuf take = {.sem_op = -1}, is_zero = {.sem_op = 0};
static struct {
    long type;
    char text[BYTES];
} queued = {.type = 1};
static struct sockaddr_un receiver_name;
static socklen_t receiver_length, room = sizeof(struct sockaddr_un);
static off_t offset;
static sem_t semaphore;
static pthread_attr_t attributes;
static struct aiocb request;
static struct aiocb *requests[1] = {&request};
static struct gaicb *lookups[1];
static struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
static struct sock_fprog filter = {.len = 1, .filter = &allow};
static struct io_uring_getevents_arg ring_wait;
static char bytes[512], *program_arguments[] = {(char *)"true", NULL}, *environment[] = {(char *)"A=b", NULL};
static posix_spawn_file_actions_t file_actions;
static posix_spawnattr_t spawn_attributes;
static struct __user_cap_header_struct capability_header = {.version = _LINUX_CAPABILITY_VERSION_3};
static struct __user_cap_data_struct capabilities[2];
static struct flock lock = {.l_type = F_RDLCK};
static struct termios termios;
static siginfo_t no_info;
static stack_t no_stack = {.ss_flags = SS_DISABLE};
static struct rlimit no_core;
static pid_t self_pid;
static int value;
static struct {
    const void *mask;
    size_t bytes;
} raw_mask = {&all_signals, 8};

#define OF(object)                                                                                           \
    {                                                                                                        \
        &(object), sizeof(object), false                                                                     \
    }
#define MASK(set)                                                                                            \
    {                                                                                                        \
        &(set), sizeof(uint64_t), false                                                                      \
    } /* what the kernel reads of it */
#define LIMIT(time)                                                                                          \
    {                                                                                                        \
        &(time), sizeof(time), true                                                                          \
    }
#define ANY(type)                                                                                            \
    {                                                                                                        \
        bytes, sizeof(type), false                                                                           \
    }
#define TEXT(text)                                                                                           \
    {                                                                                                        \
        text, sizeof(text), false                                                                            \
    }
#define ROOM(count)                                                                                          \
    {                                                                                                        \
        bytes, count, false                                                                                  \
    }

/* ---- what is done before a call ---- */

static void drain(int fd)
{
    char some[512];
    while (recv(fd, some, sizeof(some), MSG_DONTWAIT) > 0)
        ;
    while (errno == ENOTSOCK && read(fd, some, sizeof(some)) > 0)
        ;
}

static int closed(int fd)
{
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : fd;
}

static void interrupt_after_ms(long ms)
{
    struct itimerval time = {.it_value.tv_usec = ms * 1000, .it_interval.tv_usec = ms * 1000};
    setitimer(ITIMER_REAL, &time, NULL);
}

static void pipe_again(void)
{
    drain(filled[0]);
}

static void fill_stream(void)
{
    drain(stream[0]);
    if (send(stream[1], bytes, BYTES, 0) != BYTES)
        die("send");
}

static void fill_receiver(void)
{
    drain(receiver);
    if (send(sender, bytes, BYTES, 0) != BYTES)
        die("send");
}

static void fill_queue(void)
{
    while (msgrcv(queue, &queued, sizeof(queued.text), 0, IPC_NOWAIT) >= 0)
        ;
    queued.type = 1;
    if (msgsnd(queue, &queued, sizeof(queued.text), 0) != 0)
        die("msgsnd");
}

static void empty_queue(void)
{
    fill_queue();
    msgrcv(queue, &queued, sizeof(queued.text), 0, IPC_NOWAIT);
    queued.type = 1;
}

static void connect_client(void)
{
    struct sockaddr_un name;
    socklen_t length = sizeof(name);
    close(client);
    while (closed(accept(listener, NULL, NULL)) == 0)
        ;
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    getsockname(listener, (struct sockaddr *)&name, &length);
    if (connect(client, (struct sockaddr *)&name, length) != 0)
        die("connect");
}

static pid_t dead_child(void)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(7);
    return pid;
}

static int reap(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid ? status : -2;
}

static void finish_event(void)
{
    struct iocb one = {.aio_lio_opcode = IOCB_CMD_PREAD,
                       .aio_fildes = (uint32_t)file_fd,
                       .aio_buf = (uint64_t)(uintptr_t)(bytes + 256),
                       .aio_nbytes = BYTES},
                *list[] = {&one};
    struct io_event done;
    while (syscall(SYS_io_getevents, aio_done, 0, 1, &done, &time_none) == 1)
        ;
    syscall(SYS_io_submit, aio_done, 1, list);
    __asm__ volatile("" ::: "memory");
}

/* ---- threads, actions and masks ---- */

static void *end_thread(void *argument)
{
    return argument;
}

static int end_c11_thread(void *argument)
{
    return argument != NULL;
}

MAKE(pthread_create, &pthread_create,
     f(p[0], p[1], end_thread, NULL) == 0 ? pthread_join(*(pthread_t *)p[0], NULL) : 1)
MAKE(thrd_create, &thrd_create,
     f(p[0], end_c11_thread, NULL) == thrd_success ? thrd_join(*(thrd_t *)p[0], NULL) : 7)
MAKE(dlclose, (int (*)(void *))0, f(p[0]))
MAKE(sigaction, &sigaction, f(SIGUSR1, p[0], p[1]))
MAKE(sigaction_65, &sigaction, f(65, p[0], p[1]))
MAKE(sigaction_33, &sigaction, f(33, p[0], p[1]))
MAKE(sigaction_kill, &sigaction, f(SIGKILL, p[0], p[1]))
MAKE(sigaction_prof, &sigaction, f(SIGPROF, p[0], p[1]))
MAKE(sigprocmask, &sigprocmask, f(SIG_BLOCK, p[0], p[1]))
MAKE(sigprocmask_how, &sigprocmask, f(77, p[0], p[1]))
MAKE(attr_setsigmask, &pthread_attr_setsigmask_np, f(p[0], p[1]))
MAKE(attr_getsigmask, &pthread_attr_getsigmask_np, f(p[0], p[1]))
MAKE(setitimer, &setitimer, f(ITIMER_REAL, p[0], p[1]))
MAKE(timer_create, &timer_create, f(CLOCK_MONOTONIC, p[0], p[1]) == 0 ? timer_delete(*(timer_t *)p[1]) : -1)
MAKE(pidfd_send_signal, (int (*)(int, int, siginfo_t *, unsigned))0, f(pidfd, 0, p[0], 0))
MAKE(mq_notify, &mq_notify, f(-1, p[0]))
MAKE(getaddrinfo_a_wait, &getaddrinfo_a, f(GAI_WAIT, p[0], 1, p[1]))
MAKE(getaddrinfo_a, &getaddrinfo_a, f(GAI_NOWAIT, p[0], 1, p[1]))
MAKE(getaddrinfo_a_mode, &getaddrinfo_a, f(77, p[0], 1, p[1]))
MAKE(aio_read, &aio_read, f(p[0]))
MAKE(aio_fsync, &aio_fsync, f(O_SYNC, p[0]))
MAKE(aio_fsync_how, &aio_fsync, f(0x77, p[0]))
MAKE(lio_listio_wait, &lio_listio, f(LIO_WAIT, p[0], 1, p[1]))
MAKE(lio_listio, &lio_listio, f(LIO_NOWAIT, p[0], 1, p[1]))
MAKE(lio_listio_mode, &lio_listio, f(77, p[0], 1, p[1]))
MAKE(lio_listio_of, &lio_listio, f(LIO_NOWAIT, (struct aiocb *[]){p[0]}, 1, NULL))
MAKE(fcntl, &fcntl, f(file_fd, F_GETLK, p[0]))
MAKE(signalfd, &signalfd, closed(f(-1, p[0], 0)))
MAKE(sigwait, &sigwait, (raise(SIGUSR2), f(p[0], p[1])))
MAKE(sigwaitinfo, &sigwaitinfo, (raise(SIGUSR2), f(p[0], p[1])))
MAKE(sigtimedwait, &sigtimedwait, (raise(SIGUSR2), f(p[0], p[1], p[2])))
MAKE(sigtimedwait_idle, &sigtimedwait, f(p[0], p[1], p[2]))
MAKE(sigsuspend, &sigsuspend, (raise(SIGUSR2), f(p[0])))

/* ---- processes ---- */

/* From now on a probe of ours would end the process: it must not be made after the end of the recording. */
static void forbid_probe(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
              &(struct sock_fprog){.len = sizeof(code) / sizeof(*code), .filter = code}) != 0)
        die("seccomp");
}

static int spawned(int error, const pid_t *pid)
{
    return error ? error : reap(*pid);
}

static int close_stream(FILE *stream_of_command)
{
    return stream_of_command ? pclose(stream_of_command) : -1;
}

static int leave_pty(pid_t pid)
{
    if (pid == 0)
        _exit(0);
    return pid > 0 ? 0 : -1;
}

MAKE(posix_spawn, &posix_spawn, spawned(f(p[0], p[1], p[2], p[3], p[4], p[5]), p[0]))
MAKE(popen, &popen, close_stream(f(p[0], p[1])))
MAKE(system, &system, f(p[0]))
MAKE(forkpty, &forkpty, leave_pty(f(p[0], p[1], p[2], p[3])))
MAKE(execve, &execve, f(p[0], p[1], p[2]))
MAKE(execv, &execv, f(p[0], p[1]))
MAKE(execl, &execl, f(p[0], p[1], NULL))
MAKE(execle, &execle, f(p[0], p[1], NULL, p[2]))
MAKE(fexecve, &fexecve, f(open("/bin/true", O_RDONLY | O_CLOEXEC), p[0], p[1]))
MAKE(execveat, (int (*)(int, const char *, char *const *, char *const *, int))0,
     f(AT_FDCWD, p[0], p[1], p[2], 0))
MAKE(capset, (int (*)(void *, const void *))0, f(p[0], p[1]))
MAKE(sigaltstack, &sigaltstack, f(p[0], p[1]))
MAKE(setgroups, &setgroups, f(1, p[0]))
MAKE(initgroups, &initgroups, f(p[0], 0))
MAKE(chroot, &chroot, f(p[0]))
MAKE(setrlimit, &setrlimit, f(RLIMIT_CORE, p[0]))
MAKE(prlimit, &prlimit, f(0, RLIMIT_CORE, p[0], p[1]))
MAKE(prctl_set_name, &prctl, f(PR_SET_NAME, p[0]))
MAKE(prctl_get_name, &prctl, f(PR_GET_NAME, p[0]))
MAKE(prctl_filter, &prctl, f(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, p[0]))
MAKE(prctl_filter_of, &prctl,
     f(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){.len = 1, .filter = p[0]}))
MAKE(prctl_filter_no, &prctl,
     f(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){.len = 0, .filter = p[0]}))
MAKE(prctl_filter_of_all, &prctl,
     f(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){.len = 60000, .filter = p[0]}))
MAKE(prctl_filter_second, &prctl, (forbid_probe(), f(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, p[0])))
MAKE(sigwaitinfo_filtered, &sigwaitinfo, (raise(SIGUSR2), forbid_probe(), f(p[0], p[1])))
MAKE(nanosleep_filtered, &nanosleep, (interrupt_after_ms(5), forbid_probe(), f(p[0], p[1])))
MAKE(number_nanosleep_filtered, &syscall,
     (interrupt_after_ms(5), forbid_probe(), f(SYS_nanosleep, p[0], p[1])))
MAKE(ppoll_filtered, &ppoll, (forbid_probe(), f(p[0], 1, p[1], p[2])))
MAKE(wait, &wait, (dead_child(), f(p[0]) > 0 ? 0 : -1))
MAKE(waitpid, &waitpid, (f(dead_child(), p[0], 0) > 0 ? 0 : -1))
MAKE(wait3, &wait3, (dead_child(), f(p[0], 0, p[1]) > 0 ? 0 : -1))
MAKE(wait4, &wait4, (f(dead_child(), p[0], 0, p[1]) > 0 ? 0 : -1))
MAKE(waitid, &waitid, f(P_PID, (id_t)dead_child(), p[0], WEXITED))

/* ---- waits ---- */

MAKE(clock_nanosleep, &clock_nanosleep, f(CLOCK_MONOTONIC, 0, p[0], p[1]))
MAKE(clock_nanosleep_until, &clock_nanosleep, f(CLOCK_MONOTONIC, TIMER_ABSTIME, p[0], p[1]))
MAKE(clock_nanosleep_cpu, &clock_nanosleep, f(CLOCK_THREAD_CPUTIME_ID, 0, p[0], p[1]))
MAKE(nanosleep, &nanosleep, f(p[0], p[1]))
MAKE(poll, &poll, f(p[0], 1, 2))
MAKE(poll_chk, (int (*)(struct pollfd *, nfds_t, int, size_t))0, f(p[0], 1, 2, sizeof(struct pollfd)))
MAKE(ppoll, &ppoll, f(p[0], 1, p[1], p[2]))
MAKE(ppoll_chk, (int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t))0,
     f(p[0], 1, p[1], p[2], sizeof(struct pollfd)))
MAKE(select, &select, f(idle[0] + 1, p[0], p[1], p[2], p[3]))
MAKE(pselect, &pselect, f(idle[0] + 1, p[0], p[1], p[2], p[3], p[4]))
MAKE(epoll_wait, &epoll_wait, f(epoll_ready, p[0], 1, 2))
MAKE(epoll_wait_idle, &epoll_wait, f(epoll_idle, p[0], 1, 2))
MAKE(epoll_pwait, &epoll_pwait, f(epoll_ready, p[0], 1, 2, p[1]))
MAKE(epoll_pwait_idle, &epoll_pwait, f(epoll_idle, p[0], 1, 2, p[1]))
MAKE(epoll_pwait2, &epoll_pwait2, f(epoll_idle, p[0], 1, p[1], p[2]))
MAKE(sem_wait, &sem_wait, f(p[0]))
MAKE(sem_timedwait, &sem_timedwait, f(p[0], p[1]))
MAKE(sem_clockwait, &sem_clockwait, f(p[0], CLOCK_MONOTONIC, p[1]))
MAKE(semop, &semop, f(semaphores, p[0], 1))
MAKE(semtimedop, &semtimedop, f(semaphores, p[0], 1, p[1]))
MAKE(msgsnd, &msgsnd, (empty_queue(), f(queue, p[0], BYTES, 0)))
MAKE(msgrcv, &msgrcv, (fill_queue(), f(queue, p[0], BYTES, 0, 0)))
MAKE(thrd_sleep, &thrd_sleep, f(p[0], p[1]))
MAKE(aio_suspend, &aio_suspend, (request.__error_code = EINPROGRESS, f(p[0], 1, p[1])))
MAKE(aio_suspend_done, &aio_suspend, (request.__error_code = 0, f(p[0], 1, p[1])))

/* A program that is not linked with libaio has these from us alone: the raw call answers as they do. */
static long error_of(long result)
{
    return result < 0 ? -errno : result;
}

typedef int events_fn(aio_context_t, long, long, void *, void *);
typedef int masked_events_fn(aio_context_t, long, long, void *, void *, void *);

static long get_events(events_fn *function, aio_context_t context, void *events, void *time)
{
    return function ? function(context, 1, 1, events, time)
                    : error_of(syscall(SYS_io_getevents, context, 1, 1, events, time));
}

static long get_events_masked(masked_events_fn *function, aio_context_t context, void *events, void *time,
                              void *mask)
{
    return function ? function(context, 1, 1, events, time, mask)
                    : error_of(syscall(SYS_io_pgetevents, context, 1, 1, events, time,
                                       &(__typeof__(raw_mask)){mask, sizeof(uint64_t)}));
}

MAKE(io_getevents, (events_fn *)0, (finish_event(), get_events(f, aio_done, p[0], p[1])))
MAKE(io_getevents_idle, (events_fn *)0, get_events(f, aio, p[0], p[1]))
MAKE(io_pgetevents, (masked_events_fn *)0, get_events_masked(f, aio, p[0], p[1], p[2]))

/* ---- by number ---- */

#define NUMBER(id, ...) MAKE(number_##id, &syscall, f(__VA_ARGS__))
NUMBER(sigaction, SYS_rt_sigaction, SIGUSR1, p[0], p[1], 8)
NUMBER(sigaction_prof, SYS_rt_sigaction, SIGPROF, p[0], p[1], 8)

NUMBER(futex, SYS_futex, p[0], 0 /* FUTEX_WAIT */, 0, p[1])
NUMBER(nanosleep, SYS_nanosleep, p[0], p[1])
NUMBER(clock_nanosleep, SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, p[0], p[1])
#ifdef SYS_poll
NUMBER(poll, SYS_poll, p[0], 1, 2)
NUMBER(select, SYS_select, idle[0] + 1, p[0], p[1], p[2], p[3])
NUMBER(epoll_wait, SYS_epoll_wait, epoll_idle, p[0], 1, 2)
#endif
NUMBER(ppoll, SYS_ppoll, p[0], 1, p[1], p[2], 8)
NUMBER(pselect, SYS_pselect6, idle[0] + 1, p[0], p[1], p[2], p[3], p[4])
NUMBER(epoll_pwait, SYS_epoll_pwait, epoll_idle, p[0], 1, 2, p[1], 8)
NUMBER(epoll_pwait2, SYS_epoll_pwait2, epoll_idle, p[0], 1, p[1], p[2], 8)
NUMBER(semtimedop, SYS_semtimedop, semaphores, p[0], 1, p[1])
NUMBER(sigtimedwait, SYS_rt_sigtimedwait, p[0], p[1], p[2], 8)
NUMBER(io_getevents, SYS_io_getevents, aio, 1, 1, p[0], p[1])
NUMBER(io_pgetevents, SYS_io_pgetevents, aio, 1, 1, p[0], p[1], p[2])
NUMBER(ring, SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, p[0],
       sizeof(ring_wait))
MAKE(number_ring_time, &syscall,
     f(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
       &(struct io_uring_getevents_arg){.ts = (uintptr_t)p[0] ? (uintptr_t)p[0] : (uintptr_t)&time_2ms},
       sizeof(ring_wait)))
NUMBER(seccomp, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, p[0])
MAKE(number_sigsuspend, &syscall, (raise(SIGUSR2), f(SYS_rt_sigsuspend, p[0], 8)))

/* ---- transfers ---- */

MAKE(read, &read, f(zero_fd, p[0], BYTES))
MAKE(read_chk, (ssize_t(*)(int, void *, size_t, size_t))0, f(zero_fd, p[0], BYTES, BYTES))
MAKE(readv, &readv, f(zero_fd, p[0], 1))
MAKE(readv_of, &readv, f(zero_fd, &(struct iovec){p[0], BYTES}, 1))
MAKE(write, &write, (pipe_again(), f(filled[1], p[0], BYTES)))
MAKE(writev, &writev, (pipe_again(), f(filled[1], p[0], 1)))
MAKE(writev_of, &writev, (pipe_again(), f(filled[1], &(struct iovec){p[0], BYTES}, 1)))
MAKE(getrandom, &getrandom, f(p[0], BYTES, 0))
MAKE(sendfile, &sendfile, f(null_fd, file_fd, p[0], BYTES))
MAKE(copy_file_range, &copy_file_range, f(file_fd, p[0], file2_fd, p[1], BYTES, 0))
MAKE(setsockopt, &setsockopt, f(stream[0], SOL_SOCKET, SO_RCVTIMEO, p[0], sizeof(struct timeval)))
MAKE(accept, &accept, (connect_client(), closed(f(listener, p[0], p[1]))))
MAKE(accept4, &accept4, (connect_client(), closed(f(listener, p[0], p[1], 0))))
MAKE(connect, &connect, f(sender, p[0], receiver_length))
MAKE(recv, &recv, (fill_stream(), f(stream[0], p[0], BYTES, 0)))
MAKE(recv_chk, (ssize_t(*)(int, void *, size_t, size_t, int))0,
     (fill_stream(), f(stream[0], p[0], BYTES, BYTES, 0)))
MAKE(recvfrom, &recvfrom, (fill_receiver(), f(receiver, p[0], BYTES, 0, p[1], p[2])))
MAKE(recvfrom_chk, (ssize_t(*)(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *))0,
     (fill_receiver(), f(receiver, p[0], BYTES, BYTES, 0, p[1], p[2])))
MAKE(recvfrom_limit, &recvfrom, (drain(receiver), f(receiver, p[0], BYTES, 0, p[1], p[2])))
MAKE(recvmsg, &recvmsg, (fill_receiver(), f(receiver, p[0], 0)))
MAKE(recvmsg_of, &recvmsg,
     (fill_receiver(),
      f(receiver,
        &(struct msghdr){.msg_iov = p[0], .msg_iovlen = 1, .msg_name = p[1], .msg_namelen = p[1] ? room : 0},
        0)))
MAKE(recvmsg_limit, &recvmsg, (drain(receiver), f(receiver, p[0], 0)))
MAKE(recvmmsg, &recvmmsg, (fill_receiver(), f(receiver, p[0], 1, 0, p[1])))
MAKE(recvmmsg_limit, &recvmmsg, (drain(receiver), f(receiver, p[0], 1, 0, p[1])))
MAKE(send, &send, (drain(receiver), f(sender, p[0], BYTES, 0)))
MAKE(sendto, &sendto, (drain(receiver), f(sender, p[0], BYTES, 0, p[1], receiver_length)))
MAKE(sendmsg, &sendmsg, (drain(receiver), f(sender, p[0], 0)))
MAKE(sendmsg_of, &sendmsg,
     (drain(receiver), f(sender, &(struct msghdr){.msg_iov = p[0], .msg_iovlen = 1}, 0)))
MAKE(sendmmsg, &sendmmsg, (drain(receiver), f(sender, p[0], 1, 0)))

/* ---- the rows ---- */

#define EXEC_ARGUMENTS OF(program_arguments)
#define SPAWN_ARGUMENTS                                                                                      \
    {                                                                                                        \
        OF(self_pid), TEXT("/bin/true"), OF(file_actions), OF(spawn_attributes), OF(program_arguments),      \
            OF(environment)                                                                                  \
    }
#define POLL_ARGUMENTS                                                                                       \
    {                                                                                                        \
        OF(poll_idle), LIMIT(time_2ms), MASK(all_signals)                                                    \
    }
#define SELECT_ARGUMENTS                                                                                     \
    {                                                                                                        \
        OF(fds_idle), OF(fds_idle), OF(fds_idle), LIMIT(timeval_2ms)                                         \
    }
#define PSELECT_ARGUMENTS                                                                                    \
    {                                                                                                        \
        OF(fds_idle), OF(fds_idle), OF(fds_idle), LIMIT(time_2ms), MASK(all_signals)                         \
    }
#define RECV_ARGUMENTS                                                                                       \
    {                                                                                                        \
        ROOM(BYTES), ANY(struct sockaddr_un), OF(room)                                                       \
    }

static const struct call calls[] = {
    {"sigaction", "", make_sigaction, 0, {OF(action), OF(action)}},
    {"__sigaction", "", make_sigaction, 0, {OF(action), OF(action)}},
    {"sigaction", "-65", make_sigaction_65, 0, {OF(action), OF(action)}},
    {"sigaction", "-33", make_sigaction_33, 0, {OF(action), OF(action)}},
    {"sigaction", "-kill", make_sigaction_kill, 0, {OF(action), OF(action)}},
    {"sigprocmask", "", make_sigprocmask, 0, {MASK(only_usr1), ANY(uint64_t)}},
    {"sigprocmask", "-how", make_sigprocmask_how, 0, {MASK(only_usr1), ANY(uint64_t)}},
    {"pthread_sigmask", "", make_sigprocmask, 0, {MASK(only_usr1), ANY(uint64_t)}},
    {"pthread_attr_setsigmask_np", "", make_attr_setsigmask, 0, {OF(attributes), OF(only_usr1)}},
    {"pthread_attr_getsigmask_np", "", make_attr_getsigmask, 0, {OF(attributes), OF(all_signals)}},
    {"setitimer", "", make_setitimer, 0, {OF(no_timer), OF(no_timer)}},
    {"timer_create", "", make_timer_create, 0, {OF(event), ANY(timer_t)}},
    {"pidfd_send_signal", "", make_pidfd_send_signal, 0, {OF(no_info)}},
    {"mq_notify", "", make_mq_notify, 0, {OF(event)}},
    {"fcntl", "", make_fcntl, 0, {OF(lock)}},
    {"fcntl64", "", make_fcntl, 0, {OF(lock)}},
    {"signalfd", "", make_signalfd, 0, {MASK(all_signals)}},
    {"sigwait", "", make_sigwait, 0, {MASK(only_usr2), OF(value)}},
    {"sigwaitinfo", "", make_sigwaitinfo, 0, {MASK(only_usr2), OF(no_info)}},
    {"sigwaitinfo", "-all", make_sigwaitinfo, 0, {MASK(all_signals), OF(no_info)}},
    {"sigtimedwait", "", make_sigtimedwait, 0, {MASK(only_usr2), OF(no_info), OF(time_1s)}},
    {"sigtimedwait", "-idle", make_sigtimedwait_idle, 0, {MASK(only_usr1), OF(no_info), LIMIT(time_2ms)}},
    {"sigsuspend", "", make_sigsuspend, 0, {MASK(all_but_usr2)}},
    {"__sigsuspend", "", make_sigsuspend, 0, {MASK(all_but_usr2)}},

    {"clock_nanosleep", "", make_clock_nanosleep, 0, {OF(time_2ms), OF(time_2ms)}},
    {"clock_nanosleep", "-until", make_clock_nanosleep_until, 0, {OF(moment), OF(time_2ms)}},
    {"clock_nanosleep", "-cpu", make_clock_nanosleep_cpu, 0, {OF(time_2ms), OF(time_2ms)}},
    {"clock_nanosleep", "-cut", make_clock_nanosleep, INTERRUPTED, {OF(time_1s), OF(time_2ms)}},
    {"nanosleep", "", make_nanosleep, 0, {OF(time_2ms), OF(time_2ms)}},
    {"__nanosleep", "", make_nanosleep, 0, {OF(time_2ms), OF(time_2ms)}},
    {"nanosleep", "-cut", make_nanosleep, INTERRUPTED, {OF(time_1s), OF(time_2ms)}},
    {"thrd_sleep", "", make_thrd_sleep, 0, {OF(time_2ms), OF(time_2ms)}},
    {"thrd_sleep", "-cut", make_thrd_sleep, INTERRUPTED, {OF(time_1s), OF(time_2ms)}},
    {"poll", "", make_poll, 0, {OF(poll_idle)}},
    {"__poll", "", make_poll, 0, {OF(poll_ready)}},
    {"__poll_chk", "", make_poll_chk, 0, {OF(poll_idle)}},
    {"ppoll", "", make_ppoll, 0, POLL_ARGUMENTS},
    {"__ppoll_chk", "", make_ppoll_chk, 0, POLL_ARGUMENTS},
    {"select", "", make_select, 0, SELECT_ARGUMENTS},
    {"__select", "", make_select, 0, SELECT_ARGUMENTS},
    {"select", "-cut", make_select, INTERRUPTED, {OF(fds_idle), OF(fds_idle), OF(fds_idle), OF(timeval_1s)}},
    {"pselect", "", make_pselect, 0, PSELECT_ARGUMENTS},
    {"epoll_wait", "", make_epoll_wait, 0, {ANY(struct epoll_event)}},
    {"epoll_wait", "-idle", make_epoll_wait_idle, 0, {ANY(struct epoll_event)}},
    {"epoll_pwait", "", make_epoll_pwait, 0, {ANY(struct epoll_event), MASK(all_signals)}},
    {"epoll_pwait", "-idle", make_epoll_pwait_idle, 0, {ANY(struct epoll_event), MASK(all_signals)}},
    {"epoll_pwait2", "", make_epoll_pwait2, 0, {ANY(struct epoll_event), LIMIT(time_2ms), MASK(all_signals)}},
    {"sem_wait", "", make_sem_wait, 0, {OF(semaphore)}},
    {"sem_timedwait", "", make_sem_timedwait, 0, {ANY(sem_t), OF(moment)}},
    {"sem_clockwait", "", make_sem_clockwait, 0, {ANY(sem_t), OF(moment)}},
    {"semop", "", make_semop, 0, {OF(is_zero)}},
    {"semtimedop", "", make_semtimedop, 0, {OF(take), LIMIT(time_2ms)}},
    {"msgsnd", "", make_msgsnd, 0, {OF(queued)}},
    {"msgrcv", "", make_msgrcv, 0, {OF(queued)}},
    {"aio_suspend", "", make_aio_suspend, IN_CHILD, {OF(requests), LIMIT(time_2ms)}},
    {"aio_suspend64", "", make_aio_suspend_done, IN_CHILD, {OF(requests), LIMIT(time_2ms)}},
    {"io_getevents", "", make_io_getevents, 0, {ANY(struct io_event), LIMIT(time_2ms)}},
    {"io_getevents", "-idle", make_io_getevents_idle, 0, {ANY(struct io_event), LIMIT(time_2ms)}},
    {"io_pgetevents", "", make_io_pgetevents, 0, {ANY(struct io_event), LIMIT(time_2ms), MASK(all_signals)}},

    {"syscall", "-rt_sigaction", make_number_sigaction, 0, {OF(kernel_action), OF(kernel_action)}},
    {"syscall", "-futex", make_number_futex, 0, {ANY(int), LIMIT(time_2ms)}},
    {"syscall", "-nanosleep", make_number_nanosleep, 0, {OF(time_2ms), OF(time_2ms)}},
    {"syscall", "-nanosleep-cut", make_number_nanosleep, INTERRUPTED, {OF(time_1s), OF(time_2ms)}},
    {"syscall", "-clock_nanosleep", make_number_clock_nanosleep, 0, {OF(time_2ms), OF(time_2ms)}},
#ifdef SYS_poll
    {"syscall", "-poll", make_number_poll, 0, {OF(poll_idle)}},
    {"syscall", "-select", make_number_select, 0, SELECT_ARGUMENTS},
    {"syscall",
     "-select-cut",
     make_number_select,
     INTERRUPTED,
     {OF(fds_idle), OF(fds_idle), OF(fds_idle), OF(timeval_1s)}},
    {"syscall", "-epoll_wait", make_number_epoll_wait, 0, {ANY(struct epoll_event)}},
#endif
    {"syscall", "-ppoll", make_number_ppoll, 0, POLL_ARGUMENTS},
    {"syscall", "-ppoll-cut", make_number_ppoll, INTERRUPTED, {OF(poll_idle), OF(time_1s), ANY(uint64_t)}},
    {"syscall",
     "-pselect",
     make_number_pselect,
     0,
     {OF(fds_idle), OF(fds_idle), OF(fds_idle), LIMIT(time_2ms), OF(raw_mask)}},
    {"syscall", "-epoll_pwait", make_number_epoll_pwait, 0, {ANY(struct epoll_event), MASK(all_signals)}},
    {"syscall",
     "-epoll_pwait2",
     make_number_epoll_pwait2,
     0,
     {ANY(struct epoll_event), LIMIT(time_2ms), MASK(all_signals)}},
    {"syscall", "-semtimedop", make_number_semtimedop, 0, {OF(take), LIMIT(time_2ms)}},
    {"syscall",
     "-sigtimedwait",
     make_number_sigtimedwait,
     0,
     {MASK(only_usr1), OF(no_info), LIMIT(time_2ms)}},
    {"syscall", "-io_getevents", make_number_io_getevents, 0, {ANY(struct io_event), LIMIT(time_2ms)}},
    {"syscall",
     "-io_pgetevents",
     make_number_io_pgetevents,
     0,
     {ANY(struct io_event), LIMIT(time_2ms), OF(raw_mask)}},
    {"syscall", "-ring", make_number_ring, 0, {OF(ring_wait)}},
    {"syscall", "-ring-time", make_number_ring_time, 0, {LIMIT(time_2ms)}},
    {"syscall", "-seccomp", make_number_seccomp, IN_CHILD, {OF(filter)}},
    {"syscall", "-sigsuspend", make_number_sigsuspend, 0, {MASK(all_but_usr2)}},

    {"read", "", make_read, 0, {ROOM(BYTES)}},
    {"__read", "", make_read, 0, {ROOM(BYTES)}},
    {"__read_chk", "", make_read_chk, 0, {ROOM(BYTES)}},
    {"readv", "", make_readv, 0, {OF(part)}},
    {"readv", "-of", make_readv_of, 0, {ROOM(BYTES)}},
    {"write", "", make_write, 0, {ROOM(BYTES)}},
    {"__write", "", make_write, 0, {ROOM(BYTES)}},
    {"writev", "", make_writev, 0, {OF(part)}},
    {"writev", "-of", make_writev_of, 0, {ROOM(BYTES)}},
    {"getrandom", "", make_getrandom, 0, {ROOM(BYTES)}},
    {"sendfile", "", make_sendfile, 0, {OF(offset)}},
    {"sendfile64", "", make_sendfile, 0, {OF(offset)}},
    {"copy_file_range", "", make_copy_file_range, 0, {OF(offset), OF(offset)}},
    {"accept", "", make_accept, 0, {ANY(struct sockaddr_un), OF(room)}},
    {"accept4", "", make_accept4, 0, {ANY(struct sockaddr_un), OF(room)}},
    {"connect", "", make_connect, 0, {OF(receiver_name)}},
    {"__connect", "", make_connect, 0, {OF(receiver_name)}},
    {"recv", "", make_recv, 0, {ROOM(BYTES)}},
    {"__recv_chk", "", make_recv_chk, 0, {ROOM(BYTES)}},
    {"recvfrom", "", make_recvfrom, 0, RECV_ARGUMENTS},
    {"__recvfrom_chk", "", make_recvfrom_chk, 0, RECV_ARGUMENTS},
    {"recvfrom", "-limit", make_recvfrom_limit, 0, RECV_ARGUMENTS},
    {"recvmsg", "", make_recvmsg, 0, {OF(message)}},
    {"recvmsg", "-of", make_recvmsg_of, 0, {OF(part), ANY(struct sockaddr_un)}},
    {"recvmsg", "-limit", make_recvmsg_limit, 0, {OF(message)}},
    {"recvmmsg", "", make_recvmmsg, 0, {OF(messages), OF(time_1s)}},
    {"recvmmsg", "-limit", make_recvmmsg_limit, 0, {OF(messages), OF(time_1s)}},
    {"send", "", make_send, 0, {ROOM(BYTES)}},
    {"__send", "", make_send, 0, {ROOM(BYTES)}},
    {"sendto", "", make_sendto, 0, {ROOM(BYTES), OF(receiver_name)}},
    {"sendmsg", "", make_sendmsg, 0, {OF(message)}},
    {"sendmsg", "-of", make_sendmsg_of, 0, {OF(part)}},
    {"sendmmsg", "", make_sendmmsg, 0, {OF(messages)}},
    {"setsockopt", "", make_setsockopt, 0, {OF(timeval_2ms)}},

    {"prctl", "-set-name", make_prctl_set_name, 0, {TEXT("target_efault")}},
    {"prctl", "-get-name", make_prctl_get_name, 0, {ROOM(16)}},
    {"prctl", "-filter", make_prctl_filter, IN_CHILD, {OF(filter)}},
    {"prctl", "-filter-of", make_prctl_filter_of, IN_CHILD, {OF(allow)}},
    {"prctl", "-filter-none", make_prctl_filter_no, IN_CHILD, {OF(allow)}},
    {"prctl", "-filter-of-many", make_prctl_filter_of_all, IN_CHILD, {OF(allow)}},
    {"prctl", "-filter-second", make_prctl_filter_second, IN_CHILD, {OF(filter)}},
    {"sigwaitinfo", "-filtered", make_sigwaitinfo_filtered, IN_CHILD, {MASK(only_usr2), OF(no_info)}},
    {"nanosleep", "-filtered", make_nanosleep_filtered, IN_CHILD, {OF(time_1s), OF(time_2ms)}},
    {"syscall", "-nanosleep-filtered", make_number_nanosleep_filtered, IN_CHILD, {OF(time_1s), OF(time_2ms)}},
    {"ppoll", "-filtered", make_ppoll_filtered, IN_CHILD, POLL_ARGUMENTS},
    {"sigaltstack", "", make_sigaltstack, 0, {OF(no_stack), OF(no_stack)}},
    {"setgroups", "", make_setgroups, IN_CHILD, {OF(value)}},
    {"initgroups", "", make_initgroups, IN_CHILD, {TEXT("root")}},
    {"chroot", "", make_chroot, IN_CHILD, {TEXT("/")}},
    {"setrlimit", "", make_setrlimit, 0, {OF(no_core)}},
    {"setrlimit64", "", make_setrlimit, 0, {OF(no_core)}},
    {"prlimit", "", make_prlimit, 0, {OF(no_core), OF(no_core)}},
    {"prlimit64", "", make_prlimit, 0, {OF(no_core), OF(no_core)}},
    {"capset", "", make_capset, 0, {OF(capability_header), OF(capabilities)}},
    {"wait", "", make_wait, 0, {OF(value)}},
    {"waitpid", "", make_waitpid, 0, {OF(value)}},
    {"wait3", "", make_wait3, 0, {OF(value), ANY(struct rusage)}},
    {"wait4", "", make_wait4, 0, {OF(value), ANY(struct rusage)}},
    {"waitid", "", make_waitid, 0, {OF(no_info)}},

    {"pthread_create", "", make_pthread_create, 0, {ANY(pthread_t), OF(attributes)}},
    {"thrd_create", "", make_thrd_create, 0, {ANY(thrd_t)}},
    {"dlclose", "", make_dlclose, IN_CHILD, {ROOM(512)}},
    {"getaddrinfo_a", "", make_getaddrinfo_a, IN_CHILD, {OF(lookups), OF(event)}},
    {"getaddrinfo_a", "-wait", make_getaddrinfo_a_wait, IN_CHILD, {OF(lookups), OF(event)}},
    {"getaddrinfo_a", "-mode", make_getaddrinfo_a_mode, IN_CHILD, {OF(lookups), OF(event)}},
    {"aio_read", "", make_aio_read, IN_CHILD, {OF(request)}},
    {"aio_read64", "", make_aio_read, IN_CHILD, {OF(request)}},
    {"aio_write", "", make_aio_read, IN_CHILD, {OF(request)}},
    {"aio_write64", "", make_aio_read, IN_CHILD, {OF(request)}},
    {"aio_fsync", "", make_aio_fsync, IN_CHILD, {OF(request)}},
    {"aio_fsync64", "", make_aio_fsync_how, IN_CHILD, {OF(request)}},
    {"lio_listio", "", make_lio_listio, IN_CHILD, {OF(requests), OF(event)}},
    {"lio_listio64", "", make_lio_listio_wait, IN_CHILD, {OF(requests), OF(event)}},
    {"lio_listio", "-mode", make_lio_listio_mode, IN_CHILD, {OF(requests), OF(event)}},
    {"lio_listio", "-of", make_lio_listio_of, IN_CHILD, {OF(request)}},
    {"posix_spawn", "", make_posix_spawn, IN_CHILD, SPAWN_ARGUMENTS},
    {"posix_spawnp", "", make_posix_spawn, IN_CHILD, SPAWN_ARGUMENTS},
    {"popen", "", make_popen, IN_CHILD, {TEXT("exit 3"), TEXT("w")}},
    {"system", "", make_system, IN_CHILD, {TEXT("exit 3")}},
    {"forkpty", "", make_forkpty, IN_CHILD, {OF(value), ROOM(128), OF(termios), ANY(struct winsize)}},
    {"execve", "", make_execve, IN_CHILD, {TEXT("/bin/true"), EXEC_ARGUMENTS, OF(environment)}},
    {"execvpe", "", make_execve, IN_CHILD, {TEXT("true"), EXEC_ARGUMENTS, OF(environment)}},
    {"execv", "", make_execv, IN_CHILD, {TEXT("/bin/true"), EXEC_ARGUMENTS}},
    {"execvp", "", make_execv, IN_CHILD, {TEXT("true"), EXEC_ARGUMENTS}},
    {"execl", "", make_execl, IN_CHILD, {TEXT("/bin/true"), TEXT("true")}},
    {"execlp", "", make_execl, IN_CHILD, {TEXT("true"), TEXT("true")}},
    {"execle", "", make_execle, IN_CHILD, {TEXT("/bin/true"), TEXT("true"), OF(environment)}},
    {"fexecve", "", make_fexecve, IN_CHILD, {EXEC_ARGUMENTS, OF(environment)}},
    {"execveat", "", make_execveat, IN_CHILD, {TEXT("/bin/true"), EXEC_ARGUMENTS, OF(environment)}},

    {"sigaction", "-prof", make_sigaction_prof, 0, {OF(action), OF(action)}},
    {"syscall",
     "-rt_sigaction-prof",
     make_number_sigaction_prof,
     0,
     {OF(kernel_action), OF(kernel_action)}}, /* the last: its number is given back */
};

enum { CALLS = sizeof(calls) / sizeof(*calls) };

/* A handler or a thread is no pointer that is read through. */
static const char *const without_pointers[] = {
    "signal",       "sigblock",     "sigsetmask",       "siggetmask",     "sighold",    "sigrelse",
    "bsd_signal",   "ssignal",      "__sysv_signal",    "sysv_signal",    "sigignore",  "sigset",
    "siginterrupt", "raise",        "gsignal",          "kill",           "killpg",     "tgkill",
    "sigqueue",     "pthread_kill", "pthread_sigqueue", "fork",           "__fork",     "_Fork",
    "vfork",        "daemon",       "sigpause",         "__xpg_sigpause", "__sigpause", "pause",
    "usleep",       "sleep",        "tcdrain",          "unshare",        "setns",      "_exit",
    "_Exit",        "abort",        "ptrace",           "setuid",         "setgid",     "seteuid",
    "setegid",      "setreuid",     "setregid",         "setresuid",      "setresgid",  "mlockall",
    "pthread_exit", "thrd_exit",    "pthread_cancel",
};

static int autobound(int type)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name.sun_family)) != 0)
        die("socket");
    return fd;
}

static void prepare_sockets(void)
{
    struct timeval limit = {.tv_usec = 2000};
    receiver_length = sizeof(receiver_name);
    sender = autobound(SOCK_DGRAM);
    receiver = autobound(SOCK_DGRAM);
    listener = autobound(SOCK_STREAM);
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (getsockname(receiver, (struct sockaddr *)&receiver_name, &receiver_length) != 0 ||
        connect(sender, (struct sockaddr *)&receiver_name, receiver_length) != 0 ||
        listen(listener, 5) != 0 || fcntl(receiver, F_SETFL, 0) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, stream) != 0 ||
        setsockopt(receiver, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0)
        die("sockets");
}

static void prepare_signals(void)
{
    sigset_t blocked;
    sigfillset(&all_signals);
    sigemptyset(&only_usr1);
    sigaddset(&only_usr1, SIGUSR1);
    sigemptyset(&only_usr2);
    sigaddset(&only_usr2, SIGUSR2);
    all_but_usr2 = all_signals;
    sigdelset(&all_but_usr2, SIGUSR2);
    blocked = only_usr1;
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    action = (struct sigaction){.sa_handler = SIG_IGN, .sa_mask = all_signals};
    kernel_action.handler = SIG_IGN;
}

static void prepare_descriptors(void)
{
    struct epoll_event is_ready = {.events = EPOLLIN};
    zero_fd = open("/dev/zero", O_RDONLY);
    null_fd = open("/dev/null", O_WRONLY);
    file_fd = memfd_create("one", 0);
    file2_fd = memfd_create("two", 0);
    epoll_idle = epoll_create1(0);
    epoll_ready = epoll_create1(0);
    if (pipe(idle) != 0 || pipe(ready) != 0 || pipe2(filled, O_NONBLOCK) != 0 ||
        write(ready[1], "", 1) != 1 || epoll_ctl(epoll_ready, EPOLL_CTL_ADD, ready[0], &is_ready) != 0 ||
        ftruncate(file_fd, 4096) != 0)
        die("descriptors");
    poll_idle = (struct pollfd){.fd = idle[0], .events = POLLIN};
    poll_ready = (struct pollfd){.fd = ready[0], .events = POLLIN};
    FD_SET(idle[0], &fds_idle);
}

static void prepare_calls(void)
{
    struct io_uring_params parameters = {0};
    prepare_descriptors();
    prepare_sockets();
    prepare_signals();
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
    syscall(SYS_io_setup, 4, &aio);
    syscall(SYS_io_setup, 4, &aio_done);
    syscall(SYS_capget, &capability_header, capabilities);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    part = (struct iovec){bytes, BYTES};
    message = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
    messages = (struct mmsghdr){.msg_hdr = message};
    request = (struct aiocb){.aio_fildes = file_fd,
                             .aio_buf = bytes,
                             .aio_nbytes = BYTES,
                             .aio_sigevent.sigev_notify = SIGEV_NONE};
    ring_wait = (struct io_uring_getevents_arg){.ts = (uintptr_t)&time_2ms};
    no_info.si_code = SI_QUEUE;
    sem_init(&semaphore, 0, 1);
    pthread_attr_init(&attributes);
    posix_spawn_file_actions_init(&file_actions);
    posix_spawnattr_init(&spawn_attributes);
    cfmakeraw(&termios);
}

static void remove_queues(void)
{
    semctl(semaphores, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
}

#endif
