/*
 * Waits a while and ends, and says at its very end what it can see of a profiler that runs another program
 * then: children that its wait finds, SIGCHLD, descriptors, its directory.
 */
#include "target.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static volatile sig_atomic_t children;

static void count_child(int number)
{
    (void)number;
    children++;
}

KEEP_FRAME static void waits_a_while(void)
{
    struct timespec pause = {0, 400 * NS_PER_MS};
    nanosleep(&pause, NULL);
    KEEP_CALL();
}

/* Another thread, which goes on while the process ends. */
static void *watch(void *unused)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid > 0 || children)
            abort();
        usleep(1000);
    }
    return unused;
}

static void report(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    printf("%d descriptors, %d children\n", count, (int)children);
    fflush(stdout);
}

int main(void)
{
    pthread_t watcher;
    signal(SIGCHLD, count_child);
    atexit(report);
    if (pthread_create(&watcher, NULL, watch, NULL) != 0)
        return 1;
    waits_a_while();
    return 7;
}
