/*
 * Does at once, again and again, what hooks are there for, so that most of it comes before the profiler has
 * set itself up. Ends after 20 ms with the status 3.
 *
 *     target_early               all of it
 *     target_early small-stack   a thread with the smallest stack ends the process at once
 *     target_early cancelled     so does a thread that is being cancelled
 */
#include "target.h"
#include "wallprof.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { STATUS = 3, FOR_MS = 20 };

static void *end_thread(void *unused)
{
    wallprof_label("key", "value");
    return unused;
}

static void ignore(int number)
{
    (void)number;
}

static void use_signals(void)
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_ONSTACK};
    sigset_t all, old;
    sigfillset(&all);
    CHECK(sigaltstack(&stack, NULL) == 0);
    CHECK(sigaction(SIGPROF, &action, NULL) == 0);
    CHECK(pthread_sigmask(SIG_BLOCK, &all, &old) == 0);
    CHECK(raise(SIGPROF) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
}

static void start_others(void)
{
    pthread_t thread;
    int status;
    CHECK(pthread_create(&thread, NULL, end_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    if (child == 0)
        exit(STATUS);
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == STATUS);
}

static void *end_process(void *unused)
{
    (void)unused;
    exit(STATUS);
}

static void end_by_small_thread(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
    CHECK(pthread_create(&thread, &attributes, end_process, NULL) == 0);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "small-stack"))
        end_by_small_thread();
    if (!strcmp(mode, "cancelled")) {
        pthread_cancel(pthread_self());
        exit(STATUS);
    }
    for (uint64_t end_ns = now_ns() + FOR_MS * NS_PER_MS; now_ns() < end_ns;) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        CHECK(library && dlclose(library) == 0);
        use_signals();
        start_others();
        prctl(PR_SET_NAME, "early");
        wallprof_is_active();
    }
    return STATUS;
}
