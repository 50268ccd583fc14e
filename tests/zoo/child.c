/*
 * What a profiled shell starts in many builds: threads, waits, memory, a child, a signal. It prints the same
 * each time, and ends with status 7.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, BLOCKS = 2000, STATUS = 7 };

static volatile sig_atomic_t seen;

static void on_signal(int number)
{
    seen = number;
}

static void *work(void *argument)
{
    unsigned long *sum = argument;
    for (int i = 0; i < BLOCKS; i++) {
        unsigned char *block = malloc(1024);
        memset(block, i, 1024);
        for (int j = 0; j < 1024; j++)
            *sum = *sum * 31 + block[j];
        free(block);
    }
    struct timespec rest = {.tv_nsec = 20 * 1000 * 1000};
    int failed = nanosleep(&rest, NULL);
    return failed ? (void *)"a sleep was cut short" : NULL;
}

static int forked_status(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(5);
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned long sums[THREADS] = {0};
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &sums[i]))
            return 1;
    for (int i = 0; i < THREADS; i++) {
        void *complaint = NULL;
        pthread_join(threads[i], &complaint);
        printf("%lx %s\n", sums[i], complaint ? (char *)complaint : "well");
    }
    raise(SIGUSR1);
    printf("user %d, signal %d, child %d\n", (int)geteuid(), (int)seen == SIGUSR1, forked_status());
    fflush(stdout);
    return STATUS;
}
