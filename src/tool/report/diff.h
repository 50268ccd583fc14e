/*
 * Two reports side by side: what each row and thread took before and after, and the difference.
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
    struct values flat[2], cum[2]; /* before and after; zeros where it was not there */
    enum diff_presence presence;
};

struct diff {
    const struct report *reports[2];
    struct diff_row *rows;    /* all of both, by the size of their difference */
    struct diff_row *threads; /* threads of one name together; flat and cum are the same */
    size_t row_count, thread_count;
    enum report_by by;
    enum report_metric metric;
    bool by_cum, is_normalized;
    double scale; /* what AFTER's values are multiplied by */
};

/*
 * `reports` are before and after, and must outlive it. With is_normalized, what came after is scaled so that
 * both have the same total of the metric. 0 or -ENOMEM with nothing held.
 */
int diff_make(struct diff *diff, const struct report *before, const struct report *after, enum report_by by,
              enum report_metric metric, bool by_cum, bool is_normalized);
void diff_free(struct diff *diff);

/* After less before, of a metric; scaled if so asked for. */
int64_t diff_change(const struct diff *diff, const struct values values[2], enum report_metric metric);

void diff_table_write(const struct diff *diff, size_t lines, int columns, bool has_colour, FILE *stream);
void diff_json_write(const struct diff *diff, size_t lines, struct json *json);

#endif
