/*
 * Children that are traced, for e2e_traced.sh: every stop that the tracer did not make must be the child's
 * own.
 *
 *     target_traced CASE     me, syscall, exec, fork, attach
 *
 * Prints the stops that the tracer saw, one a line, and the child's end. The child works on a processor
 * between its own stops. attach: the child is seized while it works, so it may have one request outstanding;
 * what comes after its first stop is printed.
 */
#include "target.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { WORK_MS = 100, PAUSE_MS = 100 };

KEEP_FRAME static void work(void)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_MS * NS_PER_MS;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        KEEP_CALL();
}

static void pass(uint64_t ms)
{
    struct timespec time = timespec_of(ms * NS_PER_MS);
    nanosleep(&time, NULL);
}

static void work_between_stops(void)
{
    work();
    raise(SIGSTOP);
    work();
    raise(SIGUSR1);
    work();
}

/* Prints what the child stops at until its end, and lets it go on. */
static void trace(pid_t child)
{
    int status;
    while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
        int number = WSTOPSIG(status), event = status >> 16;
        printf("%s %s\n", event ? "event" : "stop", event ? "" : strsignal(number));
        ptrace(PTRACE_CONT, child, NULL, event || number == SIGTRAP || number == SIGSTOP ? 0L : number);
    }
    printf("end %x\n", status);
}

static void case_me(void)
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, SIG_IGN);
        work();
        CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
        work_between_stops();
        errno = 0;
        CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == EPERM);
        _exit(failures != 0);
    }
    trace(child);
}

static void case_syscall(void)
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, SIG_IGN);
        work();
        CHECK(syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL) == 0);
        work_between_stops();
        _exit(failures != 0);
    }
    trace(child);
}

static void case_exec(void)
{
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl("/proc/self/exe", "target_traced", "work", NULL);
        _exit(2);
    }
    trace(child);
}

/* The grandchild is traced from its birth. */
static void case_fork(void)
{
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            work();
            _exit(0);
        }
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    int status, stops = 0;
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, NULL, (long)PTRACE_O_TRACEFORK);
    ptrace(PTRACE_CONT, child, NULL, 0L);
    for (pid_t seen; (seen = waitpid(-1, &status, __WALL)) > 0;) {
        if (!WIFSTOPPED(status))
            continue;
        int number = WSTOPSIG(status);
        stops += number != SIGTRAP && number != SIGSTOP && number != SIGCHLD;
        ptrace(PTRACE_CONT, seen, NULL, number == SIGCHLD ? (long)number : 0L);
    }
    printf("other stops %d\n", stops);
}

/* The child is held for longer than the profiler remembers that it was not traced. */
static void case_attach(void)
{
    int status, pipe_ends[2];
    if (pipe(pipe_ends) != 0)
        die("pipe");
    pid_t child = fork();
    if (child == 0) {
        if (write(pipe_ends[1], "", 1) != 1)
            _exit(2);
        for (int i = 0; i < 4; i++)
            work();
        _exit(0);
    }
    char byte;
    if (read(pipe_ends[0], &byte, 1) != 1)
        die("read");
    CHECK(ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0);
    CHECK(ptrace(PTRACE_INTERRUPT, child, NULL, NULL) == 0);
    for (int i = 0; i < 2; i++) { /* the stop that was asked for, and perhaps one at an outstanding request */
        CHECK(waitpid(child, &status, __WALL) == child && WIFSTOPPED(status));
        bool is_asked_for = status >> 16 == PTRACE_EVENT_STOP;
        pass(PAUSE_MS);
        ptrace(PTRACE_CONT, child, NULL, is_asked_for ? 0L : (long)WSTOPSIG(status));
        if (is_asked_for)
            break;
    }
    int stops = 0;
    while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
        stops++;
        ptrace(PTRACE_CONT, child, NULL, (long)WSTOPSIG(status));
    }
    printf("more than one: %d\nend %x\n", stops > 1, status);
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(name, "me"))
        case_me();
    else if (!strcmp(name, "syscall"))
        case_syscall();
    else if (!strcmp(name, "exec"))
        case_exec();
    else if (!strcmp(name, "fork"))
        case_fork();
    else if (!strcmp(name, "attach"))
        case_attach();
    else
        work();
    return failures != 0;
}
