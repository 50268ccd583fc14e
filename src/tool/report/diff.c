#include "diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows of both, by name ---- */

static int compare_names(const void *left, const void *right)
{
    const struct diff_row *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->presence > b->presence) - (a->presence < b->presence);
}

/* Of a sum or a difference of independent numbers. */
static uint64_t both(uint64_t a_ns, uint64_t b_ns, double scale_of_b)
{
    if (a_ns == REPORT_ERROR_UNKNOWN || b_ns == REPORT_ERROR_UNKNOWN)
        return REPORT_ERROR_UNKNOWN;
    return (uint64_t)fmin(hypot((double)a_ns, (double)b_ns * scale_of_b), 1e18);
}

static void add_error(struct report_error *to, const struct report_error *from)
{
    to->wall_ns = both(to->wall_ns, from->wall_ns, 1);
    to->cpu_ns = both(to->cpu_ns, from->cpu_ns, 1);
}

/* Joins rows of one name. Before that a row is of one side only, and its presence says which. */
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
            tree_add_values(&last->flat[side], &rows[i].flat[side]);
            tree_add_values(&last->cum[side], &rows[i].cum[side]);
            add_error(&last->flat_error[side], &rows[i].flat_error[side]);
            add_error(&last->cum_error[side], &rows[i].cum_error[side]);
        }
        if (last->presence != rows[i].presence)
            last->presence = DIFF_BOTH;
    }
    return kept;
}

/* A row of a report, or a thread. Ids differ in every run: threads are compared by name. */
static struct report_row row_at(const struct report *report, bool of_threads, size_t index)
{
    if (!of_threads)
        return report->rows[index];
    const struct report_thread *thread = &report->threads[index];
    return (struct report_row){.name = thread->name, .flat = thread->total, .cum = thread->total};
}

static struct diff_row *collect_rows(const struct diff *diff, bool of_threads, size_t *ret_count)
{
    const struct report *const *reports = diff->reports;
    size_t count = 0, counts[2];
    for (int side = 0; side < 2; side++)
        counts[side] = of_threads ? reports[side]->thread_count : reports[side]->row_count;
    struct diff_row *rows = calloc(counts[0] + counts[1] + 1, sizeof *rows);
    for (int side = 0; rows && side < 2; side++) {
        for (size_t i = 0; i < counts[side]; i++) {
            const struct report_row from = row_at(reports[side], of_threads, i);
            struct diff_row *row = &rows[count++];
            row->name = from.name;
            row->flat[side] = from.flat;
            row->cum[side] = from.cum;
            row->flat_error[side] = from.flat_error;
            row->cum_error[side] = from.cum_error;
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
    if (diff->is_normalized) /* zero stays zero, and equal profiles have no difference */
        after = (uint64_t)((double)after * diff->scale + 0.5);
    return (int64_t)(after - before);
}

struct report_error diff_error(const struct diff *diff, const struct report_error errors[2])
{
    return (struct report_error){both(errors[0].wall_ns, errors[1].wall_ns, diff->scale),
                                 both(errors[0].cpu_ns, errors[1].cpu_ns, diff->scale)};
}

static uint64_t size_of(int64_t change)
{
    return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

static int64_t sorted_change(const struct diff *diff, const struct diff_row *row)
{
    return diff_change(diff, diff->by_cum ? row->cum : row->flat, diff->metric);
}

/* Largest change first; then the larger change of the other of flat and cum; then by name. */
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
    diff->rows = collect_rows(diff, by == REPORT_BY_THREAD, &diff->row_count);
    diff->threads = collect_rows(diff, true, &diff->thread_count);
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
