/*
 * A real-time thread that has a CPU for half of the time: the sampler's too, where taskset leaves it no
 * other.
 *
 *     target_realtime SECONDS BURST_MS [UID]    UID: without privileges once the thread is there
 *
 * Prints "function NAME WALL" in nanoseconds for busy and idle; or "without PRIVILEGE" if it may not.
 */
#include "target.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { PRIORITY = 10 };

static pthread_mutex_t start = PTHREAD_MUTEX_INITIALIZER;
static uint64_t burst_ns, end_ns, busy_ns, idle_ns;

KEEP_FRAME static uint64_t busy(uint64_t until_ns)
{
    uint64_t now;
    while ((now = now_ns()) < until_ns)
        ;
    return now;
}

KEEP_FRAME static uint64_t idle(uint64_t until_ns)
{
    struct timespec until = timespec_of(until_ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return now_ns();
}

static void *alternate(void *unused)
{
    pthread_mutex_lock(&start);
    uint64_t from = now_ns();
    pthread_setname_np(pthread_self(), "realtime");
    while (from < end_ns) {
        uint64_t between = busy(from + burst_ns), after = idle(between + burst_ns);
        busy_ns += between - from;
        idle_ns += after - between;
        from = after;
    }
    return unused;
}

int main(int argc, char **argv)
{
    struct sched_param priority = {.sched_priority = PRIORITY};
    pthread_attr_t attributes;
    pthread_t thread;
    end_ns = now_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * NS_PER_S;
    burst_ns = (argc > 2 ? strtoull(argv[2], NULL, 10) : 10) * NS_PER_MS;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &priority);
    pthread_mutex_lock(&start);
    if (pthread_create(&thread, &attributes, alternate, NULL) != 0) {
        puts("without CAP_SYS_NICE");
        return 0;
    }
    if (argc > 3 && setuid((uid_t)atoi(argv[3])) != 0)
        die("setuid");
    pthread_mutex_unlock(&start);
    pthread_join(thread, NULL);
    printf("function busy %lu\nfunction idle %lu\n", busy_ns, idle_ns);
    return 0;
}
