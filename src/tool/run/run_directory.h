/*
 * The directory of a run, in TMPDIR. Processes of the run record into stores in it, and note in it what they
 * wrote themselves (profile/store.h). Its lock says that `wallprof gather` will make the profiles of the
 * stores (cmd_gather.c).
 *
 * Called from: cmd_run.c, attach_family.c, run_end.c and run_external.c. The descriptors are closed in the
 * program.
 */
#ifndef WALLPROF_RUN_DIRECTORY_H
#define WALLPROF_RUN_DIRECTORY_H

#include "refusal.h"
#include "run_options.h"

#include <limits.h>

struct run_directory {
    char path[PATH_MAX];  /* absolute; "" without one */
    const char *no_store; /* why it has no stores; NULL: it has */
    int lock_fd;          /* -1 without stores */
    int written_fd;       /* STORE_WRITTEN_NAME, or -1 */
};

/* Makes it if it is needed, and sets WALLPROF_STORE and WALLPROF_WRITTEN. That it cannot be made is no reason
 * not to run: a line on stderr says so. is_external: the recordings are made from outside, in this directory
 * whatever the options say, and without it there are none. 0 or the status of the refusal. */
int run_directory_begin(struct run_directory *ret, const struct run_options *options, bool is_external,
                        struct refusal *refusal);

/* Removes what is in it, except stores whose profiles could not be written; then itself, or the last process
 * of the run does. */
void run_directory_end(struct run_directory *directory);

#endif
