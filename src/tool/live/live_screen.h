/*
 * A process that runs, as a screen or as a table: lines of text of its profile, as it is now and was before.
 *
 * Called from: live_loop.c, after text_init. A pure function of its arguments. But the nodes of `now`
 * have the values of the interval for the time of the call, so no other thread may read them then. Malloc.
 */
#ifndef WALLPROF_LIVE_SCREEN_H
#define WALLPROF_LIVE_SCREEN_H

#include "live_view.h"
#include "profile/profile.h"

#include <stdio.h>

struct live_screen {
    const struct profile *now; /* NULL: there is none yet */
    const struct profile
        *before; /* where the last interval began; NULL: with the recording. Indexed, as base */
    const struct profile *base; /* where all that is shown began; NULL: with the recording */
    const struct live_view *view;
    const char *title; /* which process it is: the first line begins with it */
    const char *how;   /* how it is recorded, for people; "" for nothing to say */
    size_t lines;      /* of rows, in a table */
    int rows;          /* of the terminal; 0: this is a table, without keys */
    int columns;       /* 0: names are not cut */
    bool has_colour;
};

/* Writes at most `rows` lines, each of at most `columns` columns and with a line end. 0 or -ENOMEM. */
int live_screen_write(const struct live_screen *screen, FILE *stream);

#endif
