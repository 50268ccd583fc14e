/*
 * fork and exec. Around a fork the sampler stands still: the child's copy of our memory is whole, and fork is
 * not restarted by a signal. Around an exec it stands still so that no signal of ours is left pending for the
 * new program, whom it would kill; a system call on the way lets the kernel deliver what is queued already.
 */
#include "hook_process.h"
#include "hook_thread.h"
#include "real.h"
#include "session.h"

#include <alloca.h>
#include <stdint.h>
#include <fcntl.h>
#include <pty.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

static void hold_for_fork(void)
{
    session_hold(SESSION_HOLD_FORK);
}

int hook_process_init(void)
{
    return pthread_atfork(hold_for_fork, session_release, NULL);
}

/*
 * Only after all handlers of pthread_atfork, which run in the order they were registered: a session creates a
 * thread, and the program's malloc may not be usable before its own handler has run.
 */
static void restart_in_child(void)
{
    struct wp_thread *forking = hook_thread_current();
    hook_thread_adopt(NULL);
    session_restart_in_child(forking);
    hook_thread_adopt(session_main_thread());
}

WALLPROF_HOOK pid_t fork(void)
{
    pid_t pid = real_functions()->fork();
    if (pid == 0)
        restart_in_child();
    return pid;
}

/* These fork within the C library, past our hook. */
WALLPROF_HOOK int daemon(int keep_directory, int keep_streams)
{
    pid_t before = getpid();
    int status = real_functions()->daemon(keep_directory, keep_streams);
    if (getpid() != before)
        restart_in_child();
    return status;
}

WALLPROF_HOOK pid_t forkpty(int *primary, char *name, const struct termios *termios,
                            const struct winsize *size)
{
    pid_t pid = real_functions()->forkpty(primary, name, termios, size);
    if (pid == 0)
        restart_in_child();
    return pid;
}

static void hold_for_exec(void)
{
    session_hold(SESSION_HOLD_EXEC);
    sched_yield();
}

WALLPROF_HOOK int execve(const char *path, char *const *arguments, char *const *environment)
{
    hold_for_exec();
    int status = real_functions()->execve(path, arguments, environment);
    session_release();
    return status;
}

WALLPROF_HOOK int execvpe(const char *file, char *const *arguments, char *const *environment)
{
    hold_for_exec();
    int status = real_functions()->execvpe(file, arguments, environment);
    session_release();
    return status;
}

WALLPROF_HOOK int execv(const char *path, char *const *arguments)
{
    return execve(path, arguments, environ);
}

WALLPROF_HOOK int execvp(const char *file, char *const *arguments)
{
    return execvpe(file, arguments, environ);
}

WALLPROF_HOOK int fexecve(int fd, char *const *arguments, char *const *environment)
{
    hold_for_exec();
    int status = real_functions()->fexecve(fd, arguments, environment);
    session_release();
    return status;
}

WALLPROF_HOOK int execveat(int fd, const char *path, char *const *arguments, char *const *environment,
                           int flags)
{
    hold_for_exec();
    int status = real_functions()->execveat(fd, path, arguments, environment, flags);
    session_release();
    return status;
}

/* The list forms: the arguments up to NULL become an array on the stack, as the C library does it. */
#define COLLECT(array, first, list)                                                                          \
    do {                                                                                                     \
        va_list counting;                                                                                    \
        size_t count = 1;                                                                                    \
        va_copy(counting, list);                                                                             \
        while (va_arg(counting, char *))                                                                     \
            count++;                                                                                         \
        va_end(counting);                                                                                    \
        array = alloca((count + 1) * sizeof(char *));                                                        \
        array[0] = (char *)(uintptr_t)first;                                                                 \
        for (size_t i = 1; i <= count; i++)                                                                  \
            array[i] = va_arg(list, char *);                                                                 \
    } while (0)

WALLPROF_HOOK int execl(const char *path, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    va_end(list);
    return execve(path, arguments, environ);
}

WALLPROF_HOOK int execlp(const char *file, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    va_end(list);
    return execvpe(file, arguments, environ);
}

WALLPROF_HOOK int execle(const char *path, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}
