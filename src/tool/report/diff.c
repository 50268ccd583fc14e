#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows of both, by name ---- */

static int compare_names(const void *left, const void *right)
{
    const struct diff_row *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->presence > b->presence) - (a->presence < b->presence);
}

/* Rows of one name become one. Until then a row is of one side only, and says by its presence of which. */
static size_t join_rows(struct diff_row *rows, size_t count)
{
    size_t kept = 0;
    qsort(rows, count, sizeof *rows, compare_names);
    for (size_t i = 0; i < count; i++) {
        struct diff_row *last = kept ? &rows[kept - 1] : NULL;
        if (!last || strcmp(last->name, rows[i].name) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        for (int side = 0; side < 2; side++) {
            report_add(&last->flat[side], &rows[i].flat[side]);
            report_add(&last->cum[side], &rows[i].cum[side]);
        }
        if (last->presence != rows[i].presence)
            last->presence = DIFF_BOTH;
    }
    return kept;
}

static struct diff_row *take_rows(const struct diff *diff, size_t *ret_count)
{
    size_t count = 0;
    struct diff_row *rows =
        calloc(diff->reports[0]->row_count + diff->reports[1]->row_count + 1, sizeof *rows);
    for (int side = 0; rows && side < 2; side++) {
        for (size_t i = 0; i < diff->reports[side]->row_count; i++) {
            const struct report_row *from = &diff->reports[side]->rows[i];
            struct diff_row *row = &rows[count++];
            row->name = from->name;
            row->flat[side] = from->flat;
            row->cum[side] = from->cum;
            row->presence = side ? DIFF_NEW : DIFF_GONE;
        }
    }
    *ret_count = rows ? join_rows(rows, count) : 0;
    return rows;
}

/* Ids are others in every run: threads are compared by name. */
static struct diff_row *take_threads(const struct diff *diff, size_t *ret_count)
{
    size_t count = 0;
    struct diff_row *rows =
        calloc(diff->reports[0]->thread_count + diff->reports[1]->thread_count + 1, sizeof *rows);
    for (int side = 0; rows && side < 2; side++) {
        for (size_t i = 0; i < diff->reports[side]->thread_count; i++) {
            const struct report_thread *from = &diff->reports[side]->threads[i];
            struct diff_row *row = &rows[count++];
            row->name = from->name;
            row->flat[side] = row->cum[side] = from->total;
            row->presence = side ? DIFF_NEW : DIFF_GONE;
        }
    }
    *ret_count = rows ? join_rows(rows, count) : 0;
    return rows;
}

/* ---- changes ---- */

int64_t diff_change(const struct diff *diff, const struct values values[2], enum report_metric metric)
{
    uint64_t before = report_metric(&values[0], metric), after = report_metric(&values[1], metric);
    if (diff->is_normalized) /* of zero it stays zero, and of equal profiles everything does */
        after = (uint64_t)((double)after * diff->scale + 0.5);
    return (int64_t)(after - before);
}

static uint64_t size_of(int64_t change)
{
    return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

static int64_t sorted_change(const struct diff *diff, const struct diff_row *row)
{
    return diff_change(diff, diff->by_cum ? row->cum : row->flat, diff->metric);
}

/* Largest change first; then what changed more with all that it calls; then by name. */
static int compare_changes(const void *left, const void *right, void *context)
{
    const struct diff_row *a = left, *b = right;
    const struct diff *diff = context;
    uint64_t change_a = size_of(sorted_change(diff, a)), change_b = size_of(sorted_change(diff, b));
    if (change_a == change_b) {
        change_a = size_of(diff_change(diff, diff->by_cum ? a->flat : a->cum, diff->metric));
        change_b = size_of(diff_change(diff, diff->by_cum ? b->flat : b->cum, diff->metric));
    }
    int order = (change_a < change_b) - (change_a > change_b);
    return order ? order : strcmp(a->name, b->name);
}

int diff_make(struct diff *diff, const struct report *before, const struct report *after, enum report_by by,
              enum report_metric metric, bool by_cum, bool is_normalized)
{
    uint64_t totals[2] = {report_metric(&before->selected, metric), report_metric(&after->selected, metric)};
    *diff = (struct diff){.reports = {before, after},
                          .by = by,
                          .metric = metric,
                          .by_cum = by_cum,
                          .is_normalized = is_normalized && totals[0] && totals[1]};
    diff->scale = diff->is_normalized ? (double)totals[0] / (double)totals[1] : 1;
    diff->rows =
        by == REPORT_BY_THREAD ? take_threads(diff, &diff->row_count) : take_rows(diff, &diff->row_count);
    diff->threads = take_threads(diff, &diff->thread_count);
    if (!diff->rows || !diff->threads) {
        diff_free(diff);
        return -ENOMEM;
    }
    qsort_r(diff->rows, diff->row_count, sizeof *diff->rows, compare_changes, diff);
    qsort_r(diff->threads, diff->thread_count, sizeof *diff->threads, compare_changes, diff);
    return 0;
}

void diff_free(struct diff *diff)
{
    free(diff->rows);
    free(diff->threads);
    *diff = (struct diff){.rows = NULL};
}
