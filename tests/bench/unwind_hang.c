/*
 * Whether walks in a signal handler come to an end while the interrupted thread does nothing but look at the
 * loader's list and load a library, and after how many signals they do not.
 *
 *     unwind_hang WALKER SIGNALS
 *
 * A second thread sends the signals, each at a random moment after the one before has been handled. Prints
 * "signals N", the number sent, and "hung 1" when the last one was not handled within two seconds.
 */
#include "report.h"
#include "unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, ITERATIONS_A_LOAD = 20 };

struct bottom bottom; /* of the chains, which are not used here */

static const struct walker *walker;
static struct bounds bounds;
static uint64_t handled; /* atomic */

static void handle(int number, siginfo_t *info, void *context)
{
    uint64_t addresses[WALK_CAPACITY];
    (void)number;
    (void)info;
    walker->walk(context, &bounds, addresses);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELEASE);
}

static void end(uint64_t signals, uint64_t hung)
{
    report_number("signals", signals);
    report_number("hung", hung);
    fflush(stdout);
    _exit(0);
}

static void wait_for_handler(uint64_t signals)
{
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)PATIENCE_MS * 1000000;
    while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) != signals) {
        if (clock_ns(CLOCK_MONOTONIC) > end_ns)
            end(signals, 1);
        usleep(10);
    }
}

struct task {
    pid_t tid;
    uint64_t signals;
};

static void *send(void *data)
{
    const struct task *task = data;
    unsigned random = (unsigned)clock_ns(CLOCK_MONOTONIC);
    for (uint64_t i = 1; i <= task->signals; i++) {
        usleep(50 + (unsigned)rand_r(&random) % 200);
        syscall(SYS_tgkill, getpid(), task->tid, SIGPROF);
        wait_for_handler(i);
    }
    end(task->signals, 0);
    return NULL;
}

static int see_header(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(uint64_t *)data += info->dlpi_phnum;
    return 0;
}

__attribute__((noreturn)) static void work(void)
{
    for (;;) {
        uint64_t headers = 0;
        for (int i = 0; i < ITERATIONS_A_LOAD; i++)
            dl_iterate_phdr(see_header, &headers);
        void *library =
            dlopen("libthread_db.so.1", RTLD_NOW); /* comes with the C library, and nobody has it */
        if (library)
            dlclose(library);
    }
}

static const struct walker *walker_of(const char *name)
{
    for (size_t i = 0; i < WALKER_COUNT; i++) {
        if (strcmp(walkers[i].name, name) == 0)
            return &walkers[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct task task;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t thread;
    if (argc != 3 || !(walker = walker_of(argv[1])) || walkers_init() != 0)
        return 2;
    sigfillset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    bounds.high = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 256;
    bounds.low = bounds.high - (1 << 20);
    task = (struct task){.tid = gettid(), .signals = strtoull(argv[2], NULL, 10)};
    if (pthread_create(&thread, NULL, send, &task) != 0)
        return 1;
    work();
}
