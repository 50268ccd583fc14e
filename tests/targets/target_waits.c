/*
 * Every wait that a signal handler cuts short, in a thread of its own (waits.h says what is checked).
 *
 *     target_waits MS
 */
#include "waits.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <threads.h>

enum { POLLED = 200 };

static int epoll_fd, semaphores, queue;
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

/* ---- ended by a signal ---- */

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

/* Without time to wait no call sleeps, not even one that a signal of ours has interrupted. (One that does is
 * woken by the helper.) */
static void without_time(struct waiter *waiter)
{
    struct pollfd many[POLLED];
    struct timespec no_time = {0};
    for (int i = 0; i < POLLED; i++)
        many[i] = (struct pollfd){.fd = epoll_fd, .events = POLLIN};
    while (now_ns() < waiter->begin_ns + 5 * NS_PER_MS) {
        expect(waiter, poll(many, POLLED, 0) == 0, "poll: %s", strerrorname_np(errno));
        expect(waiter, ppoll(many, POLLED, &no_time, NULL) == 0, "ppoll: %s", strerrorname_np(errno));
        expect(waiter, select(0, NULL, NULL, NULL, &(struct timeval){0}) == 0, "select: %s",
               strerrorname_np(errno));
        expect(waiter, epoll_wait(epoll_fd, &(struct epoll_event){0}, 1, 0) == 0, "epoll_wait: %s",
               strerrorname_np(errno));
    }
    usleep(SHORT_MS * 1000);
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
    {.name = "without-time", .call = without_time, .signal = RESTARTING},
    {.name = "sem_timedwait", .call = by_sem_timedwait},
    {.name = "sem_clockwait", .call = by_sem_clockwait},
    {.name = "semtimedop", .call = by_semtimedop},
    {.name = "sigtimedwait", .call = by_sigtimedwait},
    {.name = "pause", .call = by_pause, .signal = RESTARTING},
    {.name = "sigsuspend", .call = by_sigsuspend, .signal = RESTARTING},
    {.name = "sigwaitinfo", .call = by_sigwaitinfo, .signal = RESTARTING},
    {.name = "nanosleep-ended", .call = nanosleep_ended, .signal = RESTARTING},
    {.name = "poll-ended", .call = poll_ended, .signal = RESTARTING},
    {.name = "poll-endless-ended", .call = endless_poll_ended, .signal = RESTARTING},
    {.name = "ppoll-ended", .call = ppoll_ended, .signal = RESTARTING},
    {.name = "select-ended", .call = select_ended, .signal = RESTARTING},
    {.name = "epoll_wait-ended", .call = epoll_wait_ended, .signal = RESTARTING},
    {.name = "sem_timedwait-ended", .call = sem_wait_ended, .signal = RESTARTING},
    {.name = "semop-ended", .call = semop_ended, .signal = RESTARTING},
    {.name = "nanosleep-cancelled", .call = cancelled_nanosleep},
    {.name = "poll-cancelled", .call = cancelled_poll},
    {.name = "sem_wait-cancelled", .call = cancelled_sem_wait},
    {.name = "msgrcv-ended", .call = msgrcv_ended, .signal = RESTARTING},
};

int main(int count, char **arguments)
{
    sigemptyset(&no_signals);
    sigemptyset(&only_usr2);
    sigaddset(&only_usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &only_usr2, NULL);
    epoll_fd = epoll_create1(0);
    semaphores = semget(IPC_PRIVATE, 2, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    int status = run_waiters(waiters, sizeof(waiters) / sizeof(waiters[0]),
                             count > 1 ? strtoul(arguments[1], NULL, 10) : 1000);
    semctl(semaphores, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    return status;
}
