/*
 * The end of a run: its stores become profiles, and the user is told where these are.
 *
 * Called from: cmd_run.c, and attach_family.c for a process that is followed.
 */
#ifndef WALLPROF_RUN_END_H
#define WALLPROF_RUN_END_H

#include "tool/run/run_directory.h"
#include "tool/run/run_files.h"

#include <stdbool.h>
#include <sys/types.h>

struct run_end {
    struct run_directory *directory;
    pid_t pid;         /* of the main process */
    const int *status; /* its end, as waitpid gives it; NULL: that is not known */
    bool merges;       /* one profile of all */
    bool is_counted;   /* there is a profile for each interval */
    bool is_quiet, shows_top;
    const char *report; /* one file more, of all processes; "" without */
};

/*
 * Makes the profiles of the stores, says where they are, shows the report or else the profile of the main
 * process, and removes the directory. files: all 0, but for what is hidden. Called once: closes
 * directory->written_fd. False if no profile was written, as far as that is known.
 */
bool run_end(const struct run_end *end, struct run_files *files);

#endif
