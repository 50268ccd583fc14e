/*
 * traced [PROGRAM...]: a tracer (PTRACE_TRACEME) of a child that works, or of a program. It counts the
 * child's stops by signal; a program that is traced without a debugger's care for strange signals stops at
 * each of them.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 60 * 1000 * 1000 };

static void be_traced(char **program)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    if (program[0])
        execvp(program[0], program);
    for (volatile unsigned i = 0; i < ROUNDS; i++)
        ;
    _exit(3);
}

int main(int count, char **arguments)
{
    (void)count;
    int status = 0, stops[NSIG] = {0};
    pid_t child = fork();
    if (child == 0)
        be_traced(arguments + 1);
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int number = WSTOPSIG(status);
        stops[number]++;
        ptrace(PTRACE_CONT, child, NULL, number == SIGSTOP || number == SIGTRAP ? 0L : (long)number);
    }
    for (int number = 1; number < NSIG; number++)
        if (stops[number])
            printf("stopped %s by %s\n",
                   number == SIGSTOP || number == SIGTRAP ? "as is right" : "again and again",
                   strsignal(number));
    printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
