/*
 * Every wait that a signal handler cuts short, in a thread of its own: does it last as long as asked, return
 * what it would return, and does a signal of the program's own still end it?
 *
 *     target_waits MS
 *
 * For so long each thread makes its call again and again. Report on stdout, a line for each:
 *
 *     wait NAME CALLS BAD [what the first bad one was]
 *
 * The status is 1 when there is a bad one.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

enum {
    SHORT_MS = 30,
    NEVER_MS = 2000,
    AGAIN_TURNS = 100 /* of the helper, until it gives up waiting for the first signal */,
    UNTOUCHED = 12345
};

struct waiter {
    const char *name;
    void (*call)(struct waiter *waiter);
    bool is_signalled; /* a helper sends SIGUSR1 some milliseconds after each call has begun */
    pthread_t thread, helper;
    atomic_int tid;
    atomic_uint begun, ended;
    unsigned calls, bad;
    char what[96];
    uint64_t begin_ns;
};

static uint64_t end_ns;
static int epoll_fd, semaphores, queue;
static __thread unsigned handled;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct timespec span(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

static struct timespec moment(clockid_t clock, uint64_t ns)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return span((uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec + ns);
}

__attribute__((format(printf, 3, 4))) static void expect(struct waiter *waiter, bool is_good,
                                                         const char *format, ...)
{
    va_list arguments;
    if (is_good)
        return;
    va_start(arguments, format);
    if (waiter->bad++ == 0)
        vsnprintf(waiter->what, sizeof(waiter->what), format, arguments);
    va_end(arguments);
}

/* It gave what it gives when nothing comes, and not before the time. */
static void expect_end(struct waiter *waiter, int result, int expected, int error, int expected_error,
                       uint64_t ms)
{
    uint64_t took_ns = now_ns() - waiter->begin_ns;
    expect(waiter, result == expected && (result != -1 || error == expected_error), "returned %d, %s", result,
           strerrorname_np(error));
    expect(waiter, took_ns >= ms * NS_PER_MS, "took %ju us of %ju ms", (uintmax_t)took_ns / 1000,
           (uintmax_t)ms);
}

#define SHORT(name, expected, expected_error, wait)                                                          \
    static void name(struct waiter *waiter)                                                                  \
    {                                                                                                        \
        struct timespec time = span(SHORT_MS * NS_PER_MS);                                                   \
        (void)time;                                                                                          \
        errno = 0;                                                                                           \
        int result = (int)(wait);                                                                            \
        expect_end(waiter, result, expected, errno, expected_error, SHORT_MS);                               \
    }

static sigset_t no_signals, only_usr2;

SHORT(by_usleep, 0, 0, usleep(SHORT_MS * 1000))
SHORT(by_absolute, 0, 0,
      (time = moment(CLOCK_REALTIME, SHORT_MS *NS_PER_MS),
       clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL)))
SHORT(by_poll, 0, 0, poll(NULL, 0, SHORT_MS))
SHORT(by_ppoll, 0, 0, ppoll(NULL, 0, &time, &no_signals))
SHORT(by_pselect, 0, 0, pselect(0, NULL, NULL, NULL, &time, &no_signals))
SHORT(by_epoll_wait, 0, 0, epoll_wait(epoll_fd, &(struct epoll_event){0}, 1, SHORT_MS))
SHORT(by_epoll_pwait, 0, 0, epoll_pwait(epoll_fd, &(struct epoll_event){0}, 1, SHORT_MS, &no_signals))
SHORT(by_epoll_pwait2, 0, 0, epoll_pwait2(epoll_fd, &(struct epoll_event){0}, 1, &time, NULL))
SHORT(by_sem_timedwait, -1, ETIMEDOUT,
      (time = moment(CLOCK_REALTIME, SHORT_MS *NS_PER_MS), sem_timedwait(&(sem_t){0}, &time)))
SHORT(by_sem_clockwait, -1, ETIMEDOUT,
      (time = moment(CLOCK_MONOTONIC, SHORT_MS *NS_PER_MS),
       sem_clockwait(&(sem_t){0}, CLOCK_MONOTONIC, &time)))
SHORT(by_semtimedop, -1, EAGAIN,
      semtimedop(semaphores, &(struct sembuf){.sem_num = 0, .sem_op = -1}, 1, &time))
SHORT(by_sigtimedwait, -1, EAGAIN, sigtimedwait(&only_usr2, NULL, &time))

/* What is left is told only when there is something. */
static void by_nanosleep(struct waiter *waiter)
{
    struct timespec time = span(SHORT_MS * NS_PER_MS), left = {UNTOUCHED, UNTOUCHED};
    int result = nanosleep(&time, &left);
    expect_end(waiter, result, 0, errno, 0, SHORT_MS);
    expect(waiter, left.tv_sec == UNTOUCHED && left.tv_nsec == UNTOUCHED, "left was written to");
}

static void by_clock_nanosleep(struct waiter *waiter)
{
    struct timespec time = span(SHORT_MS * NS_PER_MS), left = {UNTOUCHED, UNTOUCHED};
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &left);
    expect_end(waiter, error, 0, 0, 0, SHORT_MS);
    expect(waiter, left.tv_sec == UNTOUCHED && left.tv_nsec == UNTOUCHED, "left was written to");
}

static void by_thrd_sleep(struct waiter *waiter)
{
    struct timespec time = span(SHORT_MS * NS_PER_MS);
    expect_end(waiter, thrd_sleep(&time, NULL), 0, errno, 0, SHORT_MS);
}

static void by_sleep(struct waiter *waiter)
{
    errno = UNTOUCHED;
    expect_end(waiter, (int)sleep(1), 0, 0, 0, 1000);
    expect(waiter, errno == UNTOUCHED, "errno %d", errno);
}

/* Linux tells what is left. */
static void by_select(struct waiter *waiter)
{
    struct timeval time = {.tv_usec = SHORT_MS * 1000};
    int result = select(0, NULL, NULL, NULL, &time);
    expect_end(waiter, result, 0, errno, 0, SHORT_MS);
    expect(waiter, time.tv_sec == 0 && time.tv_usec == 0, "left %ld us", (long)time.tv_usec);
}

static void by_select_of_a_pipe(struct waiter *waiter)
{
    int ends[2];
    fd_set reads;
    struct timeval time = {.tv_usec = SHORT_MS * 1000};
    if (pipe(ends) != 0)
        return;
    FD_ZERO(&reads);
    FD_SET(ends[0], &reads);
    int result = select(ends[0] + 1, &reads, NULL, NULL, &time);
    expect_end(waiter, result, 0, errno, 0, SHORT_MS);
    close(ends[0]);
    close(ends[1]);
}

/* ---- that a signal of the program's ends, and nothing else ---- */

static void on_signal(int number)
{
    (void)number;
    handled++;
}

static void expect_signal(struct waiter *waiter, int result, int error, unsigned before)
{
    expect(waiter, result == -1 && error == EINTR, "returned %d, %s", result, strerrorname_np(error));
    expect(waiter, handled != before, "returned without a signal");
    expect(waiter, handled <= before + 1, "went on after a signal");
}

#define SIGNALLED(name, wait)                                                                                \
    static void name(struct waiter *waiter)                                                                  \
    {                                                                                                        \
        struct timespec time = span(NEVER_MS * NS_PER_MS);                                                   \
        unsigned before = handled;                                                                           \
        (void)time;                                                                                          \
        errno = 0;                                                                                           \
        int result = (int)(wait);                                                                            \
        expect_signal(waiter, result, errno, before);                                                        \
    }

SIGNALLED(by_pause, pause())
SIGNALLED(by_sigsuspend, sigsuspend(&no_signals))
SIGNALLED(by_sigwaitinfo, sigwaitinfo(&only_usr2, NULL))
SIGNALLED(poll_ended, poll(NULL, 0, NEVER_MS))
SIGNALLED(endless_poll_ended, poll(NULL, 0, -1))
SIGNALLED(ppoll_ended, ppoll(NULL, 0, &time, &no_signals))
SIGNALLED(select_ended, select(0, NULL, NULL, NULL, &(struct timeval){.tv_sec = NEVER_MS / 1000}))
SIGNALLED(epoll_wait_ended, epoll_wait(epoll_fd, &(struct epoll_event){0}, 1, -1))
SIGNALLED(sem_wait_ended,
          (time = moment(CLOCK_REALTIME, NEVER_MS *NS_PER_MS), sem_timedwait(&(sem_t){0}, &time)))
SIGNALLED(semop_ended, semop(semaphores, &(struct sembuf){.sem_num = 1, .sem_op = -1}, 1))
SIGNALLED(msgrcv_ended, msgrcv(queue, &(struct {
                                   long type;
                                   char text[8];
                               }){0},
                               8, 1, 0))

/* And what is left is told. */
static void nanosleep_ended(struct waiter *waiter)
{
    struct timespec time = span(NEVER_MS * NS_PER_MS), left = {UNTOUCHED, UNTOUCHED};
    unsigned before = handled;
    int result = nanosleep(&time, &left);
    uint64_t took_ns = now_ns() - waiter->begin_ns;
    uint64_t left_ns = (uint64_t)left.tv_sec * NS_PER_S + (uint64_t)left.tv_nsec;
    expect_signal(waiter, result, errno, before);
    expect(waiter, left_ns < NEVER_MS * NS_PER_MS && left_ns + took_ns >= NEVER_MS * NS_PER_MS,
           "%ju us and %ju us left", (uintmax_t)took_ns / 1000, (uintmax_t)left_ns / 1000);
}

/* Whether it sleeps in the kernel: a thread that has begun its call may still wait for a processor. */
static bool is_asleep(const struct waiter *waiter)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)atomic_load(&waiter->tid));
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    const char *state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return state && !strncmp(state, ") S", 3);
}

/* ---- that a cancelled thread leaves a wait as it entered it ---- */

enum cancelled_in { IN_NANOSLEEP, IN_POLL, IN_SEM_WAIT };

struct cancelled {
    enum cancelled_in wait;
    bool has_signal_blocked; /* in its cleanup handler */
    int slept;
};

static void clean_up(void *argument)
{
    struct cancelled *cancelled = argument;
    struct timespec time = span(NS_PER_MS);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    cancelled->has_signal_blocked = sigismember(&mask, SIGUSR1) || sigismember(&mask, SIGTERM);
    cancelled->slept = nanosleep(&time, NULL);
}

static void *wait_to_be_cancelled(void *argument)
{
    struct cancelled *cancelled = argument;
    struct timespec time = span(NEVER_MS * NS_PER_MS);
    pthread_cleanup_push(clean_up, argument);
    if (cancelled->wait == IN_NANOSLEEP)
        nanosleep(&time, NULL);
    else if (cancelled->wait == IN_POLL)
        poll(NULL, 0, -1);
    else
        sem_wait(&(sem_t){0});
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancel_in(struct waiter *waiter, enum cancelled_in wait)
{
    struct timespec grace = span(5 * NS_PER_MS);
    struct cancelled cancelled = {.wait = wait};
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, wait_to_be_cancelled, &cancelled);
    nanosleep(&grace, NULL);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    expect(waiter, result == PTHREAD_CANCELED, "was not cancelled");
    expect(waiter, !cancelled.has_signal_blocked, "its cleanup handler has signals blocked");
    expect(waiter, cancelled.slept == 0, "its cleanup handler slept too little");
}

static void cancelled_nanosleep(struct waiter *waiter)
{
    cancel_in(waiter, IN_NANOSLEEP);
}

static void cancelled_poll(struct waiter *waiter)
{
    cancel_in(waiter, IN_POLL);
}

static void cancelled_sem_wait(struct waiter *waiter)
{
    cancel_in(waiter, IN_SEM_WAIT);
}

/* ---- */

static void *send_signals(void *argument)
{
    struct waiter *waiter = argument;
    struct timespec grace = span(7 * NS_PER_MS);
    unsigned done = 0, turns = 0;
    while (now_ns() < end_ns || atomic_load(&waiter->begun) != atomic_load(&waiter->ended)) {
        unsigned begun = atomic_load(&waiter->begun);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &grace, NULL);
        turns = begun == done ? turns + 1 : 0;
        if ((begun != done || turns == AGAIN_TURNS) && begun != atomic_load(&waiter->ended) &&
            is_asleep(waiter)) {
            pthread_kill(waiter->thread, SIGUSR1);
            done = begun;
            turns = 0;
        }
    }
    return NULL;
}

static void *wait_again_and_again(void *argument)
{
    struct waiter *waiter = argument;
    atomic_store(&waiter->tid, gettid());
    while (now_ns() < end_ns) {
        waiter->begin_ns = now_ns();
        atomic_fetch_add(&waiter->begun, 1);
        waiter->call(waiter);
        atomic_fetch_add(&waiter->ended, 1);
        waiter->calls++;
    }
    return NULL;
}

static struct waiter waiters[] = {
    {.name = "nanosleep", .call = by_nanosleep},
    {.name = "clock_nanosleep", .call = by_clock_nanosleep},
    {.name = "clock_nanosleep-absolute", .call = by_absolute},
    {.name = "usleep", .call = by_usleep},
    {.name = "sleep", .call = by_sleep},
    {.name = "thrd_sleep", .call = by_thrd_sleep},
    {.name = "poll", .call = by_poll},
    {.name = "ppoll", .call = by_ppoll},
    {.name = "select", .call = by_select},
    {.name = "select-pipe", .call = by_select_of_a_pipe},
    {.name = "pselect", .call = by_pselect},
    {.name = "epoll_wait", .call = by_epoll_wait},
    {.name = "epoll_pwait", .call = by_epoll_pwait},
    {.name = "epoll_pwait2", .call = by_epoll_pwait2},
    {.name = "sem_timedwait", .call = by_sem_timedwait},
    {.name = "sem_clockwait", .call = by_sem_clockwait},
    {.name = "semtimedop", .call = by_semtimedop},
    {.name = "sigtimedwait", .call = by_sigtimedwait},
    {.name = "pause", .call = by_pause, .is_signalled = true},
    {.name = "sigsuspend", .call = by_sigsuspend, .is_signalled = true},
    {.name = "sigwaitinfo", .call = by_sigwaitinfo, .is_signalled = true},
    {.name = "nanosleep-ended", .call = nanosleep_ended, .is_signalled = true},
    {.name = "poll-ended", .call = poll_ended, .is_signalled = true},
    {.name = "poll-endless-ended", .call = endless_poll_ended, .is_signalled = true},
    {.name = "ppoll-ended", .call = ppoll_ended, .is_signalled = true},
    {.name = "select-ended", .call = select_ended, .is_signalled = true},
    {.name = "epoll_wait-ended", .call = epoll_wait_ended, .is_signalled = true},
    {.name = "sem_timedwait-ended", .call = sem_wait_ended, .is_signalled = true},
    {.name = "semop-ended", .call = semop_ended, .is_signalled = true},
    {.name = "nanosleep-cancelled", .call = cancelled_nanosleep},
    {.name = "poll-cancelled", .call = cancelled_poll},
    {.name = "sem_wait-cancelled", .call = cancelled_sem_wait},
    {.name = "msgrcv-ended", .call = msgrcv_ended, .is_signalled = true},
};

enum { WAITERS = sizeof(waiters) / sizeof(waiters[0]) };

static int report(void)
{
    unsigned bad = 0;
    for (int i = 0; i < WAITERS; i++) {
        printf("wait %s %u %u %s\n", waiters[i].name, waiters[i].calls, waiters[i].bad, waiters[i].what);
        bad += waiters[i].bad;
    }
    return bad > 0;
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    end_ns = now_ns() + (count > 1 ? strtoul(arguments[1], NULL, 10) : 1000) * NS_PER_MS;
    sigemptyset(&no_signals);
    sigemptyset(&only_usr2);
    sigaddset(&only_usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &only_usr2, NULL);
    sigaction(SIGUSR1, &action, NULL);
    epoll_fd = epoll_create1(0);
    semaphores = semget(IPC_PRIVATE, 2, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    for (int i = 0; i < WAITERS; i++) {
        pthread_create(&waiters[i].thread, NULL, wait_again_and_again, &waiters[i]);
        if (waiters[i].is_signalled)
            pthread_create(&waiters[i].helper, NULL, send_signals, &waiters[i]);
    }
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(waiters[i].thread, NULL);
        if (waiters[i].is_signalled)
            pthread_join(waiters[i].helper, NULL);
    }
    semctl(semaphores, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    return report();
}
