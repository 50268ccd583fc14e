/*
 * The row of a report that each frame is in, and which locations match the filters. Both are known before the
 * trees are walked.
 *
 * Called from: report.c makes it, report_walk.c reads it.
 */
#ifndef WALLPROF_REPORT_ROWS_H
#define WALLPROF_REPORT_ROWS_H

#include "report.h"

/* For a frame without a row: a label's where rows are functions, or a function's where rows are labels. */
#define REPORT_NO_ROW UINT32_MAX

/* What time is spent on: enum wait_kind, or running. */
enum { REPORT_RUNNING = WAIT_KIND_COUNT, REPORT_SPENT_COUNT };

struct report_rows {
    const struct profile *profile;
    const struct report_request *request;
    struct string_table *names; /* a row has the number of its name */
    struct report_location {
        const char *path; /* of its module or region; NULL without one */
        bool is_focus, is_ignored, is_label_wanted;
    } * locations;          /* owned; by location index */
    uint32_t *row_of_frame; /* owned; by index into symbols->frames */
    bool *is_inlined;       /* owned; by row */
    uint32_t no_label_row;  /* where rows are labels: for samples without one; else REPORT_NO_ROW */
    /* Where rows are of waits: for time that no label of that key is on. By what it is spent on. */
    uint32_t spent_rows[REPORT_SPENT_COUNT];
};

/* False without memory; report_rows_deinit also then. */
bool report_rows_init(struct report_rows *rows, const struct profile *profile,
                      const struct report_request *request, struct string_table *names);
void report_rows_deinit(struct report_rows *rows);

#endif
