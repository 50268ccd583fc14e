/*
 * Short sleeps, one after the other.
 *
 *     sleeps COUNT
 *
 * Report on stdout:
 *     sleeps_ns N       wall time of all, of 1 ms each
 *     short N           how many lasted for less
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLEEP_NS = 1000000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int main(int count, char **arguments)
{
    static const struct timespec time = {.tv_nsec = SLEEP_NS};
    long sleeps = count > 1 ? strtol(arguments[1], NULL, 10) : 0, too_short = 0;
    uint64_t begin_ns = now_ns(), before_ns = begin_ns, after_ns = begin_ns;
    for (long i = 0; i < sleeps; i++, before_ns = after_ns) {
        if (nanosleep(&time, NULL) != 0)
            return 1;
        after_ns = now_ns();
        too_short += after_ns - before_ns < SLEEP_NS;
    }
    printf("sleeps_ns %ju\nshort %ld\n", (uintmax_t)(after_ns - begin_ns), too_short);
    return 0;
}
