/*
 * Threads with short lives, each half of which is spent in a function of its own.
 *
 *     target_lives COUNT AT_ONCE LIFE_US KIND [killed]
 *
 * COUNT threads named "brief" live for LIFE_US each, up to AT_ONCE of them at a time: first in first_half,
 * then in second_half. KIND: busy (both run), asleep (both wait) or mixed (the first waits, the second runs).
 * At the end:
 *
 *     function NAME wall_ns cpu_ns       of all threads together
 *     lives wall_ns                      likewise, from each one's first line to its last
 *
 * killed: then the process is killed.
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { AT_ONCE_MAX = 64 };

struct spent {
    _Atomic uint64_t wall_ns, cpu_ns;
};

static struct spent first, second, lives;
static _Atomic long threads_left;
static uint64_t half_ns;
static bool is_first_busy, is_second_busy;

static void spend(uint64_t end_ns, bool is_busy)
{
    if (is_busy) {
        while (now_ns() < end_ns)
            ;
    } else {
        struct timespec end = timespec_of(end_ns);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
            ;
    }
}

KEEP_FRAME static void first_half(uint64_t end_ns)
{
    spend(end_ns, is_first_busy);
    KEEP_CALL();
}

KEEP_FRAME static void second_half(uint64_t end_ns)
{
    spend(end_ns, is_second_busy);
    KEEP_CALL();
}

struct moment {
    uint64_t wall_ns, cpu_ns;
};

static struct moment now(void)
{
    return (struct moment){now_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID)};
}

static void add(struct spent *spent, struct moment from, struct moment to)
{
    spent->wall_ns += to.wall_ns - from.wall_ns;
    spent->cpu_ns += to.cpu_ns - from.cpu_ns;
}

static void *live(void *unused)
{
    struct moment begin = now();
    prctl(PR_SET_NAME, "brief");
    first_half(begin.wall_ns + half_ns);
    struct moment middle = now();
    second_half(begin.wall_ns + 2 * half_ns);
    struct moment end = now();
    add(&first, begin, middle);
    add(&second, middle, end);
    add(&lives, begin, now());
    return unused;
}

static void *one_after_the_other(void *unused)
{
    pthread_t thread;
    prctl(PR_SET_NAME, "creator");
    while (--threads_left >= 0) {
        if (pthread_create(&thread, NULL, live, NULL) != 0)
            die("pthread_create");
        pthread_join(thread, NULL);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t creators[AT_ONCE_MAX];
    int at_once = argc >= 5 ? atoi(argv[2]) : 0;
    if (at_once < 1 || at_once > AT_ONCE_MAX)
        return 2;
    threads_left = atol(argv[1]);
    half_ns = strtoul(argv[3], NULL, 10) * 1000 / 2;
    is_first_busy = strcmp(argv[4], "busy") == 0;
    is_second_busy = strcmp(argv[4], "asleep") != 0;
    for (int i = 0; i < at_once; i++) {
        if (pthread_create(&creators[i], NULL, one_after_the_other, NULL) != 0)
            die("pthread_create");
    }
    for (int i = 0; i < at_once; i++)
        pthread_join(creators[i], NULL);
    printf("function first_half %ju %ju\n", (uintmax_t)first.wall_ns, (uintmax_t)first.cpu_ns);
    printf("function second_half %ju %ju\n", (uintmax_t)second.wall_ns, (uintmax_t)second.cpu_ns);
    printf("lives %ju\n", (uintmax_t)lives.wall_ns);
    fflush(stdout);
    if (argc > 5)
        kill(getpid(), SIGKILL);
    return 0;
}
