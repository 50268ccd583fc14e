/*
 * Executes a program under a filter of system calls, as sandboxes do.
 *
 *     target_filter allow kill|trap|ERRNO NUMBER... -- PROGRAM ARGUMENTS    these are made, all others are
 * not target_filter deny kill|trap|ERRNO NUMBER... -- PROGRAM ARGUMENTS     the other way round
 */
#include "filter.h"

#include <stdio.h>
#include <unistd.h>

static uint32_t action_of(const char *name)
{
    if (!strcmp(name, "kill"))
        return SECCOMP_RET_KILL_PROCESS;
    if (!strcmp(name, "trap"))
        return SECCOMP_RET_TRAP;
    return SECCOMP_RET_ERRNO | (uint32_t)atoi(name);
}

int main(int argc, char **argv)
{
    static struct filter filter;
    int at = 3;
    if (argc < 5)
        return 2;
    int allows = !strcmp(argv[1], "allow");
    uint32_t refusal = action_of(argv[2]);
    filter_begin(&filter);
    for (; at < argc - 1 && strcmp(argv[at], "--") != 0; at++)
        filter_add(&filter, atol(argv[at]), allows ? SECCOMP_RET_ALLOW : refusal);
    long error = filter_install(&filter, allows ? refusal : SECCOMP_RET_ALLOW, 0);
    if (error < 0) {
        fprintf(stderr, "target_filter: %s\n", strerror((int)-error));
        return 2;
    }
    execvp(argv[at + 1], argv + at + 1);
    perror(argv[at + 1]);
    return 2;
}
