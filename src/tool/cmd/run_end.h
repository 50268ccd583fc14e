/*
 * The end of a run: its stores become profiles, and the user is told where these are.
 *
 * Called from: cmd_run.c, and cmd_attach.c for a process that is followed.
 */
#ifndef WALLPROF_RUN_END_H
#define WALLPROF_RUN_END_H

#include "tool/run/run_directory.h"
#include "tool/run/run_files.h"

#include <stdbool.h>
#include <sys/types.h>

struct run_end {
    const struct run_directory *directory;
    pid_t pid;          /* of the main process */
    const int *status;  /* its end, as waitpid gives it; NULL: that is not known */
    bool merges;        /* one profile of all */
    const char *report; /* one file more, of all processes; "" without */
};

/* Makes the profiles of the stores, and notes them where the processes of the run do so. */
void run_end_gather(const struct run_end *end);

/* Which files there are now. Called once: closes directory->written_fd, unless that is -1. */
void run_end_list(const struct run_end *end, struct run_files *ret);

/* Shows the report, or else the profile of the main process, on stderr, as wallprof top does. */
void run_end_show(const struct run_end *end, const struct run_files *files);

#endif
