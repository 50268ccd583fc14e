/*
 * Main starts a thread and leaves at once: the recording goes on to the end of the last thread.
 *
 *     target_leave [HOW]     HOW: exit, main ends by the bare system call; else by pthread_exit
 */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_create(&thread, NULL, start, NULL);
    if (argc > 1 && strcmp(argv[1], "exit") == 0)
        syscall(SYS_exit, 0);
    pthread_exit(NULL);
}
