/*
 * Sets the action of a signal past the C library, or blocks it, and works for a while, with threads.
 *
 *     target_raw_signal default|ignore|handler|block|fill NUMBER [LIBRARY]
 *
 * What follows sys_ is the bare system call, as a runtime of its own makes it: by the C library's syscall(),
 * which is looked up so that no preloaded library's is found. With a library that is done by its function
 * `take`, which calls the C library's functions itself (RTLD_DEEPBIND).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *what;
static int number;
static void (*take)(const char *what, int number, void (*handler)(int)); /* of the library, NULL without */
static volatile sig_atomic_t calls;

struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static void on_signal(int seen)
{
    (void)seen;
    calls++;
}

static long (*sys_call)(long number, ...);

static void sys_sigaction(void (*handler)(int))
{
    struct sigaction library = {.sa_handler = on_signal};
    struct kernel_action action;
    sigaction(SIGUSR1, &library, NULL); /* the C library's way back from a handler */
    sys_call(SYS_rt_sigaction, SIGUSR1, NULL, &action, sizeof(action.mask));
    action.handler = handler;
    sys_call(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

static void sys_block(uint64_t mask)
{
    sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A millisecond at a time: a pause of the machine takes one, not all. */
__attribute__((noinline)) static void spin_after(unsigned ms)
{
    for (; ms > 0; ms--) {
        for (double end = now_ms() + 1; now_ms() < end;)
            ;
    }
}

static void *work(void *argument)
{
    spin_after(200);
    if (take)
        take(what, number, on_signal);
    else if (!strcmp(what, "default"))
        sys_sigaction(SIG_DFL);
    else if (!strcmp(what, "ignore"))
        sys_sigaction(SIG_IGN);
    else if (!strcmp(what, "handler"))
        sys_sigaction(on_signal);
    else if (!strcmp(what, "block"))
        sys_block((uint64_t)1 << (number - 1));
    else
        sys_block(~(uint64_t)0);
    spin_after(1000);
    return argument;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    what = count > 1 ? arguments[1] : "";
    number = count > 2 ? atoi(arguments[2]) : SIGPROF;
    void *library = count > 3 ? dlopen(arguments[3], RTLD_NOW | RTLD_DEEPBIND) : NULL;
    if (count > 3 && (!library || !(take = (__typeof__(take))(uintptr_t)dlsym(library, "take"))))
        return 2;
    sys_call = (__typeof__(sys_call))(uintptr_t)dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "syscall");
    if (!sys_call)
        return 2;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return calls > 1; /* one may have been on its way */
}
