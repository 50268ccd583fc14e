/*
 * What would make a profile say more: names that are missing, and how to get them.
 *
 * Called from: reports.
 */
#ifndef WALLPROF_HINTS_H
#define WALLPROF_HINTS_H

#include "report.h"

enum { HINTS_MAX = 4, HINT_BYTES = 256 };

struct hints {
    char texts[HINTS_MAX][HINT_BYTES];
    size_t count;
};

/* Files without names are mentioned if they have a twentieth of the time that is shown. */
void hints_make(struct hints *hints, const struct report *report, const struct profile *profile);

#endif
