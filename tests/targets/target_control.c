/*
 * What wallprof.h is called for, and what happens then: a line for each call on standard output.
 *
 *     target_control OPERATION...
 *
 *     start stop active dump=PATH dump=   the calls
 *     before=MS during=MS after=MS        work in a function of that name
 *     sleep=MS slept=MS                   nothing; and whether that was cut short
 *     until-active until=PATH             nothing, until something is recorded; until there is such a file
 *     during-active                       work in work_during while something is recorded
 *     threads=N                           so many threads, one after the other, that do nothing
 *     beside=MS                           a thread that works so long, while the main thread waits for it
 *     handler fork vfork                  stop and start in a signal handler, in a child
 *     handler-exit                        quick_exit(3) in a signal handler that interrupts fork
 *     rss shown                           memory in KiB; whether SIGUSR2 has a handler, as the program sees
 * it at-exit                             stop when exit runs its handlers, and in a destructor
 */
#include "wallprof.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static volatile unsigned long work_done;

/*
 * Each its own, or the compiler makes one of them. A millisecond at a time: a pause of the machine takes one,
 * not all.
 */
#define WORK(name, step)                                                                                     \
    __attribute__((noinline)) static void work_##name(double ms)                                             \
    {                                                                                                        \
        for (; ms > 0; ms--)                                                                                 \
            for (double end = now_ms(CLOCK_MONOTONIC) + 1; now_ms(CLOCK_MONOTONIC) < end;)                   \
                for (unsigned long i = 0; i < 1000; i++)                                                     \
                    work_done = work_done + i * (step);                                                      \
    }

WORK(before, 1)
WORK(during, 3)
WORK(after, 5)
WORK(beside, 7)

static int sleep_ms(double ms)
{
    struct timespec time = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    return nanosleep(&time, NULL);
}

/* What never comes is the test's to complain of. */
static void sleep_until(const char *path)
{
    for (int i = 0; i < 60000 && (path ? access(path, F_OK) != 0 : wallprof_is_active() == 0); i++)
        sleep_ms(10);
}

static void work_while_active(void)
{
    while (wallprof_is_active() == 1)
        work_during(1);
}

static int rss_kib(void)
{
    char line[128];
    int kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %d", &kib);
    if (file)
        fclose(file);
    return kib;
}

static int is_handler_shown(void)
{
    struct sigaction action;
    return sigaction(SIGUSR2, NULL, &action) != 0 || action.sa_handler != SIG_DFL;
}

static void say(const char *what, int result)
{
    printf("%s %d\n", what, result);
    fflush(stdout);
}

static int is_there(void)
{
    return wallprof_is_active() != WALLPROF_ABSENT;
}

static void *do_nothing(void *unused)
{
    return unused;
}

static void *work_in_thread(void *ms)
{
    pthread_setname_np(pthread_self(), "beside");
    work_beside(*(const double *)ms);
    return NULL;
}

static void run_threads(int count)
{
    pthread_t thread;
    for (int i = 0; i < count; i++) {
        if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
            pthread_join(thread, NULL);
    }
}

static void run_beside(double ms)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_in_thread, &ms) == 0)
        pthread_join(thread, NULL);
}

static volatile int in_handler[2], timed_out;

static void on_signal(int number)
{
    (void)number;
    int saved = errno;
    in_handler[0] = wallprof_stop();
    in_handler[1] = wallprof_start();
    timed_out += in_handler[0] == WALLPROF_TIMED_OUT || in_handler[1] == WALLPROF_TIMED_OUT;
    errno = saved;
}

/* While the main thread is in the middle of such calls most of the time. */
static void call_in_handler(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    say("handler-stop", in_handler[0]);
    say("handler-start", in_handler[1]);
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            kill(getppid(), SIGUSR1);
            _exit(0);
        }
        while (waitpid(pid, NULL, WNOHANG) == 0)
            (void)wallprof_is_active(), (void)wallprof_stop(), (void)wallprof_start();
    }
    say("handler-many", timed_out);
}

static volatile int is_in_fork;

static void exit_in_fork(int number)
{
    (void)number;
    if (is_in_fork)
        quick_exit(3); /* C11 7.14.1.1 lets a handler do that, but not exit */
}

/* A child that is fast enough finds its parent still in fork. */
static void exit_in_handler(void)
{
    signal(SIGUSR1, exit_in_fork);
    for (;;) {
        is_in_fork = 1;
        pid_t pid = fork();
        is_in_fork = 0;
        if (pid == 0) {
            kill(getppid(), SIGUSR1);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

static void call_in_child(const char *how)
{
    pid_t pid = strcmp(how, "vfork") == 0 ? vfork() : fork();
    if (pid == 0) {
        int stop = wallprof_stop(), start = wallprof_start();
        _exit(stop == 0 && start == 0 ? 100 : -stop * 10 - start);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    say(how, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void work_in_both(double ms)
{
    pid_t pid = fork();
    if (pid > 0)
        say("child", (int)pid);
    work_during(ms);
}

/* From a thread's first statement to its last. */
static void *report_times(void *ms)
{
    double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_THREAD_CPUTIME_ID);
    double half = *(const double *)ms / 2;
    work_beside(half);
    sleep_ms(half);
    wall = now_ms(CLOCK_MONOTONIC) - wall;
    cpu = now_ms(CLOCK_THREAD_CPUTIME_ID) - cpu;
    printf("thread %ld %.0f %.0f\n", syscall(SYS_gettid), wall * 1e6, cpu * 1e6);
    return NULL;
}

static void run_crowd(double ms)
{
    enum { COUNT = 5 };
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; i++)
        pthread_create(&threads[i], NULL, report_times, &ms);
    report_times(&ms);
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
}

__attribute__((noinline)) static int descend(int depth, double ms)
{
    if (depth == 0)
        work_beside(ms);
    else
        descend(depth - 1, ms);
    return depth + (work_done != 0); /* not a tail call */
}

static void *descend_in_thread(void *depth)
{
    descend(*(const int *)depth, 2);
    return NULL;
}

static void run_churn(double ms)
{
    int depth = 0;
    pthread_t thread;
    for (double end = now_ms(CLOCK_MONOTONIC) + ms; now_ms(CLOCK_MONOTONIC) < end;
         depth = (depth + 7) % 200) {
        if (pthread_create(&thread, NULL, descend_in_thread, &depth) == 0)
            pthread_join(thread, NULL);
    }
}

static void at_exit(void)
{
    say("at-exit-stop", wallprof_stop());
    say("at-exit-dump", wallprof_dump("/nonexistent/x"));
}

static int says_at_exit;

__attribute__((destructor)) static void in_destructor(void)
{
    if (says_at_exit)
        say("destructor-active", wallprof_is_active());
}

static void do_one(const char *operation)
{
    const char *value = strchr(operation, '=');
    size_t length = value ? (size_t)(value - operation) : strlen(operation);
    double ms = value ? strtod(value + 1, NULL) : 0;
#define IS(name) (length == strlen(name) && !strncmp(operation, name, length))
    if (IS("start"))
        say("start", wallprof_start());
    else if (IS("stop"))
        say("stop", wallprof_stop());
    else if (IS("active"))
        say("active", wallprof_is_active());
    else if (IS("dump"))
        say("dump", wallprof_dump(value && value[1] ? value + 1 : NULL));
    else if (IS("dump-empty"))
        say("dump-empty", wallprof_dump(""));
    else if (IS("before"))
        work_before(ms);
    else if (IS("during"))
        work_during(ms);
    else if (IS("after"))
        work_after(ms);
    else if (IS("sleep"))
        sleep_ms(ms);
    else if (IS("slept"))
        say("slept", sleep_ms(ms));
    else if (IS("until-active") || IS("until"))
        sleep_until(value ? value + 1 : NULL);
    else if (IS("during-active"))
        work_while_active();
    else if (IS("rss"))
        say("rss", rss_kib());
    else if (IS("shown"))
        say("shown", is_handler_shown());
    else if (IS("threads"))
        run_threads((int)ms);
    else if (IS("beside"))
        run_beside(ms);
    else if (IS("handler"))
        call_in_handler();
    else if (IS("handler-exit"))
        exit_in_handler();
    else if (IS("fork") || IS("vfork"))
        call_in_child(operation);
    else if (IS("crowd"))
        run_crowd(ms);
    else if (IS("churn"))
        run_churn(ms);
    else if (IS("forked"))
        work_in_both(ms);
    else if (IS("at-exit"))
        says_at_exit = atexit(at_exit) == 0;
    else
        fprintf(stderr, "target_control: what is %s?\n", operation), exit(2);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        do_one(argv[i]);
    printf("preloaded %d\n", is_there());
    return 0;
}
