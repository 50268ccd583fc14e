/*
 * Two sides compared: the values of each row and thread before and after, and the difference.
 *
 * A side is one run of a program, or several. Of several runs each value is the mean, and its error bar is
 * what the runs show (spread.h). A row that a run does not have is 0 there.
 *
 * Called from: the commands, after text_init. Malloc.
 */
#ifndef WALLPROF_DIFF_H
#define WALLPROF_DIFF_H

#include "report.h"
#include "spread.h"

/* A new binary often has another name: rows that are named after the program are one row. */
struct diff_side {
    const struct report *runs; /* at least one, in the order in which they were made */
    size_t run_count;
    const char *program; /* its file's name; NULL if it is not known */
};

/* What the values of AFTER are multiplied by. */
enum diff_scale {
    DIFF_AS_MEASURED,
    DIFF_SHARES, /* the total of each run, of both sides, becomes that of BEFORE's mean */
    DIFF_WORK    /* BEFORE's units of work by AFTER's */
};

struct diff_request {
    enum report_by by;
    enum report_metric metric;
    bool by_cum;
    enum diff_scale scale;
    double units[2]; /* of work, with DIFF_WORK */
};

/* A metric of the runs of each side. */
struct diff_runs {
    struct spread sides[2];
    struct spread pairs; /* AFTER less BEFORE of each pair; empty if the runs were not made in turns */
};

enum diff_presence { DIFF_BOTH, DIFF_NEW, DIFF_GONE };

struct diff_row {
    const char *name;
    struct values flat[2], cum[2]; /* before and after; zeros where there is no such row */
    struct report_error flat_error[2], cum_error[2];
    struct diff_runs runs; /* their cumulative metric */
    enum diff_presence presence;
};

struct diff {
    struct diff_side sides[2];
    struct diff_request request;
    struct values total[2];   /* of a run, as it was measured, without what filters leave out */
    bool is_in_turns;         /* runs are compared pair by pair (spread.h) */
    struct diff_runs runs;    /* the metric of the total, scaled as rows are */
    struct diff_row *rows;    /* of both sides, by the size of their difference */
    struct diff_row *threads; /* one row for all threads of a name; flat and cum are the same */
    size_t row_count, thread_count;
    struct spread_pair *pairs; /* of the row that is being made */
    bool has_errors;           /* error bars are shown; false after diff_make */
};

/* The reports must outlive the difference. 0; or -ENOMEM with nothing held. */
int diff_make(struct diff *diff, const struct diff_side sides[2], const struct diff_request *request);
void diff_free(struct diff *diff);

/* How far apart the sides are, and by how much of it by chance. */
struct spread_mean diff_mean_change(const struct diff_runs *runs);

/* A metric after less before. */
int64_t diff_change(const struct values values[2], enum report_metric metric);

/* The error bar of a change. */
struct report_error diff_error(const struct report_error errors[2]);

/* The same of one metric; 0 where it has no bar, or none is shown. May be REPORT_ERROR_UNKNOWN. */
uint64_t diff_error_ns(const struct diff *diff, const struct report_error errors[2],
                       enum report_metric metric);
bool diff_has_error(const struct diff *diff, enum report_metric metric);

#endif
