/*
 * A program that becomes another one: it works for some time, with a thread that waits, and executes what it
 * is told to.
 *
 *     target_exec HOW MILLISECONDS PROGRAM [ARGUMENT...]    HOW: execve, execv, execvp, execvpe, execl,
 * execlp, execle, fexecve, execveat; thread: from another thread; handler: in a signal's, within malloc
 *     target_exec fail MILLISECONDS PROGRAM                 the exec fails; it works on and exits
 *     target_exec work MILLISECONDS                         works and exits
 *
 * Prints how many milliseconds it worked, before and after. TARGET_EXEC_TICKS: before, it works until there
 * was a tick.
 */
#include "target.h"
#include "sampler_sleeps.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static const char *how;
static unsigned work_for_ms;
static bool waits_for_tick;
static char **command;

static void say(const char *what, uint64_t begin_ns)
{
    dprintf(STDOUT_FILENO, "%s %u\n", what, (unsigned)((now_ns() - begin_ns) / NS_PER_MS));
}

KEEP_FRAME static void work_before_exec(void)
{
    uint64_t begin_ns = now_ns();
    long goal = -1;
    work_ms(work_for_ms);
    while (waits_for_tick && !has_ticked(&goal, 2))
        work_ms(1);
    say("before", begin_ns);
}

KEEP_FRAME static void work_after_exec(void)
{
    uint64_t begin_ns = now_ns();
    work_ms(work_for_ms);
    say("after", begin_ns);
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void execute(void)
{
    const char *path = command[0], *first = command[1];
    if (!strcmp(how, "execv"))
        execv(path, command);
    else if (!strcmp(how, "execvp"))
        execvp(path, command);
    else if (!strcmp(how, "execvpe"))
        execvpe(path, command, environ);
    else if (!strcmp(how, "execl"))
        execl(path, path, first, first ? command[2] : NULL, NULL);
    else if (!strcmp(how, "execlp"))
        execlp(path, path, first, first ? command[2] : NULL, NULL);
    else if (!strcmp(how, "execle"))
        execle(path, path, first, first ? command[2] : NULL, NULL, environ);
    else if (!strcmp(how, "fexecve"))
        fexecve(open(path, O_RDONLY | O_CLOEXEC), command, environ);
    else if (!strcmp(how, "execveat"))
        execveat(AT_FDCWD, path, command, environ, 0);
    else
        execve(path, command, environ);
}

static void *execute_in_thread(void *unused)
{
    execute();
    return unused;
}

static void execute_in_handler(int signal)
{
    (void)signal;
    execute();
    _exit(2);
}

/* The handler finds the heap locked most of the time. */
static void execute_while_allocating(void)
{
    signal(SIGALRM, execute_in_handler);
    alarm(1);
    for (;;)
        free(malloc(1 << 20));
}

static void execute_from_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, execute_in_thread, NULL);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
    pthread_t waiting;
    if (count < 3)
        return 2;
    how = arguments[1];
    work_for_ms = (unsigned)strtoul(arguments[2], NULL, 10);
    command = arguments + 3;
    waits_for_tick = *(getenv("TARGET_EXEC_TICKS") ? getenv("TARGET_EXEC_TICKS") : "") != '\0';
    if (!strcmp(how, "work")) {
        work_after_exec();
        return 0;
    }
    pthread_create(&waiting, NULL, wait_for_ever, NULL);
    work_before_exec();
    if (!strcmp(how, "thread"))
        execute_from_thread();
    else if (!strcmp(how, "handler"))
        execute_while_allocating();
    else
        execute();
    if (strcmp(how, "fail") != 0)
        return 2;
    work_after_exec();
    return 0;
}
