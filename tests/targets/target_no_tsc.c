/*
 * A program that has the time stamp counter taken away (prctl PR_SET_TSC), computes, waits, makes a thread
 * and forks, without ever reading it. (An exec would be the end: the loader reads it.) Status 0, or 77 where
 * the kernel cannot take it away.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *rounds)
{
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < *(unsigned *)rounds; i++)
        sum += i;
    poll(NULL, 0, 20);
    usleep(20 * 1000);
    return NULL;
}

static void work_everywhere(void)
{
    unsigned rounds = 50 * 1000 * 1000;
    pthread_t thread;
    pthread_create(&thread, NULL, work, &rounds);
    work(&rounds);
    pthread_join(thread, NULL);
}

static int status_of_child(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        work_everywhere();
        _exit(0);
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

int main(void)
{
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) < 0)
        return 77;
    work_everywhere();
    int status = status_of_child();
    if (status != 0)
        fprintf(stderr, "the child ended with wait status %d\n", status);
    return status != 0;
}
