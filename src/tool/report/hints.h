/*
 * What would make a profile say more: names and processes that are missing, and how to get them.
 *
 * Called from: reports.
 */
#ifndef WALLPROF_HINTS_H
#define WALLPROF_HINTS_H

#include "report.h"

#include <stdbool.h>

enum { HINTS_MAX = 4, HINT_BYTES = 256 };

struct hints {
    char texts[HINTS_MAX][HINT_BYTES];
    size_t count;
};

/* How to get the names of code that was compiled at run time, if a twentieth of the time that is shown was
 * spent in such code without a name, or in what it called. Returns whether. */
bool hints_of_code(const struct report *report, const struct profile *profile, char ret[HINT_BYTES]);

/* Who was waited for to end, and how to record it too, if that took half of the time that is shown. Returns
 * whether. */
bool hints_of_children(const struct report *report, const struct profile *profile, char ret[HINT_BYTES]);

/* Those, and files without names, if they have a twentieth of the time of their own. */
void hints_make(struct hints *hints, const struct report *report, const struct profile *profile);

#endif
