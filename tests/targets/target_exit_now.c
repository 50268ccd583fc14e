/*
 * Ends without exit handlers, for e2e_exit_now.sh. Each says which processes must have a profile.
 *
 *     target_exit_now MODE
 *     target_exit_now modes      lists them
 *
 * Prints a line "with PID" or "without PID" for each such process, and ends with the status 3.
 */
#include "target.h"
#include "wallprof.h"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { STATUS = 3, WORK_MS = 150 };

static void tell(const char *what, pid_t pid)
{
    char line[64];
    int bytes = snprintf(line, sizeof(line), "%s %d\n", what, pid);
    if (write(STDOUT_FILENO, line, (size_t)bytes) != bytes)
        _exit(2);
}

/* By CPU time: however crowded the machine is, it is sampled meanwhile. */
KEEP_FRAME static void work(void)
{
    for (uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_MS * NS_PER_MS;
         clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns;)
        KEEP_CALL();
}

_Noreturn static void end_well(void)
{
    tell("with", getpid());
    _exit(STATUS);
}

static void plain(void)
{
    work();
    end_well();
}

/* Before the first tick, most likely: with a profile or without. */
static void soon(void)
{
    _exit(STATUS);
}

static void by_number(void)
{
    work();
    tell("with", getpid());
    syscall(SYS_exit_group, STATUS);
}

static void end_in_handler(int number)
{
    (void)number;
    end_well();
}

static void handler(void)
{
    signal(SIGALRM, end_in_handler);
    work();
    ualarm(1000, 0);
    for (;;)
        KEEP_CALL();
}

static void *end_in_thread(void *barrier)
{
    pthread_barrier_wait(barrier);
    _exit(STATUS);
    return NULL;
}

/* Nobody ends the process while another's end is written. */
static void threads(void)
{
    enum { THREADS = 8 };
    pthread_barrier_t barrier;
    pthread_t thread;
    work();
    tell("with", getpid());
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&thread, NULL, end_in_thread, &barrier) != 0)
            _exit(2);
    }
    pthread_join(thread, NULL);
}

static void end_child(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != STATUS << 8)
        _exit(2);
}

/* A child that is not set up yet has no profile. The reply says that it is. */
static void forks(void)
{
    pid_t child = fork();
    if (child == 0) {
        wallprof_start();
        plain();
    }
    end_child(child);
    end_well();
}

/* They have this process's memory. */
static void vforks(void)
{
    work();
    pid_t child = vfork();
    if (child == 0)
        _exit(STATUS);
    end_child(child);
    tell("without", child);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(STATUS);
    end_child(child);
    tell("without", child);
    work();
    end_well();
}

static int end_in_visit(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)info, (void)bytes, (void)unused;
    _exit(STATUS);
    return 0;
}

/* With a lock that the sampler needs to write: the end is late, but it comes. */
static void with_lock(void)
{
    work();
    dl_iterate_phdr(end_in_visit, NULL);
}

static const struct mode {
    const char *name;
    void (*run)(void);
} modes[] = {{"plain", plain},     {"soon", soon},   {"by-number", by_number}, {"handler", handler},
             {"threads", threads}, {"forks", forks}, {"vforks", vforks},       {"with-lock", with_lock}};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && argc > 1; i++) {
        if (strcmp(argv[1], "modes") == 0)
            puts(modes[i].name);
        else if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run();
    }
    return 0;
}
