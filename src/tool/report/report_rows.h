/*
 * Which row of a report each frame is in, and what the filters say of each location: all that is known before
 * the trees are walked.
 *
 * Called from: report.c makes it, report_walk.c reads it.
 */
#ifndef WALLPROF_REPORT_ROWS_H
#define WALLPROF_REPORT_ROWS_H

#include "report.h"

/* The row of a frame that is in none: a label's where rows are functions, or a function's where they are
 * labels. */
#define REPORT_NO_ROW UINT32_MAX

struct report_rows {
    const struct profile *profile;
    const struct report_request *request;
    struct string_table *names; /* rows have the numbers of their names */
    struct report_location {
        const char *path; /* of its module or region; NULL for a frame that is none's */
        bool is_focus, is_ignored, is_label_wanted;
    } * locations;          /* owned; by location index */
    uint32_t *row_of_frame; /* owned; by index into symbols->frames */
    uint32_t no_label_row;  /* where rows are labels: of what has none; else REPORT_NO_ROW */
};

/* False without memory; report_rows_deinit also then. */
bool report_rows_init(struct report_rows *rows, const struct profile *profile,
                      const struct report_request *request, struct string_table *names);
void report_rows_deinit(struct report_rows *rows);

#endif
