/*
 * Threads that come and go at once.
 *
 *     create CREATORS COUNT     CREATORS threads create and join COUNT threads each, one after the other
 *
 * Report on stdout:
 *     wall_ns N         from the first creation to the last join
 *     cpu_ns N          CPU time of the whole process meanwhile, a profiler's threads included
 *     created N         threads
 *     and the lines of report_end
 */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t all_are_here;

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void *short_life(void *argument)
{
    return argument;
}

static void *creator(void *argument)
{
    unsigned long count = *(unsigned long *)argument;
    pthread_barrier_wait(&all_are_here);
    for (unsigned long i = 0; i < count; i++) {
        pthread_t thread;
        errno = pthread_create(&thread, NULL, short_life, NULL);
        if (errno)
            die("pthread_create");
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void measure(unsigned long creators, unsigned long count)
{
    pthread_t *threads = calloc(creators, sizeof(*threads));
    if (!threads || pthread_barrier_init(&all_are_here, NULL, (unsigned)creators + 1))
        die("set-up");
    for (unsigned long i = 0; i < creators; i++) {
        if (pthread_create(&threads[i], NULL, creator, &count))
            die("pthread_create");
    }
    uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), begin_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    pthread_barrier_wait(&all_are_here);
    for (unsigned long i = 0; i < creators; i++)
        pthread_join(threads[i], NULL);
    report_number("wall_ns", clock_ns(CLOCK_MONOTONIC) - begin_ns);
    report_number("cpu_ns", clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu_ns);
    report_number("created", creators * count);
    report_end();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    measure(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
    return 0;
}
