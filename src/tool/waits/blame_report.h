/*
 * Who made others wait (blame.h), as text and as JSON.
 *
 * Called from: `wallprof blame`, after text_init.
 */
#ifndef WALLPROF_BLAME_REPORT_H
#define WALLPROF_BLAME_REPORT_H

#include "base/json.h"
#include "blame.h"

#include <stddef.h>
#include <stdio.h>

/* All culprits, the worst first, in malloc'd memory. NULL without memory. */
const struct blame_culprit **blame_sorted(const struct blame_sums *sums);

/* Of all culprits the first `shown` ones. columns: of the terminal; 0: nothing is cut. 0 or -ENOMEM. */
struct blame_report {
    const struct blame_sums *sums;
    const struct profile *profile;
    const struct blame_culprit *const *culprits;
    size_t shown;
};
int blame_put_text(const struct blame_report *report, int columns, FILE *stream);

/* Members of the object that is being written: wallprof(1) has the schema. 0 or -ENOMEM. */
int blame_put_json(const struct blame_report *report, struct json *json);

#endif
