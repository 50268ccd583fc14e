/* A difference as a table of text. */
#include "diff_forms.h"
#include "report_table.h"
#include "tool/io/text.h"

#include <inttypes.h>
#include <string.h>

enum { CELL_COLUMNS = 9, SHARE_COLUMNS = 8, ERROR_COLUMNS = 8, THREADS_MAX = 10 };

static const char *const presence_words[] = {[DIFF_BOTH] = "", [DIFF_NEW] = "new", [DIFF_GONE] = "gone"};

struct writing {
    const struct diff *diff;
    const struct diff_request *request;
    FILE *stream;
    int columns;
    bool has_colour;
};

static void put_change(const struct writing *writing, const struct values values[2],
                       enum report_metric metric)
{
    char number[TEXT_NUMBER_BYTES];
    int64_t change = diff_change(values, metric);
    if (metric == METRIC_SAMPLES)
        snprintf(number, sizeof number, change ? "%+" PRId64 : "%" PRId64, change);
    else
        text_time_change(number, change);
    text_put_number(writing->stream, number, CELL_COLUMNS);
}

/* A change with no digit that is chance, and its error bar. */
static void put_change_within(const struct writing *writing, const struct values values[2],
                              const struct report_error errors[2], enum report_metric metric)
{
    char number[TEXT_NUMBER_BYTES] = "few", bar[TEXT_NUMBER_BYTES + 4] = "";
    const uint64_t error_ns = diff_error_ns(writing->diff, errors, metric);
    int64_t change = diff_change(values, metric);
    if (!diff_has_error(writing->diff, metric)) {
        put_change(writing, values, metric);
        return;
    }
    text_time_change_within(number, change, error_ns);
    text_put_number(writing->stream, number, CELL_COLUMNS);
    if (error_ns == REPORT_ERROR_UNKNOWN) {
        snprintf(bar, sizeof bar, "%s", change ? "few" : "");
    } else if (error_ns) {
        text_time_within(number, error_ns, error_ns);
        snprintf(bar, sizeof bar, "±%s", number);
    }
    text_put_number(writing->stream, bar, ERROR_COLUMNS);
}

/* The change in per cent of before, or that the row is new or gone. */
static void put_relative(const struct writing *writing, const struct values values[2],
                         enum diff_presence presence, enum report_metric metric)
{
    char number[TEXT_NUMBER_BYTES] = "";
    uint64_t before = report_metric(&values[0], metric);
    double change = (double)diff_change(values, metric);
    if (presence != DIFF_BOTH)
        snprintf(number, sizeof number, "%s", presence_words[presence]);
    else if (before)
        snprintf(number, sizeof number, change ? "%+.1f%%" : "%.0f%%", 100 * change / (double)before);
    text_put_number(writing->stream, number, SHARE_COLUMNS);
}

/* The columns before the names. Of the other metric there is no CUM where error bars take its place. */
static int columns_used(const struct writing *writing)
{
    if (!writing->diff->has_errors)
        return 4 * CELL_COLUMNS + SHARE_COLUMNS + 2;
    int main_error = diff_has_error(writing->diff, writing->request->metric) ? 2 * ERROR_COLUMNS : 0;
    return 3 * CELL_COLUMNS + main_error + ERROR_COLUMNS + SHARE_COLUMNS + 2;
}

static void put_heading(const struct writing *writing, const char *heading, enum report_metric metric)
{
    text_put_number(writing->stream, heading, CELL_COLUMNS);
    if (diff_has_error(writing->diff, metric))
        text_put_number(writing->stream, "±", ERROR_COLUMNS);
}

static void put_row(const struct writing *writing, const struct diff_row *row, enum report_by by)
{
    const enum report_metric metric = writing->request->metric;
    const enum report_metric other = metric == METRIC_CPU ? METRIC_WALL : METRIC_CPU;
    const struct values *shown = writing->request->by_cum ? row->cum : row->flat;
    put_change_within(writing, row->flat, row->flat_error, metric);
    put_change_within(writing, row->cum, row->cum_error, metric);
    put_relative(writing, shown, row->presence, metric);
    put_change_within(writing, row->flat, row->flat_error, other);
    if (!writing->diff->has_errors)
        put_change(writing, row->cum, other);
    fputs("  ", writing->stream);
    report_put_name(writing->stream, row->name, by, writing->columns, columns_used(writing));
    fputc('\n', writing->stream);
}

static void put_headings(const struct writing *writing, const char *name)
{
    const enum report_metric metric = writing->request->metric;
    const enum report_metric other = metric == METRIC_CPU ? METRIC_WALL : METRIC_CPU;
    report_bold(writing->stream, writing->has_colour, true);
    fputc('\n', writing->stream);
    put_heading(writing, report_metric_headings[metric], metric);
    put_heading(writing, "CUM", metric);
    text_put_number(writing->stream, writing->request->by_cum ? "CUM %" : "%", SHARE_COLUMNS);
    put_heading(writing, report_metric_headings[other], other);
    if (!writing->diff->has_errors)
        text_put_number(writing->stream, "CUM", CELL_COLUMNS);
    fprintf(writing->stream, "  %s", name);
    report_bold(writing->stream, writing->has_colour, false);
    fputc('\n', writing->stream);
}

static void put_total(const struct writing *writing, const char *what, enum report_metric metric)
{
    const struct values *values = writing->diff->total;
    char before[TEXT_NUMBER_BYTES], after[TEXT_NUMBER_BYTES], change[TEXT_NUMBER_BYTES], share[64] = "";
    int64_t difference = diff_change(values, metric);
    uint64_t was = report_metric(&values[0], metric);
    text_time(before, was);
    text_time(after, report_metric(&values[1], metric));
    text_time_change(change, difference);
    if (was)
        snprintf(share, sizeof share, difference ? " (%+.1f%%)" : " (%.0f%%)",
                 100 * (double)difference / (double)was);
    fprintf(writing->stream, "%-7s %s to %s: %s%s\n", what, before, after, change, share);
}

/* Rows without a difference in the metric come last, and are not shown. */
static size_t count_changed(enum report_metric metric, const struct diff_row *rows, size_t count)
{
    while (count > 0 && !diff_change(rows[count - 1].flat, metric) &&
           !diff_change(rows[count - 1].cum, metric))
        count--;
    return count;
}

static void put_rows(const struct writing *writing, const struct diff_row *rows, size_t count, size_t lines,
                     enum report_by by)
{
    count = count_changed(writing->request->metric, rows, count);
    if (count == 0)
        fputs("no difference\n", writing->stream);
    for (size_t i = 0; i < count && i < lines; i++)
        put_row(writing, &rows[i], by);
    if (count > lines)
        fprintf(writing->stream, "and %zu more\n", count - lines);
}

static void put_gate(const struct writing *writing, const struct gate *gate)
{
    char text[GATE_TEXT_BYTES];
    report_bold(writing->stream, writing->has_colour, true);
    fprintf(writing->stream, "gate    %s\n", gate_text(gate, text));
    report_bold(writing->stream, writing->has_colour, false);
    if (gate->row) {
        fputs("        in ", writing->stream);
        text_put(writing->stream, gate->row, -1, TEXT_CUT_END);
        fputs(" and what it calls\n", writing->stream);
    }
    if (gate_is_of_one_run(gate))
        text_put_wrapped(writing->stream, GATE_ONE_RUN, writing->columns);
}

/* What a unit of work took. */
static void put_units(const struct diff *diff, FILE *stream)
{
    char before[TEXT_NUMBER_BYTES], after[TEXT_NUMBER_BYTES];
    const double *units = diff->request.units;
    const double each[2] = {(double)report_metric(&diff->total[0], diff->request.metric) / units[0],
                            (double)report_metric(&diff->total[1], diff->request.metric) / units[1]};
    text_time(before, (uint64_t)(each[0] + 0.5));
    text_time(after, (uint64_t)(each[1] + 0.5));
    fprintf(stream, "work    %.15g to %.15g units: %s %s to %s a unit", units[0], units[1],
            report_metric_words[diff->request.metric], before, after);
    if (each[0] > 0)
        fprintf(stream, " (%+.1f%%)", 100 * (each[1] / each[0] - 1));
    fputs("\n", stream);
}

void diff_put_scale(const struct diff *diff, FILE *stream)
{
    const uint64_t before = report_metric(&diff->total[0], diff->request.metric),
                   after = report_metric(&diff->total[1], diff->request.metric);
    if (diff->sides[0].run_count + diff->sides[1].run_count > 2)
        fprintf(stream, "runs    %zu to %zu%s; times are of one run\n", diff->sides[0].run_count,
                diff->sides[1].run_count, diff->is_in_turns ? ", made in turns" : "");
    if (diff->request.scale == DIFF_WORK)
        put_units(diff, stream);
    if (diff->request.scale == DIFF_WORK && diff->request.units[0] != diff->request.units[1])
        fprintf(stream, "what is below is for equal work: what came after, times %.4g\n",
                diff->request.units[0] / diff->request.units[1]);
    if (diff->request.scale == DIFF_SHARES && before && after)
        fprintf(stream, "what is below is of equal totals: what came after, times %.4g\n",
                (double)before / (double)after);
}

void diff_table_write(const struct diff_table *table, FILE *stream)
{
    const struct diff *diff = table->diff;
    const enum report_by by = diff->request.by;
    const struct writing writing = {diff, &diff->request, stream, table->columns, table->has_colour};
    if (table->gate)
        put_gate(&writing, table->gate);
    put_total(&writing, "wall", METRIC_WALL);
    put_total(&writing, "cpu", METRIC_CPU);
    put_total(&writing, "off-cpu", METRIC_OFFCPU);
    if (diff->total[0].rundelay_ns + diff->total[1].rundelay_ns > 0)
        put_total(&writing, "delay", METRIC_RUNDELAY);
    diff_put_scale(diff, stream);
    if (diff->thread_count > 1 && by != REPORT_BY_THREAD) {
        put_headings(&writing, "THREADS NAMED");
        put_rows(&writing, diff->threads, diff->thread_count, THREADS_MAX, REPORT_BY_THREAD);
    }
    put_headings(&writing, report_by_headings[by]);
    put_rows(&writing, diff->rows, diff->row_count, table->lines, by);
}
