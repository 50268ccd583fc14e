/*
 * The command line of `wallprof run`. Its options are those of options.def, and some of its own.
 *
 * Called from: cmd_run.c. Nothing outside the struct is changed.
 */
#ifndef WALLPROF_RUN_OPTIONS_H
#define WALLPROF_RUN_OPTIONS_H

#include "refusal.h"

#include <limits.h>
#include <stdbool.h>

enum { RUN_OPTIONS_MAX = 64, RUN_LIST_BYTES = 8 * PATH_MAX };

enum run_wish { RUN_PROGRAM, RUN_HELP, RUN_HELP_ALL, RUN_VERSION };

struct run_options {
    enum run_wish wish;
    bool is_quiet, shows_top, merges;
    bool is_external;                     /* --external */
    bool leaves_names;                    /* --runtime-names off */
    char outs[RUN_LIST_BYTES];            /* --out, separated by commas; "" without */
    char formats[RUN_LIST_BYTES];         /* --format, likewise */
    const char *store;                    /* --store, NULL without */
    char *variables[RUN_OPTIONS_MAX + 1]; /* of the other options: "NAME=value", malloc'd; NULL at the end */
    int variable_count;
    char **program; /* and its arguments: the rest of argv */
};

/* Reads argv, whose first element is a name. 0, or the status of the refusal. */
int run_options_read(struct run_options *ret, char **argv, struct refusal *refusal);

/* Prints the help: the frequent options, or all. 0 or 1. */
int run_options_print_help(bool is_whole);

#endif
