/*
 * Rhythms: work that is locked to the program's own timers. For each of twenty lengths of a cycle, from 50 us
 * to 50 ms, a thread of that name works in work_one for a quarter of the cycle, in work_two for another
 * quarter, and then rests: in one of four waits, or by work that looks at the clock only.
 *
 *     target_rhythm MILLISECONDS    for each rhythm, one after the other
 *
 * What each function took is printed in nanoseconds:
 *
 *     rhythm NAME ONE TWO REST
 *
 * The clock is read once where one function gives way to the next, so that no time between them is missing.
 */
#include "target.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/timerfd.h>

static const unsigned cycles_us[] = {50,   75,   100,  150,  200,  250,  333,   500,   700,   1000,
                                     1500, 2000, 3000, 5000, 7000, 9000, 10000, 20000, 33000, 50000};

struct rhythm {
    char name[16];
    uint64_t cycle_ns, length_ns;
    unsigned way;
    int timer_fd;
    uint64_t one_ns, two_ns, rest_ns;
};

/* ---- work ---- */

KEEP_FRAME static uint64_t work_one(uint64_t end_ns)
{
    uint64_t now;
    while ((now = now_ns()) < end_ns)
        ;
    return now;
}

KEEP_FRAME static uint64_t work_two(uint64_t end_ns)
{
    uint64_t now;
    while ((now = now_ns()) < end_ns)
        ;
    return now;
}

/* ---- rest ---- */

typedef void wait_fn(struct rhythm *rhythm, uint64_t since_ns);

static void wait_relative(struct rhythm *rhythm, uint64_t since_ns)
{
    (void)since_ns;
    struct timespec rest = timespec_of(rhythm->cycle_ns / 2);
    nanosleep(&rest, NULL);
}

static void wait_absolute(struct rhythm *rhythm, uint64_t since_ns)
{
    struct timespec end = timespec_of(since_ns + rhythm->cycle_ns / 2);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static void wait_in_ppoll(struct rhythm *rhythm, uint64_t since_ns)
{
    (void)since_ns;
    struct timespec rest = timespec_of(rhythm->cycle_ns / 2);
    ppoll(NULL, 0, &rest, NULL);
}

/* A timer that has a period of its own, the cycle's. */
static void wait_for_timer(struct rhythm *rhythm, uint64_t since_ns)
{
    uint64_t count;
    (void)since_ns;
    if (read(rhythm->timer_fd, &count, sizeof(count)) != sizeof(count))
        die("timer");
}

static void wait_at_work(struct rhythm *rhythm, uint64_t since_ns)
{
    while (now_ns() < since_ns + rhythm->cycle_ns / 2)
        ;
}

static wait_fn *const ways[] = {wait_relative, wait_absolute, wait_in_ppoll, wait_for_timer, wait_at_work};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

KEEP_FRAME static uint64_t rest_now(struct rhythm *rhythm, uint64_t since_ns)
{
    ways[rhythm->way](rhythm, since_ns);
    return now_ns();
}

/* ---- rhythms ---- */

static void *play(void *argument)
{
    struct rhythm *rhythm = argument;
    pthread_setname_np(pthread_self(), rhythm->name);
    uint64_t from = now_ns(), end = from + rhythm->length_ns;
    while (from < end) {
        uint64_t one = work_one(from + rhythm->cycle_ns / 4);
        uint64_t two = work_two(one + rhythm->cycle_ns / 4);
        uint64_t rest = rest_now(rhythm, two);
        rhythm->one_ns += one - from;
        rhythm->two_ns += two - one;
        rhythm->rest_ns += rest - two;
        from = rest;
    }
    return NULL;
}

static void begin_timer(struct rhythm *rhythm)
{
    struct itimerspec period = {timespec_of(rhythm->cycle_ns), timespec_of(rhythm->cycle_ns)};
    rhythm->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (rhythm->timer_fd < 0 || timerfd_settime(rhythm->timer_fd, 0, &period, NULL) < 0)
        die("timerfd");
}

int main(int argc, char **argv)
{
    uint64_t length_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * NS_PER_MS;
    for (unsigned i = 0; i < sizeof(cycles_us) / sizeof(cycles_us[0]); i++) {
        struct rhythm rhythm = {
            .cycle_ns = cycles_us[i] * UINT64_C(1000), .length_ns = length_ns, .way = i % WAYS};
        pthread_t thread;
        snprintf(rhythm.name, sizeof(rhythm.name), "cycle-%u-us", cycles_us[i]);
        begin_timer(&rhythm);
        if (pthread_create(&thread, NULL, play, &rhythm))
            die("pthread_create");
        pthread_join(thread, NULL);
        close(rhythm.timer_fd);
        printf("rhythm %s %lu %lu %lu\n", rhythm.name, rhythm.one_ns, rhythm.two_ns, rhythm.rest_ns);
    }
    return 0;
}
