/* Against what the kernel does: each wait is interrupted by a handler with SA_RESTART. */
/* test: not-emulated tsan */
#include "lib/unit.h"
#include "sample/remote_sample.h"
#include "proc/proc_tasks.h"
#include "sample/thread_stat.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t word;
static struct timespec long_time = {.tv_sec = 1000};
static int ends[2];
static struct thread_stats watches;

/* A call that blocks, with its arguments. */
struct wait {
    const char *name;
    long number;
    uint64_t arguments[6];
};

static pid_t waiter; /* atomic */

static void *wait_there(void *argument)
{
    __atomic_store_n(&waiter, gettid(), __ATOMIC_SEQ_CST);
    const struct wait *wait = argument;
    const uint64_t *a = wait->arguments;
    long status = syscall(wait->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return (void *)(intptr_t)(status < 0 ? errno : 0);
}

static void ignore(int number)
{
    (void)number;
}

/* Waits until it waits, or has ended. A call that is not restarted any more has a number of its own. */
static bool is_waiting_in(long number)
{
    enum thread_stat_state state;
    struct thread_stat_call call;
    struct thread_stat watch = {0};
    usleep(5000); /* until a signal has had its effect */
    do {
        usleep(1000);
        pid_t tid = __atomic_load_n(&waiter, __ATOMIC_SEQ_CST);
        state = tid ? thread_stat_call(&watches, &watch, tid, &call) : THREAD_STAT_RUNNING;
    } while (state == THREAD_STAT_RUNNING || (state == THREAD_STAT_KNOWN && call.number != number));
    thread_stat_close(&watches, &watch);
    return state == THREAD_STAT_KNOWN;
}

/* Signals it a few times; if it still waits then,
 * a signal whose handler does not ask for a restart ends it. */
static bool is_cut_short(const struct wait *wait)
{
    pthread_t thread;
    void *status = NULL;
    struct timespec limit;
    __atomic_store_n(&waiter, 0, __ATOMIC_SEQ_CST);
    pthread_create(&thread, NULL, wait_there, (void *)(uintptr_t)wait);
    for (int i = 0; i < 3 && is_waiting_in(wait->number); i++)
        pthread_kill(thread, SIGUSR1);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 1;
    bool has_ended = pthread_timedjoin_np(thread, &status, &limit) == 0;
    while (!has_ended) {
        pthread_kill(thread, SIGUSR2);
        usleep(1000);
        if (pthread_tryjoin_np(thread, NULL) == 0)
            return false;
    }
    return (intptr_t)status == EINTR;
}

#define ADDRESS(x) ((uint64_t)(uintptr_t)(x))

static void the_kernel_agrees(void **state)
{
    struct pollfd poll_set = {.fd = ends[0], .events = POLLIN};
    struct epoll_event event;
    int epoll = epoll_create1(0);
    char buffer[8];
    const uint64_t wait = FUTEX_WAIT | FUTEX_PRIVATE_FLAG, bitset = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
    struct timespec end = {.tv_sec = time(NULL) + 1000};
    const struct wait waits[] = {
        {"nanosleep", SYS_nanosleep, {ADDRESS(&long_time)}},
        {"clock_nanosleep", SYS_clock_nanosleep, {CLOCK_MONOTONIC, 0, ADDRESS(&long_time)}},
        {"ppoll", SYS_ppoll, {ADDRESS(&poll_set), 1, ADDRESS(&long_time), 0, 8}},
        {"epoll_pwait", SYS_epoll_pwait, {(uint64_t)epoll, ADDRESS(&event), 1, (uint64_t)-1, 0, 8}},
        {"pselect6", SYS_pselect6, {0, 0, 0, 0, ADDRESS(&long_time), 0}},
        {"futex, no limit", SYS_futex, {ADDRESS(&word), wait, 0, 0}},
        {"futex, time limit", SYS_futex, {ADDRESS(&word), wait, 0, ADDRESS(&long_time)}},
        {"futex, deadline", SYS_futex, {ADDRESS(&word), bitset, 0, ADDRESS(&end), 0, UINT32_MAX}},
        {"read", SYS_read, {(uint64_t)ends[0], ADDRESS(buffer), 1}},
        {"recvfrom", SYS_recvfrom, {(uint64_t)ends[0], ADDRESS(buffer), 1, 0}},
#ifdef SYS_poll
        {"poll", SYS_poll, {ADDRESS(&poll_set), 1, (uint64_t)-1}},
        {"pause", SYS_pause, {0}},
        {"epoll_wait", SYS_epoll_wait, {(uint64_t)epoll, ADDRESS(&event), 1, (uint64_t)-1}},
#endif
    };
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        print_message("%s\n", waits[i].name);
        assert_int_equal(is_cut_short(&waits[i]),
                         remote_sample_is_cut_short(waits[i].number, waits[i].arguments));
    }
    close(epoll);
}

static void outside_of_a_call_nothing_is_cut_short(void **state)
{
    assert_false(remote_sample_is_cut_short(-1, (uint64_t[6]){0}));
}

static int set_up(void **state)
{
    struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = 0;
    sigaction(SIGUSR2, &action, NULL);
    thread_stats_init(&watches, proc_tasks_open(-1), true);
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_agrees),
        cmocka_unit_test(outside_of_a_call_nothing_is_cut_short),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
