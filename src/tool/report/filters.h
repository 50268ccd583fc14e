/*
 * Filters that leave nothing of a profile: which of them does, and what there is instead.
 *
 * Called from: the commands with filters. Malloc.
 */
#ifndef WALLPROF_FILTERS_H
#define WALLPROF_FILTERS_H

#include "report.h"

/* Whether a report's filters have left nothing, not even waits for work. */
bool filters_left_nothing(const struct report *report, const struct report_request *request);

/* Says on stderr which filter it is, with the nearest name and some that there are. Returns 1. */
int filters_explain(const struct profile *profile, const struct report_request *request);

#endif
