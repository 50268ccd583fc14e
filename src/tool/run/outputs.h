/*
 * Where the profiles of a run go: --out, --format and WALLPROF_OUT, checked before the program starts.
 *
 * Called from: cmd_run.c, attach_family.c.
 */
#ifndef WALLPROF_OUTPUTS_H
#define WALLPROF_OUTPUTS_H

#include "config/config.h"
#include "run_options.h"

/* Reads the environment as the library will. */
void outputs_read_config(struct config *config);

/* Sets WALLPROF_OUT to what the options and the environment ask for, with absolute names, as programs of the
 * run may be in other directories. *ret is the configuration that the program will have. 0, or the status of
 * the refusal. */
int outputs_choose(const struct run_options *options, struct config *ret, struct refusal *refusal);

/* Makes the names of what was chosen absolute, below a directory, and adds one more unless it is NULL. 0 or
 * the status of the refusal. */
int outputs_set(struct config *config, const char *directory, const char *also, struct refusal *refusal);

#endif
