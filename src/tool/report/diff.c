#include "diff.h"
#include "base/name_pattern.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one run's row ---- */

/* Sorted by the name that both sides have in common. */
struct run_row {
    const char *key, *name;
    int side;
    size_t run;
    struct values flat, cum;
    struct report_error flat_error, cum_error;
};

static int compare_run_rows(const void *left, const void *right)
{
    const struct run_row *a = left, *b = right;
    int order = strcmp(a->key, b->key);
    order = order ? order : a->side - b->side;
    return order ? order : (a->run > b->run) - (a->run < b->run);
}

static void scale(uint64_t *value, double factor)
{
    *value = (uint64_t)((double)*value * factor + 0.5);
}

static void scale_values(struct values *values, double factor)
{
    if (factor == 1)
        return;
    scale(&values->samples, factor);
    scale(&values->cpu_ns, factor);
    scale(&values->rundelay_ns, factor);
    scale(&values->blocked_ns, factor);
}

static void scale_error(struct report_error *error, double factor)
{
    if (error->wall_ns != REPORT_ERROR_UNKNOWN)
        scale(&error->wall_ns, factor);
    if (error->cpu_ns != REPORT_ERROR_UNKNOWN)
        scale(&error->cpu_ns, factor);
}

/* Of a sum or a difference of independent numbers. */
static uint64_t both(uint64_t a_ns, uint64_t b_ns)
{
    if (a_ns == REPORT_ERROR_UNKNOWN || b_ns == REPORT_ERROR_UNKNOWN)
        return REPORT_ERROR_UNKNOWN;
    return (uint64_t)fmin(hypot((double)a_ns, (double)b_ns), 1e18);
}

struct report_error diff_error(const struct report_error errors[2])
{
    return (struct report_error){both(errors[0].wall_ns, errors[1].wall_ns),
                                 both(errors[0].cpu_ns, errors[1].cpu_ns)};
}

bool diff_has_error(const struct diff *diff, enum report_metric metric)
{
    return diff->has_errors && (metric == METRIC_WALL || metric == METRIC_CPU);
}

uint64_t diff_error_ns(const struct diff *diff, const struct report_error errors[2],
                       enum report_metric metric)
{
    const struct report_error error = diff_error(errors);
    if (!diff_has_error(diff, metric))
        return 0;
    return metric == METRIC_CPU ? error.cpu_ns : error.wall_ns;
}

static void add_error(struct report_error *to, const struct report_error *from)
{
    *to = diff_error((const struct report_error[2]){*to, *from});
}

/* What the values of a side's run are multiplied by. */
static double factor_of(const struct diff *diff, int side, size_t run)
{
    const struct diff_request *request = &diff->request;
    if (request->scale == DIFF_WORK)
        return side ? request->units[0] / request->units[1] : 1;
    const double before = (double)report_metric(&diff->total[0], request->metric),
                 own = (double)report_metric(&diff->sides[side].runs[run].selected, request->metric);
    return request->scale == DIFF_SHARES && before > 0 && own > 0 ? before / own : 1;
}

/* ---- the runs of a side ---- */

/* Flat or cumulative values of a row. */
struct side_values {
    struct values sum;
    struct report_error error; /* the last run's */
    struct spread wall, cpu, metric;
};

static double bar_of(uint64_t error_ns)
{
    return error_ns == REPORT_ERROR_UNKNOWN ? 0 : (double)error_ns;
}

static double metric_bar(const struct report_error *error, enum report_metric metric)
{
    if (metric == METRIC_OFFCPU)
        return bar_of(report_error_offcpu_ns(error));
    return metric == METRIC_WALL ? bar_of(error->wall_ns) : metric == METRIC_CPU ? bar_of(error->cpu_ns) : 0;
}

static void add_run(struct side_values *side, const struct values *values, const struct report_error *error,
                    enum report_metric metric)
{
    tree_add_values(&side->sum, values);
    side->error = *error;
    spread_add(&side->wall, (double)tree_wall_ns(values), bar_of(error->wall_ns));
    spread_add(&side->cpu, (double)values->cpu_ns, bar_of(error->cpu_ns));
    spread_add(&side->metric, (double)report_metric(values, metric), metric_bar(error, metric));
}

static uint64_t mean_error(const struct spread *spread)
{
    const struct spread_mean mean = spread_mean_of(spread);
    return (uint64_t)fmin(spread_bar(&mean), 1e18);
}

/* A row that is missing in some of the runs is 0 in them. */
static void finish_side(struct side_values *side, size_t run_count, enum report_metric metric,
                        struct values *ret, struct report_error *ret_error)
{
    static const struct values nothing;
    static const struct report_error exact;
    while (side->wall.runs < run_count)
        add_run(side, &nothing, &exact, metric);
    *ret = side->sum;
    scale_values(ret, 1 / (double)run_count);
    *ret_error = side->error;
    if (run_count > 1)
        *ret_error = (struct report_error){mean_error(&side->wall), mean_error(&side->cpu)};
}

/* ---- runs in turns ---- */

static bool are_in_turns(const struct diff_side *before, const struct diff_side *after)
{
    for (size_t i = 1; i < before->run_count && i < after->run_count; i++)
        if (before->runs[i].start_utc_ns <= after->runs[i - 1].start_utc_ns ||
            after->runs[i].start_utc_ns <= before->runs[i - 1].start_utc_ns)
            return false;
    return before->run_count == after->run_count && before->run_count >= SPREAD_PAIRS_LEAST;
}

static void begin_pairs(const struct diff *diff)
{
    if (diff->is_in_turns)
        memset(diff->pairs, 0, diff->sides[0].run_count * sizeof *diff->pairs);
}

static void add_to_pair(const struct diff *diff, int side, size_t run, double value, double bar)
{
    if (diff->is_in_turns)
        spread_pair_add(&diff->pairs[run], side ? value : -value, bar);
}

static struct spread pairs_of(const struct diff *diff)
{
    return spread_of_pairs(diff->pairs, diff->is_in_turns ? diff->sides[0].run_count : 0);
}

struct spread_mean diff_mean_change(const struct diff_runs *runs)
{
    return runs->pairs.runs ? spread_mean_of(&runs->pairs)
                            : spread_difference(&runs->sides[0], &runs->sides[1]);
}

/* ---- rows of both sides ---- */

/* The rows of one run that have a key, several threads for example, as one. Returns the first row after. */
static const struct run_row *join_run(const struct run_row *row, const struct run_row *end,
                                      struct run_row *ret)
{
    *ret = *row;
    while (++row < end && compare_run_rows(ret, row) == 0) {
        tree_add_values(&ret->flat, &row->flat);
        tree_add_values(&ret->cum, &row->cum);
        add_error(&ret->flat_error, &row->flat_error);
        add_error(&ret->cum_error, &row->cum_error);
    }
    return row;
}

/* All rows of a key, of both sides. Returns the first row after. */
static const struct run_row *join_row(const struct diff *diff, const struct run_row *row,
                                      const struct run_row *end, struct diff_row *ret)
{
    const enum report_metric metric = diff->request.metric;
    const char *key = row->key;
    struct side_values flat[2] = {0}, cum[2] = {0};
    *ret = (struct diff_row){.name = row->name};
    begin_pairs(diff);
    while (row < end && strcmp(row->key, key) == 0) {
        struct run_row joined;
        row = join_run(row, end, &joined);
        add_run(&flat[joined.side], &joined.flat, &joined.flat_error, metric);
        add_run(&cum[joined.side], &joined.cum, &joined.cum_error, metric);
        add_to_pair(diff, joined.side, joined.run, (double)report_metric(&joined.cum, metric),
                    metric_bar(&joined.cum_error, metric));
    }
    ret->presence = !flat[0].wall.runs ? DIFF_NEW : !flat[1].wall.runs ? DIFF_GONE : DIFF_BOTH;
    for (int side = 0; side < 2; side++) {
        const size_t run_count = diff->sides[side].run_count;
        finish_side(&flat[side], run_count, metric, &ret->flat[side], &ret->flat_error[side]);
        finish_side(&cum[side], run_count, metric, &ret->cum[side], &ret->cum_error[side]);
        ret->runs.sides[side] = cum[side].metric;
    }
    ret->runs.pairs = pairs_of(diff);
    return row;
}

/* A row of a report, or a thread. Ids differ in every run: threads are compared by name. */
static struct report_row row_at(const struct report *report, bool of_threads, size_t index)
{
    if (!of_threads)
        return report->rows[index];
    const struct report_thread *thread = &report->threads[index];
    return (struct report_row){.name = thread->name, .flat = thread->total, .cum = thread->total};
}

static size_t rows_in(const struct report *report, bool of_threads)
{
    return of_threads ? report->thread_count : report->row_count;
}

/* Modules are compared by the names of their files, wherever those are. The program's file and its main
 * thread may have another name on each side. */
static const char *key_of(const struct diff *diff, int side, bool of_threads, const char *name)
{
    enum { COMM_BYTES = 15 };
    const char *program = diff->sides[side].program;
    if (of_threads)
        return program && strncmp(name, program, COMM_BYTES) == 0 ? "" : name;
    if (diff->request.by != REPORT_BY_MODULE)
        return name;
    name = name_last_part(name);
    return program && strcmp(name, program) == 0 ? "" : name;
}

static size_t take_run(const struct diff *diff, int side, size_t run, bool of_threads, struct run_row *rows)
{
    const struct report *report = &diff->sides[side].runs[run];
    const double factor = factor_of(diff, side, run);
    const size_t count = rows_in(report, of_threads);
    for (size_t i = 0; i < count; i++) {
        const struct report_row from = row_at(report, of_threads, i);
        struct run_row *row = &rows[i];
        *row = (struct run_row){.key = key_of(diff, side, of_threads, from.name),
                                .name = from.name,
                                .side = side,
                                .run = run,
                                .flat = from.flat,
                                .cum = from.cum,
                                .flat_error = from.flat_error,
                                .cum_error = from.cum_error};
        scale_values(&row->flat, factor);
        scale_values(&row->cum, factor);
        scale_error(&row->flat_error, factor);
        scale_error(&row->cum_error, factor);
    }
    return count;
}

static size_t count_rows(const struct diff *diff, bool of_threads)
{
    size_t count = 0;
    for (int side = 0; side < 2; side++)
        for (size_t run = 0; run < diff->sides[side].run_count; run++)
            count += rows_in(&diff->sides[side].runs[run], of_threads);
    return count;
}

static struct diff_row *collect_rows(const struct diff *diff, bool of_threads, size_t *ret_count)
{
    const size_t most = count_rows(diff, of_threads);
    struct run_row *of_runs = calloc(most + 1, sizeof *of_runs);
    struct diff_row *rows = calloc(most + 1, sizeof *rows);
    size_t count = 0;
    *ret_count = 0;
    if (of_runs && rows) {
        for (int side = 0; side < 2; side++)
            for (size_t run = 0; run < diff->sides[side].run_count; run++)
                count += take_run(diff, side, run, of_threads, of_runs + count);
        qsort(of_runs, count, sizeof *of_runs, compare_run_rows);
        for (const struct run_row *at = of_runs; at < of_runs + count;)
            at = join_row(diff, at, of_runs + count, &rows[(*ret_count)++]);
    } else {
        free(rows);
        rows = NULL;
    }
    free(of_runs);
    return rows;
}

/* ---- totals and changes ---- */

static struct values mean_total(const struct diff_side *side)
{
    struct values total = {0};
    for (size_t run = 0; run < side->run_count; run++)
        tree_add_values(&total, &side->runs[run].selected);
    scale_values(&total, 1 / (double)side->run_count);
    return total;
}

static double total_of_run(const struct diff *diff, int side, size_t run)
{
    return factor_of(diff, side, run) *
           (double)report_metric(&diff->sides[side].runs[run].selected, diff->request.metric);
}

static struct diff_runs totals_of_runs(const struct diff *diff)
{
    struct diff_runs runs = {0};
    begin_pairs(diff);
    for (int side = 0; side < 2; side++)
        for (size_t run = 0; run < diff->sides[side].run_count; run++) {
            const double total = total_of_run(diff, side, run);
            spread_add(&runs.sides[side], total, 0);
            add_to_pair(diff, side, run, total, 0);
        }
    runs.pairs = pairs_of(diff);
    return runs;
}

int64_t diff_change(const struct values values[2], enum report_metric metric)
{
    return (int64_t)(report_metric(&values[1], metric) - report_metric(&values[0], metric));
}

static uint64_t size_of(int64_t change)
{
    return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

/* Largest change first; then the larger change of the other of flat and cum; then by name. */
static int compare_changes(const void *left, const void *right, void *context)
{
    const struct diff_row *a = left, *b = right;
    const struct diff_request *request = context;
    const bool by_cum = request->by_cum;
    uint64_t change_a = size_of(diff_change(by_cum ? a->cum : a->flat, request->metric)),
             change_b = size_of(diff_change(by_cum ? b->cum : b->flat, request->metric));
    if (change_a == change_b) {
        change_a = size_of(diff_change(by_cum ? a->flat : a->cum, request->metric));
        change_b = size_of(diff_change(by_cum ? b->flat : b->cum, request->metric));
    }
    int order = (change_a < change_b) - (change_a > change_b);
    return order ? order : strcmp(a->name, b->name);
}

int diff_make(struct diff *diff, const struct diff_side sides[2], const struct diff_request *request)
{
    *diff = (struct diff){.sides = {sides[0], sides[1]},
                          .request = *request,
                          .is_in_turns = are_in_turns(&sides[0], &sides[1])};
    if (diff->is_in_turns && !(diff->pairs = calloc(sides[0].run_count, sizeof *diff->pairs)))
        return -ENOMEM;
    for (int side = 0; side < 2; side++)
        diff->total[side] = mean_total(&sides[side]);
    diff->runs = totals_of_runs(diff);
    diff->rows = collect_rows(diff, request->by == REPORT_BY_THREAD, &diff->row_count);
    diff->threads = collect_rows(diff, true, &diff->thread_count);
    if (!diff->rows || !diff->threads) {
        diff_free(diff);
        return -ENOMEM;
    }
    qsort_r(diff->rows, diff->row_count, sizeof *diff->rows, compare_changes, &diff->request);
    qsort_r(diff->threads, diff->thread_count, sizeof *diff->threads, compare_changes, &diff->request);
    return 0;
}

void diff_free(struct diff *diff)
{
    free(diff->rows);
    free(diff->threads);
    free(diff->pairs);
    *diff = (struct diff){.rows = NULL};
}
