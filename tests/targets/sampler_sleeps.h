/*
 * How a program under the profiler waits for a tick of the sampler: within one the sampler sleeps once for
 * each thread at most, and once after it.
 */
#ifndef WALLPROF_SAMPLER_SLEEPS_H
#define WALLPROF_SAMPLER_SLEEPS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* How often the sampler thread has gone to sleep; -1 where there is none. */
static long sampler_sleeps(void)
{
    long sleeps = -1;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks)) && sleeps < 0;) {
        char path[300], line[512], name[32] = "";
        long count;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *status = fopen(path, "r");
        while (status && fgets(line, sizeof line, status)) {
            sscanf(line, "Name: %31s", name);
            if (strcmp(name, "wallprof") == 0 && sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1)
                sleeps = count;
        }
        if (status)
            fclose(status);
    }
    if (tasks)
        closedir(tasks);
    return sleeps;
}

/* Whether there was a whole tick since *goal was -1, in a program of so many threads. To be asked again and
 * again. */
static bool has_ticked(long *goal, long threads)
{
    const long sleeps = sampler_sleeps();
    if (sleeps >= 0 && *goal < 0)
        *goal = sleeps + 2 * (threads + 2);
    return sleeps >= 0 && sleeps >= *goal;
}

#endif
