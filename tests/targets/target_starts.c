/*
 * Starts a program that prints its environment, by functions of the C library that start programs within it,
 * or past it, and says how that went:
 *
 *     target_starts system|popen|wordexp|clone|clone-vfork PROGRAM
 *     target_starts clone-quiet PROGRAM    a child of clone() that executes nothing
 *
 * Without its lines about LD_PRELOAD and WALLPROF_ the output is to be the same with us and without.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

enum { STACK_BYTES = 64 * 1024, QUIET = 3, NOT_EXECUTED = 9 };

static const char *program;

/* "%s" is the program. */
static const char *command(const char *format)
{
    static char text[4096];
    snprintf(text, sizeof text, format, program);
    return text;
}

static int execute(void *unused)
{
    (void)unused;
    execl(program, program, (char *)NULL);
    _exit(NOT_EXECUTED);
}

static int be_quiet(void *unused)
{
    (void)unused;
    _exit(write(STDOUT_FILENO, "child\n", strlen("child\n")) > 0 ? QUIET : 0);
}

static int by_popen(void)
{
    char line[4096];
    FILE *stream = popen(command("%s; exit 5"), "r");
    while (stream && fgets(line, sizeof line, stream))
        fputs(line, stdout);
    return stream ? pclose(stream) : -1;
}

static int by_wordexp(void)
{
    wordexp_t words;
    int error = wordexp(command("$(%s) $((1 + 2)) ~root"), &words, 0);
    for (size_t i = 0; !error && i < words.we_wordc; i++)
        puts(words.we_wordv[i]);
    return error;
}

static int by_clone(int (*run)(void *), int flags)
{
    static char stack[STACK_BYTES] __attribute__((aligned(16)));
    int status = -1;
    pid_t child = clone(run, stack + STACK_BYTES, flags | SIGCHLD, NULL);
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int status = -1;
    program = argc > 2 ? argv[2] : "";
    if (!strcmp(how, "system"))
        status = system(command("%s; exit 5"));
    if (!strcmp(how, "popen"))
        status = by_popen();
    if (!strcmp(how, "wordexp"))
        status = by_wordexp();
    if (!strcmp(how, "clone"))
        status = by_clone(execute, 0);
    if (!strcmp(how, "clone-vfork"))
        status = by_clone(execute, CLONE_VM | CLONE_VFORK);
    if (!strcmp(how, "clone-quiet"))
        status = by_clone(be_quiet, 0);
    printf("status %x\n", (unsigned)status);
    return 0;
}
