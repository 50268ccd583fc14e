/*
 * Times one run of a program from outside, like env(1) with a clock:
 *
 *     stopwatch [VAR=VALUE...] PROGRAM [ARGUMENT...]
 *
 * The variables reach the program only: what is preloaded into it is not preloaded into the stopwatch. After
 * what the program prints, on stdout: started_ns N      CLOCK_MONOTONIC before the program was created
 *     reaped_ns N       and after it had been waited for
 *     child_cpu_ns N    user and system time, from before the exec to the end
 *     max_rss_kib N     its largest resident set; not below the stopwatch's own, which is small
 *     status N          128 + signal when a signal ended it
 */
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

/* The present environment and then the first count words: of two with one name, getenv finds the first. */
static char **environment_with(char **words, size_t count)
{
    extern char **environ;
    size_t present = 0;
    while (environ[present])
        present++;
    char **environment = calloc(present + count + 1, sizeof(*environment));
    if (!environment)
        exit(2);
    memcpy(environment, words, count * sizeof(*environment));
    memcpy(environment + count, environ, present * sizeof(*environment));
    return environment;
}

static void report(const struct rusage *usage, uint64_t started_ns, uint64_t reaped_ns, int status)
{
    printf("started_ns %llu\nreaped_ns %llu\nchild_cpu_ns %llu\nmax_rss_kib %ld\nstatus %d\n",
           (unsigned long long)started_ns, (unsigned long long)reaped_ns,
           (unsigned long long)(ns_of(usage->ru_utime) + ns_of(usage->ru_stime)), usage->ru_maxrss,
           WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    int at = 1;
    while (at < argc && strchr(argv[at], '='))
        at++;
    if (at == argc) {
        fprintf(stderr, "usage: stopwatch [VAR=VALUE...] PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    char **environment = environment_with(argv + 1, (size_t)(at - 1));
    struct rusage usage;
    pid_t pid;
    int status;
    uint64_t started_ns = now_ns();
    int error = posix_spawnp(&pid, argv[at], NULL, NULL, argv + at, environment);
    if (error) {
        fprintf(stderr, "%s: %s\n", argv[at], strerror(error));
        return 2;
    }
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR)
            return 2;
    report(&usage, started_ns, now_ns(), status);
    return 0;
}
