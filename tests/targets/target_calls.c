/*
 * Installs a filter past all hooks, so that the profiler does not see it, and then works and waits in every
 * way. A call that is neither in the list given nor its own ends the process (SIGSYS). Else its status is 3.
 *
 *     target_calls thread NUMBER...    the filter is the main thread's
 *     target_calls all NUMBER...       it is for all threads
 *     target_calls brief               no filter of its own, and it is soon over
 */
#include "filter.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WORKED = 3, FAILED = 4, WAIT_MS = 5, NS_PER_MS = 1000000 };

/* What is called below, by the main thread and by those it starts. */
static const long own_calls[] = {
    SYS_clock_nanosleep,
    SYS_ppoll,
    SYS_read,
    SYS_write,
    SYS_futex,
    SYS_exit_group,
    SYS_clone3,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_madvise,
    SYS_exit,
    SYS_rt_sigprocmask,
#ifdef SYS_poll
    SYS_poll,
#endif
};

static unsigned work_ms = 150, rounds = 20;
static int pipes[2];
static volatile bool is_over;

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NS_PER_MS;
}

/* A millisecond at a time: a pause of the machine takes one, not all. */
__attribute__((noinline)) void work(void)
{
    for (unsigned i = 0; i < work_ms; i++) {
        for (uint64_t begin = now_ms(); now_ms() == begin;)
            ;
    }
    __asm__ volatile("# work" ::: "memory");
}

/* From before the filter on. */
static void *feed(void *unused)
{
    struct timespec pause = {.tv_nsec = WAIT_MS * NS_PER_MS};
    (void)unused;
    while (!is_over) {
        nanosleep(&pause, NULL);
        if (write(pipes[1], "", 1) < 0)
            break;
    }
    return NULL;
}

static void *run_and_wait(void *unused)
{
    struct timespec pause = {.tv_nsec = WAIT_MS * NS_PER_MS};
    work();
    nanosleep(&pause, NULL);
    return unused;
}

static bool wait_in_every_way(void)
{
    bool is_right = true;
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    for (unsigned i = 0; i < rounds; i++) {
        struct timespec moment, pause = {.tv_nsec = WAIT_MS * NS_PER_MS};
        char byte;
        is_right &= nanosleep(&pause, NULL) == 0;
        is_right &= poll(NULL, 0, WAIT_MS) == 0;
        is_right &= read(pipes[0], &byte, 1) == 1;
        clock_gettime(CLOCK_REALTIME, &moment);
        moment.tv_sec += moment.tv_nsec >= 1000000000 - WAIT_MS * NS_PER_MS;
        moment.tv_nsec = (moment.tv_nsec + WAIT_MS * NS_PER_MS) % 1000000000;
        is_right &= sem_timedwait(&semaphore, &moment) < 0 && errno == ETIMEDOUT;
    }
    return is_right;
}

static bool start_threads(void)
{
    pthread_t threads[3];
    bool is_right = true;
    for (int i = 0; i < 3; i++)
        is_right &= pthread_create(&threads[i], NULL, run_and_wait, NULL) == 0;
    for (int i = 0; i < 3; i++)
        is_right &= pthread_join(threads[i], NULL) == 0;
    return is_right;
}

static bool restrict_calls(int argc, char **argv)
{
    static struct filter filter;
    filter_begin(&filter);
    for (size_t i = 0; i < sizeof(own_calls) / sizeof(own_calls[0]); i++)
        filter_add(&filter, own_calls[i], SECCOMP_RET_ALLOW);
    for (int i = 2; i < argc; i++)
        filter_add(&filter, atol(argv[i]), SECCOMP_RET_ALLOW);
    return filter_install(&filter, SECCOMP_RET_KILL_PROCESS,
                          strcmp(argv[1], "all") ? 0 : SECCOMP_FILTER_FLAG_TSYNC) == 0;
}

int main(int argc, char **argv)
{
    pthread_t feeder;
    bool is_brief = argc > 1 && !strcmp(argv[1], "brief");
    if (is_brief) {
        work_ms = 30;
        rounds = 2;
    }
    if (argc < 2 || pipe(pipes) < 0 || pthread_create(&feeder, NULL, feed, NULL) != 0)
        return FAILED;
    work();
    if (!is_brief && !restrict_calls(argc, argv))
        return FAILED;
    work();
    bool is_right = wait_in_every_way() && start_threads();
    is_over = true;
    pthread_join(feeder, NULL);
    return is_right ? WORKED : FAILED;
}
