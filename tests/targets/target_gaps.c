/*
 * Work by the CPU clock, for a process that is stopped and continued meanwhile: what a function uses of it is
 * the truth, however long it takes.
 *
 *     target_gaps SECONDS    of CPU time: a fifth of it in few, the rest in many; another thread only waits
 *
 * Prints "function NAME CPU" in nanoseconds, "wall NAME" of both threads together, and "switches N", how
 * often the working thread has lost its CPU.
 */
#include "target.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { FEW_MS = 2, MANY_MS = 8 };

static uint64_t begin_ns;

static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

KEEP_FRAME static uint64_t few(uint64_t end_ns)
{
    uint64_t now;
    while ((now = cpu_ns()) < end_ns)
        ;
    return now;
}

KEEP_FRAME static uint64_t many(uint64_t end_ns)
{
    uint64_t now;
    while ((now = cpu_ns()) < end_ns)
        ;
    return now;
}

static void *wait_for_end(void *lock)
{
    pthread_setname_np(pthread_self(), "waits");
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t waits;
    uint64_t few_ns = 0, many_ns = 0, from = cpu_ns();
    uint64_t end = from + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * NS_PER_S;
    begin_ns = now_ns();
    pthread_mutex_lock(&lock);
    if (pthread_create(&waits, NULL, wait_for_end, &lock))
        die("pthread_create");
    while (from < end) {
        uint64_t between = few(from + FEW_MS * NS_PER_MS), after = many(between + MANY_MS * NS_PER_MS);
        few_ns += between - from;
        many_ns += after - between;
        from = after;
    }
    pthread_mutex_unlock(&lock);
    pthread_join(waits, NULL);
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    printf("function few %lu\nfunction many %lu\nwall %lu\n", few_ns, many_ns, 2 * (now_ns() - begin_ns));
    printf("switches %ld\n", usage.ru_nivcsw + usage.ru_nvcsw);
    return 0;
}
