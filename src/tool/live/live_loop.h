/*
 * Shows a process that runs, again and again, until somebody has seen enough or it has ended.
 *
 * Called from: cmd_live.c. One thread.
 */
#ifndef WALLPROF_LIVE_LOOP_H
#define WALLPROF_LIVE_LOOP_H

#include "live_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct live_options {
    pid_t pid;
    uint64_t interval_ns;
    long count; /* of tables; 0: no limit */
    bool has_screen, has_colour;
    size_t lines; /* of rows, in a table */
    int columns;  /* of a table; 0: names are not cut */
};

/* *view is as it is to begin. 0, or 1 after a message. */
int live_loop(const struct live_options *options, struct live_view *view);

#endif
