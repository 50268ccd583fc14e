/*
 * What must not notice that somebody attaches to it and leaves again, for e2e_attach.sh.
 *
 *     target_attached work        threads that wait, run and get signals, until stdin ends
 *     target_attached trace PID   traces that process until stdin ends
 *     target_attached private     is not dumpable, until stdin ends
 *     target_attached zombie      has a child that has ended, until stdin ends; prints the child's pid
 *
 * Each prints "ready" first. work prints at its end how many calls ended early, how many signals were sent
 * and handled, whether a wait without end came back, and who traces it.
 *
 * The short waits end many times a second. So a profiler that has found a thread running stops it now and
 * then when it has just begun to wait.
 */
#include "target.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { WAIT_MS = 1, SPIN_NS = 200000 };

static bool is_over, is_last_sent;                      /* atomic */
static unsigned cut_short, waits, woken, sent, handled; /* atomic */
static int never;                                       /* an eventfd that nobody writes to */
static sem_t is_handled;

static bool goes_on(void)
{
    return !__atomic_load_n(&is_over, __ATOMIC_SEQ_CST);
}

static void count(unsigned *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
}

KEEP_FRAME static void spin(void)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + SPIN_NS;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        KEEP_CALL();
}

/* ---- short waits ---- */

static int wait_in_epoll(int epoll)
{
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, WAIT_MS);
}

static int wait_in_sleep(int unused)
{
    const struct timespec time = {.tv_nsec = WAIT_MS * 1000000};
    (void)unused;
    errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    return errno ? -1 : 0;
}

static int wait_in_poll(int unused)
{
    struct pollfd pollfd = {.fd = never, .events = POLLIN};
    (void)unused;
    return poll(&pollfd, 1, WAIT_MS);
}

static int wait_in_select(int unused)
{
    struct timeval time = {.tv_usec = WAIT_MS * 1000};
    (void)unused;
    return select(0, NULL, NULL, NULL, &time);
}

static int wait_in_semop(int semaphores)
{
    struct sembuf operation = {.sem_op = -1};
    const struct timespec time = {.tv_nsec = WAIT_MS * 1000000};
    return semtimedop(semaphores, &operation, 1, &time);
}

static int wait_for_signal(int unused)
{
    sigset_t set;
    const struct timespec time = {.tv_nsec = WAIT_MS * 1000000};
    (void)unused;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return sigtimedwait(&set, NULL, &time);
}

static int wait_for_data(int socket)
{
    char byte;
    return (int)recv(socket, &byte, 1, 0);
}

typedef int wait_fn(int object);

struct waiter {
    wait_fn *wait;
    int object;
    pthread_t thread;
};

KEEP_FRAME static void wait_shortly(struct waiter *waiter)
{
    errno = 0;
    if (waiter->wait(waiter->object) < 0 && errno == EINTR)
        count(&cut_short);
    count(&waits);
    KEEP_CALL();
}

static void *run_waiter(void *argument)
{
    while (goes_on()) {
        wait_shortly(argument);
        spin();
    }
    return NULL;
}

static int make_socket(void)
{
    int pair[2];
    const struct timeval time = {.tv_usec = WAIT_MS * 1000};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time))
        die("socketpair");
    return pair[0];
}

/* ---- the other threads ---- */

KEEP_FRAME static void wait_for_ever(void)
{
    struct epoll_event event;
    int epoll = epoll_create1(0);
    if (epoll_wait(epoll, &event, 1, -1) < 0 && goes_on())
        count(&woken);
    KEEP_CALL();
}

static void *run_long(void *argument)
{
    wait_for_ever();
    return argument;
}

static void handle(int number)
{
    (void)number;
    count(&handled);
    sem_post(&is_handled);
}

static void *run_handler(void *argument)
{
    while (!__atomic_load_n(&is_last_sent, __ATOMIC_SEQ_CST))
        spin();
    return argument;
}

/* One signal after the other, so that none merges with another; at once, so that one comes at any moment. */
static void *run_sender(void *argument)
{
    while (goes_on()) {
        count(&sent);
        if (pthread_kill(*(pthread_t *)argument, SIGUSR2))
            break;
        while (sem_wait(&is_handled) < 0)
            KEEP_CALL();
    }
    return NULL;
}

static void *run_short(void *argument)
{
    spin();
    return argument;
}

/* Threads that begin and end. */
static void *run_maker(void *argument)
{
    pthread_t thread;
    while (goes_on()) {
        if (pthread_create(&thread, NULL, run_short, NULL) || pthread_join(thread, NULL))
            die("pthread_create");
        wait_in_sleep(0);
    }
    return argument;
}

static void start(pthread_t *thread, void *routine(void *), void *argument)
{
    if (pthread_create(thread, NULL, routine, argument))
        die("pthread_create");
}

/* ---- the modes ---- */

static void print_tracer(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "TracerPid:", strlen("TracerPid:")) == 0)
            printf("tracer %d\n", atoi(line + strlen("TracerPid:")));
    }
    if (status)
        fclose(status);
}

static void until_stdin_ends(void)
{
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        KEEP_CALL();
}

static int work(void)
{
    struct waiter waiters[] = {{.wait = wait_in_epoll, .object = epoll_create1(0)},
                               {.wait = wait_in_sleep},
                               {.wait = wait_in_poll},
                               {.wait = wait_in_select},
                               {.wait = wait_in_semop, .object = semget(IPC_PRIVATE, 1, 0600)},
                               {.wait = wait_for_signal},
                               {.wait = wait_for_data, .object = make_socket()}};
    enum { WAITERS = sizeof waiters / sizeof *waiters };
    enum { HANDLER, SENDER, MAKER, OTHERS };
    pthread_t others[OTHERS], unused;
    signal(SIGUSR2, handle);
    sem_init(&is_handled, 0, 0);
    never = eventfd(0, 0);
    start(&unused, run_long, NULL);
    start(&others[HANDLER], run_handler, NULL);
    start(&others[SENDER], run_sender, &others[HANDLER]);
    start(&others[MAKER], run_maker, NULL);
    for (int i = 0; i < WAITERS; i++)
        start(&waiters[i].thread, run_waiter, &waiters[i]);
    until_stdin_ends();
    __atomic_store_n(&is_over, true, __ATOMIC_SEQ_CST);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(waiters[i].thread, NULL);
    sem_post(&is_handled); /* the sender waits for a signal that was lost */
    pthread_join(others[SENDER], NULL);
    __atomic_store_n(&is_last_sent, true, __ATOMIC_SEQ_CST);
    pthread_join(others[HANDLER], NULL);
    pthread_join(others[MAKER], NULL);
    semctl(waiters[4].object, 0, IPC_RMID);
    printf("cut short %u of %s\nwoken %u\nsignals lost %u of %s\n", cut_short, waits ? "many" : "none", woken,
           sent - handled, sent ? "many" : "none");
    print_tracer();
    return 0;
}

static int trace(pid_t pid)
{
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        die("PTRACE_SEIZE");
    until_stdin_ends();
    return 0;
}

static int make_zombie(void)
{
    pid_t child = fork();
    siginfo_t ended;
    if (child == 0)
        _exit(0);
    waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT);
    printf("%d\n", (int)child);
    until_stdin_ends();
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "work") == 0)
        return work();
    if (strcmp(mode, "trace") == 0 && argc > 2)
        return trace((pid_t)atoi(argv[2]));
    if (strcmp(mode, "zombie") == 0)
        return make_zombie();
    if (strcmp(mode, "private") == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        until_stdin_ends();
        return 0;
    }
    return 2;
}
