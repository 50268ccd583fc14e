/*
 * Whether AFTER takes too much more than BEFORE: the verdict of `wallprof diff --gate`.
 *
 * It fails if the mean of AFTER's runs is above the limit and chance alone would put it above BEFORE's in
 * less than 1 of 100 cases. So equal programs fail at most once in 100 times, whatever the limit is. With one
 * run of each side, nobody knows how much runs differ by chance. Then only the error bars of samples count.
 *
 * Called from: the commands, after diff_make.
 */
#ifndef WALLPROF_GATE_H
#define WALLPROF_GATE_H

#include "base/json.h"
#include "diff.h"

struct gate {
    const char *row; /* whose cumulative metric was judged; NULL: the total */
    double limit;    /* 0.05: 5 % more are allowed */
    enum report_metric metric;
    double before, after; /* a run's mean, in ns (or samples), scaled as the difference is */
    double change, bar;   /* in shares of before; bar: at 95 %. INFINITY if there was nothing before */
    size_t run_counts[2];
    bool is_certain, has_failed;
};

/* Rows that a name may mean: how many, and the first two. */
struct gate_rows {
    size_t count;
    const struct diff_row *rows[2];
};

/* By the whole name; else by a short one, as `wallprof callers` takes it. */
struct gate_rows gate_find(const struct diff *diff, const char *name);

/* row: of the difference; NULL: the total. */
struct gate gate_judge(const struct diff *diff, const struct diff_row *row, double limit);

/* "cpu +6.1% ±0.8%, 5% allowed: failed". Returns ret. */
enum { GATE_TEXT_BYTES = 256 };
const char *gate_text(const struct gate *gate, char ret[GATE_TEXT_BYTES]);

/* Whether nobody knows how much runs differ by chance; GATE_ONE_RUN says so. */
bool gate_is_of_one_run(const struct gate *gate);
#define GATE_ONE_RUN                                                                                         \
    "one run of each side: how much runs differ by chance is not known. Compare directories of several runs"

void gate_json_write(const struct gate *gate, struct json *json);

#endif
