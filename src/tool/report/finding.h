/*
 * One function of a report, looked at closely: where in it the time is, what it calls, and who calls it.
 *
 * Called from: `wallprof explain`. Malloc.
 */
#ifndef WALLPROF_FINDING_H
#define WALLPROF_FINDING_H

#include "report.h"

enum { FINDING_CALLERS_MAX = 3 };

struct finding {
    const struct report_row *row;
    const char *file;   /* with the line that has most of the row's own time; NULL: not known */
    uint32_t line;      /* 0: not known */
    const char *module; /* path of its file; NULL without one */
    const char
        *through; /* what it calls with most of that time: pthread_mutex_lock, deflate; NULL: nothing */
    uint64_t through_ns; /* wall time there */
    /* Functions of the user's around it, the nearest first, where it has most of its time. */
    const char *callers[FINDING_CALLERS_MAX];
    uint32_t caller_count;
    struct wait_sums waits; /* what the row's own time was waited for */
};

/* Looks at a row of a report by function. 0 or -ENOMEM; free in any case. Strings are the profile's. */
int finding_look(struct finding *ret, const struct report *report, const struct profile *profile,
                 const struct report_row *row);
void finding_free(struct finding *finding);

/* What most of that time was waited for; false if that is not known. */
bool finding_waits_for(const struct finding *finding, struct wait_thing *ret);

#endif
