/*
 * forks COUNT exit|_exit: forks and waits for children one after the other, each of which sleeps for 1 ms and
 * ends by that function. Prints wall_ns, for all of them, and status_sum, which shows that each has ended as
 * it should.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_STATUS = 1, CHILD_NS = 1000 * 1000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void live(int by_exit)
{
    struct timespec rest = {.tv_nsec = CHILD_NS};
    nanosleep(&rest, NULL);
    if (by_exit)
        exit(CHILD_STATUS);
    _exit(CHILD_STATUS);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int by_exit = strcmp(argv[2], "exit") == 0;
    long status_sum = 0;
    uint64_t started_ns = now_ns();
    for (long left = atol(argv[1]); left > 0; left--) {
        pid_t child = fork();
        int status = 0;
        if (child == 0)
            live(by_exit);
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
            return 1;
        status_sum += WEXITSTATUS(status);
    }
    printf("wall_ns %llu\nstatus_sum %ld\n", (unsigned long long)(now_ns() - started_ns), status_sum);
    return 0;
}
