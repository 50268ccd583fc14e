/*
 * The ways a process can begin, go on and end, to be profiled: one per run.
 *
 *     target_process status N          prints a line, returns N from main
 *     target_process chdir DIRECTORY   goes there first
 *     target_process fork              a child without exec, each in functions of its own; prints its pid
 *     target_process file PATH         opens it with whatever descriptor is free and writes to it; status 3
 */
#include "target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>

/* The comment in the assembly makes each different, or the compiler would fold equal functions into one. */
#define WORK(name, ms)                                                                                       \
    KEEP_FRAME void name(void)                                                                               \
    {                                                                                                        \
        work_ms(ms);                                                                                         \
        __asm__ volatile("# " #name ::: "memory");                                                           \
    }
WORK(work, 100)
WORK(work_before_fork, 300)
WORK(work_in_parent, 300)
WORK(work_in_child, 300)

static int run_status(const char *status)
{
    work();
    puts("output");
    return atoi(status);
}

static int run_chdir(const char *directory)
{
    if (chdir(directory)) {
        perror(directory);
        return 2;
    }
    work();
    return 0;
}

static int run_fork(void)
{
    int status = 0;
    work_before_fork();
    pid_t child = fork();
    if (child == 0) {
        work_in_child();
        return 4;
    }
    work_in_parent();
    waitpid(child, &status, 0);
    printf("%d\n", child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 4 ? 6 : 1;
}

static int run_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char text[32];
    int length = snprintf(text, sizeof text, "descriptor %d\n", fd);
    work();
    return write(fd, text, (size_t)length) == length ? 3 : 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "status", *argument = argc > 2 ? argv[2] : "0";
    if (!strcmp(mode, "status"))
        return run_status(argument);
    if (!strcmp(mode, "chdir"))
        return run_chdir(argument);
    if (!strcmp(mode, "fork"))
        return run_fork();
    if (!strcmp(mode, "file"))
        return run_file(argument);
    fprintf(stderr, "no mode %s\n", mode);
    return 2;
}
