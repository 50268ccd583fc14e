/*
 * Two reports side by side: the values of each row and thread before and after, and the difference.
 *
 * Called from: the commands, after text_init. Malloc.
 */
#ifndef WALLPROF_DIFF_H
#define WALLPROF_DIFF_H

#include "base/json.h"
#include "report.h"

#include <stdio.h>

enum diff_presence { DIFF_BOTH, DIFF_NEW, DIFF_GONE };

struct diff_row {
    const char *name;
    struct values flat[2], cum[2]; /* before and after; zeros where there is no such row */
    struct report_error flat_error[2], cum_error[2];
    enum diff_presence presence;
};

struct diff {
    const struct report *reports[2];
    struct diff_row *rows;    /* of both reports, by the size of their difference */
    struct diff_row *threads; /* one row for all threads of a name; flat and cum are the same */
    size_t row_count, thread_count;
    enum report_by by;
    enum report_metric metric;
    bool by_cum, is_normalized;
    bool has_errors; /* error bars are shown; false after diff_make */
    double scale;    /* AFTER's values are multiplied by it */
};

/*
 * The reports must outlive the difference. With is_normalized, AFTER is scaled so that both have the same
 * total of the metric. 0; or -ENOMEM with nothing held.
 */
int diff_make(struct diff *diff, const struct report *before, const struct report *after, enum report_by by,
              enum report_metric metric, bool by_cum, bool is_normalized);
void diff_free(struct diff *diff);

/* A metric after less before; normalized if the difference is. */
int64_t diff_change(const struct diff *diff, const struct values values[2], enum report_metric metric);

/* The error bar of a change; scaled as the change is. */
struct report_error diff_error(const struct diff *diff, const struct report_error errors[2]);

void diff_table_write(const struct diff *diff, size_t lines, int columns, bool has_colour, FILE *stream);
void diff_json_write(const struct diff *diff, size_t lines, struct json *json);

#endif
