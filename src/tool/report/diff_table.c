/* The two forms of a difference: text and JSON. */
#include "diff.h"
#include "report_table.h"
#include "tool/io/text.h"

#include <inttypes.h>
#include <string.h>

enum { CELL_COLUMNS = 9, SHARE_COLUMNS = 8, ERROR_COLUMNS = 8, THREADS_MAX = 10 };

static const char *const presence_words[] = {[DIFF_BOTH] = "", [DIFF_NEW] = "new", [DIFF_GONE] = "gone"};

struct writing {
    const struct diff *diff;
    FILE *stream;
    int columns;
    bool has_colour;
};

static void put_change(const struct writing *writing, const struct values values[2],
                       enum report_metric metric)
{
    char number[TEXT_NUMBER_BYTES];
    int64_t change = diff_change(writing->diff, values, metric);
    if (metric == METRIC_SAMPLES)
        snprintf(number, sizeof number, change ? "%+" PRId64 : "%" PRId64, change);
    else
        text_time_change(number, change);
    text_put_number(writing->stream, number, CELL_COLUMNS);
}

static bool has_error(const struct writing *writing, enum report_metric metric)
{
    return writing->diff->has_errors && (metric == METRIC_WALL || metric == METRIC_CPU);
}

/* A change with no digit that is chance, and its error bar. */
static void put_change_within(const struct writing *writing, const struct values values[2],
                              const struct report_error errors[2], enum report_metric metric)
{
    char number[TEXT_NUMBER_BYTES] = "few", bar[TEXT_NUMBER_BYTES + 4] = "";
    const struct report_error error = diff_error(writing->diff, errors);
    uint64_t error_ns = metric == METRIC_CPU ? error.cpu_ns : error.wall_ns;
    int64_t change = diff_change(writing->diff, values, metric);
    if (!has_error(writing, metric)) {
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
    double change = (double)diff_change(writing->diff, values, metric);
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
    int main_error = has_error(writing, writing->diff->metric) ? 2 * ERROR_COLUMNS : 0;
    return 3 * CELL_COLUMNS + main_error + ERROR_COLUMNS + SHARE_COLUMNS + 2;
}

static void put_heading(const struct writing *writing, const char *heading, enum report_metric metric)
{
    text_put_number(writing->stream, heading, CELL_COLUMNS);
    if (has_error(writing, metric))
        text_put_number(writing->stream, "±", ERROR_COLUMNS);
}

static void put_row(const struct writing *writing, const struct diff_row *row, enum report_by by)
{
    const struct diff *diff = writing->diff;
    enum report_metric other = diff->metric == METRIC_CPU ? METRIC_WALL : METRIC_CPU;
    const struct values *shown = diff->by_cum ? row->cum : row->flat;
    put_change_within(writing, row->flat, row->flat_error, diff->metric);
    put_change_within(writing, row->cum, row->cum_error, diff->metric);
    put_relative(writing, shown, row->presence, diff->metric);
    put_change_within(writing, row->flat, row->flat_error, other);
    if (!diff->has_errors)
        put_change(writing, row->cum, other);
    fputs("  ", writing->stream);
    report_put_name(writing->stream, row->name, by, writing->columns, columns_used(writing));
    fputc('\n', writing->stream);
}

static void put_headings(const struct writing *writing, const char *name)
{
    const struct diff *diff = writing->diff;
    enum report_metric other = diff->metric == METRIC_CPU ? METRIC_WALL : METRIC_CPU;
    report_bold(writing->stream, writing->has_colour, true);
    fputc('\n', writing->stream);
    put_heading(writing, report_metric_headings[diff->metric], diff->metric);
    put_heading(writing, "CUM", diff->metric);
    text_put_number(writing->stream, diff->by_cum ? "CUM %" : "%", SHARE_COLUMNS);
    put_heading(writing, report_metric_headings[other], other);
    if (!diff->has_errors)
        text_put_number(writing->stream, "CUM", CELL_COLUMNS);
    fprintf(writing->stream, "  %s", name);
    report_bold(writing->stream, writing->has_colour, false);
    fputc('\n', writing->stream);
}

static void put_total(const struct writing *writing, const char *what, enum report_metric metric)
{
    const struct diff *diff = writing->diff;
    const struct values values[2] = {diff->reports[0]->selected, diff->reports[1]->selected};
    const struct diff unscaled = {.metric = metric};
    char before[TEXT_NUMBER_BYTES], after[TEXT_NUMBER_BYTES], change[TEXT_NUMBER_BYTES], share[64] = "";
    int64_t difference = diff_change(&unscaled, values, metric);
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
static size_t count_changed(const struct diff *diff, const struct diff_row *rows, size_t count)
{
    while (count > 0 && !diff_change(diff, rows[count - 1].flat, diff->metric) &&
           !diff_change(diff, rows[count - 1].cum, diff->metric))
        count--;
    return count;
}

static void put_rows(const struct writing *writing, const struct diff_row *rows, size_t count, size_t lines,
                     enum report_by by)
{
    count = count_changed(writing->diff, rows, count);
    if (count == 0)
        fputs("no difference\n", writing->stream);
    for (size_t i = 0; i < count && i < lines; i++)
        put_row(writing, &rows[i], by);
    if (count > lines)
        fprintf(writing->stream, "and %zu more\n", count - lines);
}

void diff_table_write(const struct diff *diff, size_t lines, int columns, bool has_colour, FILE *stream)
{
    const struct writing writing = {diff, stream, columns, has_colour};
    put_total(&writing, "wall", METRIC_WALL);
    put_total(&writing, "cpu", METRIC_CPU);
    put_total(&writing, "off-cpu", METRIC_OFFCPU);
    if (diff->reports[0]->selected.rundelay_ns + diff->reports[1]->selected.rundelay_ns > 0)
        put_total(&writing, "delay", METRIC_RUNDELAY);
    if (diff->is_normalized)
        fprintf(stream, "what is below is of equal totals: what came after, times %.4g\n", diff->scale);
    if (diff->thread_count > 1 && diff->by != REPORT_BY_THREAD) {
        put_headings(&writing, "THREADS NAMED");
        put_rows(&writing, diff->threads, diff->thread_count, THREADS_MAX, REPORT_BY_THREAD);
    }
    put_headings(&writing, report_by_headings[diff->by]);
    put_rows(&writing, diff->rows, diff->row_count, lines, diff->by);
}

/* ---- JSON ---- */

static void json_changes(struct json *json, const struct diff *diff, const char *key,
                         const struct values values[2])
{
    static const char *const keys[METRIC_COUNT] = {"wall_ns", "cpu_ns", "offcpu_ns", "rundelay_ns",
                                                   "samples"};
    json_key(json, key);
    json_begin_object(json);
    for (int metric = 0; metric < METRIC_COUNT; metric++) {
        json_key(json, keys[metric]);
        json_int(json, diff_change(diff, values, (enum report_metric)metric));
    }
    json_end_object(json);
}

static void json_sides(struct json *json, const struct diff *diff, const char *key,
                       const struct values values[2])
{
    json_key(json, key);
    json_begin_object(json);
    report_json_values(json, "before", &values[0]);
    report_json_values(json, "after", &values[1]);
    json_changes(json, diff, "change", values);
    json_end_object(json);
}

static void json_errors(struct json *json, const struct diff *diff, const struct diff_row *row)
{
    const struct report_error flat = diff_error(diff, row->flat_error),
                              cum = diff_error(diff, row->cum_error);
    if (!diff->has_errors)
        return;
    report_json_error(json, "flat_error", &flat);
    report_json_error(json, "cum_error", &cum);
}

static void json_rows(struct json *json, const struct diff *diff, const char *key,
                      const struct diff_row *rows, size_t count)
{
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        json_newline(json);
        json_begin_object(json);
        json_key(json, "name");
        json_string(json, rows[i].name);
        json_key(json, "presence");
        json_string(json, rows[i].presence == DIFF_BOTH ? "both" : presence_words[rows[i].presence]);
        json_sides(json, diff, "flat", rows[i].flat);
        json_sides(json, diff, "cum", rows[i].cum);
        json_errors(json, diff, &rows[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

void diff_json_write(const struct diff *diff, size_t lines, struct json *json)
{
    const struct values totals[2] = {diff->reports[0]->selected, diff->reports[1]->selected};
    json_begin_object(json);
    json_key(json, "version");
    json_uint(json, 1);
    json_key(json, "normalized");
    json_bool(json, diff->is_normalized);
    json_sides(json, diff, "total", totals);
    json_rows(json, diff, "threads", diff->threads, diff->thread_count);
    json_key(json, "by");
    json_string(json, report_by_words[diff->by]);
    json_key(json, "sort");
    json_string(json, report_metric_words[diff->metric]);
    json_key(json, "row_count");
    json_uint(json, diff->row_count);
    json_rows(json, diff, "rows", diff->rows, diff->row_count < lines ? diff->row_count : lines);
    json_end_object(json);
    json_newline(json);
}
