/*
 * What interposed functions cost when they have nothing to wait for.
 *
 *     hooks
 *
 * Report on stdout, for each function a line:
 *     NAME N            picoseconds a call, the least of many batches
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 400, CALLS = 500 };

static int epoll_fd, null_fd, zero_fd, pair[2], semaphores;
static sem_t semaphore;
static char byte;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* call: an expression. */
#define MEASURE(name, call)                                                                                  \
    do {                                                                                                     \
        uint64_t least_ns = UINT64_MAX;                                                                      \
        for (int batch = 0; batch < BATCHES; batch++) {                                                      \
            uint64_t begin_ns = now_ns();                                                                    \
            for (int i = 0; i < CALLS; i++)                                                                  \
                (void)!(call);                                                                               \
            uint64_t took_ns = now_ns() - begin_ns;                                                          \
            least_ns = took_ns < least_ns ? took_ns : least_ns;                                              \
        }                                                                                                    \
        printf("%s %ju\n", name, (uintmax_t)(least_ns * 1000 / CALLS));                                      \
    } while (0)

static void waits(void)
{
    static const struct timespec none, soon = {.tv_sec = 3600};
    struct pollfd ready = {.fd = null_fd, .events = POLLOUT};
    static sigset_t elsewhere;
    struct epoll_event event;
    sigset_t on_stack;
    int word = 0;
    sigemptyset(&on_stack);
    MEASURE("nanosleep", nanosleep(&none, NULL));
    MEASURE("poll", poll(&ready, 1, 0));
    MEASURE("poll-endless", poll(&ready, 1, -1));
    MEASURE("poll-limit", poll(&ready, 1, 3600 * 1000));
    MEASURE("ppoll-limit", ppoll(&ready, 1, &soon, NULL));
    MEASURE("ppoll-mask", ppoll(&ready, 1, &none, &on_stack));
    MEASURE("ppoll-static-mask", ppoll(&ready, 1, &none, &elsewhere));
    MEASURE("select", select(0, NULL, NULL, NULL, &(struct timeval){0}));
    MEASURE("epoll_wait", epoll_wait(epoll_fd, &event, 1, 0));
    MEASURE("epoll_pwait-mask", epoll_pwait(epoll_fd, &event, 1, 0, &on_stack));
    MEASURE("epoll_pwait2", epoll_pwait2(epoll_fd, &event, 1, &none, NULL));
    MEASURE("sem_wait", (sem_post(&semaphore), sem_wait(&semaphore)));
    MEASURE("semop", semop(semaphores, &(struct sembuf){.sem_op = 0}, 1));
    MEASURE("syscall", syscall(SYS_getppid));
    MEASURE("syscall-futex", syscall(SYS_futex, &word, 0, 1, &soon, NULL, 0));
}

static void transfers(void)
{
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    MEASURE("read", read(zero_fd, &byte, 1));
    MEASURE("write", write(null_fd, &byte, 1));
    MEASURE("writev", writev(null_fd, &part, 1));
    MEASURE("recv", recv(pair[0], &byte, 1, MSG_DONTWAIT));
    MEASURE("send", send(-1, &byte, 1, 0));
    MEASURE("accept", accept(-1, NULL, NULL));
    MEASURE("getrandom", getrandom(&byte, 1, 0));
}

static void signals(void)
{
    sigset_t set, old;
    struct sigaction action;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    MEASURE("sigaction", sigaction(SIGUSR1, NULL, &action));
    MEASURE("pthread_sigmask", pthread_sigmask(SIG_BLOCK, &set, NULL));
    MEASURE("sigprocmask", sigprocmask(SIG_UNBLOCK, &set, NULL));
    sigfillset(&set);
    MEASURE("sigmask-all", pthread_sigmask(SIG_SETMASK, &set, &old));
    MEASURE("sigmask-back", pthread_sigmask(SIG_SETMASK, &old, NULL));
}

/* With a second thread the C library makes system calls in another way, and a profiled program has one. */
static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
        return 2;
    epoll_fd = epoll_create1(0);
    null_fd = open("/dev/null", O_WRONLY);
    zero_fd = open("/dev/zero", O_RDONLY);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    sem_init(&semaphore, 0, 0);
    if (epoll_fd < 0 || null_fd < 0 || zero_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 2;
    prctl(PR_SET_TIMERSLACK, 1); /* a sleep of no time takes 50 us else */
    waits();
    transfers();
    signals();
    semctl(semaphores, 0, IPC_RMID);
    return 0;
}
