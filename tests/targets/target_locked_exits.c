/*
 * Processes that end in a signal handler while the C library holds a lock, for e2e_locked_exits.sh.
 *
 *     target_locked_exits main|child|iterate
 *
 * In the first two the lock is that of the list of threads: setuid holds it until all threads have changed
 * their user, and one thread never does. `child` does it in forked children, right after the fork, where the
 * profiler's thread may not be set up yet. In `iterate` it is the lock of the loader's list of libraries.
 *
 * Each process ends by exit in a handler of SIGTERM with the status 3, as it does by itself.
 */
#include "target.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { STATUS = 3, CHILDREN = 8 };

static atomic_bool is_deaf, is_going;
static pid_t main_tid;

static void end(int number)
{
    (void)number;
    exit(STATUS);
}

/* Whether the main thread is in this system call. */
static bool is_in_call(long number)
{
    char path[64], text[128] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", main_tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        _exit(2);
    close(fd);
    return text[0] != 'r' && strtol(text, NULL, 10) == number; /* "running" */
}

/* Takes no signal, also not that by which setuid reaches every thread. */
static void *never_change_user(void *unused)
{
    uint64_t all = ~UINT64_C(0);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
    atomic_store(&is_deaf, true);
    while (!atomic_load(&is_going) || !is_in_call(SYS_futex))
        usleep(100);
    kill(getpid(), SIGTERM);
    for (;;)
        pause();
    return unused;
}

_Noreturn static void end_in_setuid(void)
{
    pthread_t thread;
    main_tid = gettid();
    if (pthread_create(&thread, NULL, never_change_user, NULL) != 0)
        _exit(2);
    while (!atomic_load(&is_deaf))
        sched_yield();
    atomic_store(&is_going, true);
    if (setuid(getuid()) != 0)
        _exit(2);
    _exit(2); /* it does not return */
}

static int end_in_visit(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)info, (void)bytes, (void)unused;
    raise(SIGTERM);
    return 0;
}

static int end_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            end_in_setuid();
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    }
    return failures ? 1 : STATUS;
}

int main(int argc, char **argv)
{
    signal(SIGTERM, end);
    if (argc > 1 && strcmp(argv[1], "main") == 0)
        end_in_setuid();
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return end_children();
    if (argc > 1 && strcmp(argv[1], "iterate") == 0)
        dl_iterate_phdr(end_in_visit, NULL);
    return 2;
}
