/*
 * Expensive to sample: threads that are all busy, deep in calls.
 *
 *     target_overhead_limit SECONDS
 *
 * Reports as target_threads does, but demands no share of a thread's time in its function:
 *
 *     thread NAME tid lifetime_ns 0 FUNCTION
 *     main lifetime_ns
 */
#include "target.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8, DEPTH = 300 };

struct life {
    pthread_t thread;
    char name[16];
    pid_t tid;
    uint64_t start_ns, end_ns;
};

static uint64_t seconds;

KEEP_FRAME static uint64_t be_deep(int levels, uint64_t end_ns)
{
    volatile uint64_t turns = 0;
    if (levels > 0)
        return be_deep(levels - 1, end_ns) + turns;
    while (now_ns() < end_ns)
        turns++;
    return turns;
}

static void *live(void *argument)
{
    struct life *life = argument;
    life->start_ns = now_ns();
    life->tid = gettid();
    pthread_setname_np(pthread_self(), life->name);
    be_deep(DEPTH, life->start_ns + seconds * NS_PER_S);
    life->end_ns = now_ns();
    return NULL;
}

int main(int count, char **arguments)
{
    static struct life lives[THREADS];
    uint64_t start_ns = now_ns();
    seconds = count > 1 ? strtoul(arguments[1], NULL, 10) : 1;
    for (int i = 0; i < THREADS; i++) {
        snprintf(lives[i].name, sizeof lives[i].name, "deep-%d", i);
        if (pthread_create(&lives[i].thread, NULL, live, &lives[i]) != 0)
            return 2;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(lives[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        printf("thread %s %d %ju 0 0 be_deep\n", lives[i].name, lives[i].tid,
               (uintmax_t)(lives[i].end_ns - lives[i].start_ns));
    printf("main %ju\n", (uintmax_t)(now_ns() - start_ns));
    return 0;
}
