/* Main starts a thread and leaves at once: the recording goes on to the end of the last thread. */
#include <pthread.h>
#include <time.h>

__attribute__((noinline)) static void stay(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
        ;
    __asm__ volatile("" ::: "memory");
}

static void *start(void *unused)
{
    stay();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, start, NULL);
    pthread_exit(NULL);
}
