/* Whether a thread of this process sleeps in the kernel.
 * One that has begun a wait may still need a CPU first. */
#ifndef WALLPROF_ASLEEP_H
#define WALLPROF_ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static inline bool is_asleep(pid_t tid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    const char *state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return state && !strncmp(state, ") S", 3);
}

#endif
