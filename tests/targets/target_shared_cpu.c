/*
 * THREADS SECONDS: so many busy threads share one CPU for so long, and then block until the process ends.
 * Prints for each what the kernel says when it is blocked, and of its first wait, before it ran for the first
 * time: "thread TID cpu NS rundelay NS first NS".
 */
#include "target.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { THREADS_MAX = 64 };

static pthread_barrier_t all_done;
static uint64_t end_ns;
static _Atomic pid_t tids[THREADS_MAX];
static unsigned long long first_delays_ns[THREADS_MAX];

struct clocks {
    unsigned long long cpu_ns, delay_ns;
};

static struct clocks clocks_of(pid_t tid)
{
    char path[64];
    struct clocks ret;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    FILE *schedstat = fopen(path, "r");
    if (!schedstat || fscanf(schedstat, "%llu %llu", &ret.cpu_ns, &ret.delay_ns) != 2)
        exit(77);
    fclose(schedstat);
    return ret;
}

__attribute__((noinline)) static void work(void)
{
    for (volatile int i = 0; i < 100000; i++)
        ;
}

static void *be_busy(void *at)
{
    char name[16];
    long number = (long)at;
    snprintf(name, sizeof name, "busy %ld", number);
    pthread_setname_np(pthread_self(), name);
    tids[number] = (pid_t)syscall(SYS_gettid);
    first_delays_ns[number] = clocks_of(tids[number]).delay_ns;
    while (now_ns() < end_ns)
        work();
    pthread_barrier_wait(&all_done);
    for (;;)
        pause();
    return NULL;
}

/* The third field of its stat, after the name, is S when it is blocked. */
static int is_blocked(pid_t tid)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *stat = fopen(path, "r");
    if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
        abort();
    fclose(stat);
    return state == 'S';
}

int main(int argc, char **argv)
{
    pthread_t thread;
    cpu_set_t one;
    long threads = argc > 2 ? atol(argv[1]) : 0;
    if (threads < 1 || threads > THREADS_MAX || sched_getaffinity(0, sizeof one, &one) != 0)
        return 2;
    for (int cpu = 0, has_one = 0; cpu < CPU_SETSIZE; cpu++) {
        if (has_one)
            CPU_CLR(cpu, &one);
        has_one |= CPU_ISSET(cpu, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
    end_ns = now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
    pthread_barrier_init(&all_done, NULL, (unsigned)threads + 1);
    for (long i = 0; i < threads; i++) {
        if (pthread_create(&thread, NULL, be_busy, (void *)i) != 0)
            return 2;
    }
    pthread_barrier_wait(&all_done);
    for (long i = 0; i < threads; i++) {
        while (!is_blocked(tids[i]))
            usleep(1000);
        struct clocks clocks = clocks_of(tids[i]);
        printf("thread %d cpu %llu rundelay %llu first %llu\n", tids[i], clocks.cpu_ns, clocks.delay_ns,
               first_delays_ns[i]);
    }
    return 0;
}
