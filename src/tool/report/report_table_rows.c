/* The rows of a table, with their error bars. Columns are left out as in report_table.c. */
#include "report_table.h"
#include "report_answer.h"
#include "tool/io/text.h"

#include <string.h>

enum {
    CELL_COLUMNS = REPORT_CELL_COLUMNS,
    SHARE_COLUMNS = REPORT_SHARE_COLUMNS,
    ERROR_COLUMNS = 6,
    WIDE_COLUMNS = 100,
    NARROW_COLUMNS = 60,
    NAME_COLUMNS_MIN = REPORT_NAME_COLUMNS_MIN,
    TITLE_COLUMNS_MIN = 32 /* "postgres: checkpointer (12345)" */
};

static const char *const by_plurals[REPORT_BY_COUNT] = {"functions", "functions", "lines",     "files",
                                                        "modules",   "threads",   "processes", "labels",
                                                        "kinds",     "things",    "holders"};

static bool has_error(const struct report_table *table, enum report_metric metric)
{
    return table->has_errors && (metric == METRIC_WALL || metric == METRIC_CPU);
}

/* The columns of a metric, with its error bar. */
static int cell_columns(const struct report_table *table, enum report_metric metric)
{
    return CELL_COLUMNS + (has_error(table, metric) ? ERROR_COLUMNS : 0);
}

/* No thread or process calls another one, and no wait. */
static bool has_cum(const struct report_table *table)
{
    return (!table->all || table->by_cum) && table->by != REPORT_BY_THREAD &&
           table->by != REPORT_BY_PROCESS && table->by < REPORT_BY_WAIT;
}

/* A narrow table has no bar for CUM. */
static bool has_cum_error(const struct report_table *table)
{
    bool is_wide = !table->columns || table->columns >= WIDE_COLUMNS;
    return is_wide && has_cum(table) && has_error(table, table->metric);
}

/* The column of what a row waits for, with what stands before it. */
static int waits_columns(const struct report_table *table)
{
    bool has_waits = table->by == REPORT_BY_FUNCTION || table->by == REPORT_BY_LEAF;
    bool is_narrow = table->all && table->columns && table->columns < NARROW_COLUMNS;
    return has_waits && !is_narrow && !table->profile->measure && !table->by_cum ? 2 + ANSWER_WAITS_COLUMNS
                                                                                 : 0;
}

/* The columns before the names, with the first so many of the other metrics. */
static int columns_used(const struct report_table *table, int others)
{
    int used = cell_columns(table, table->metric) + SHARE_COLUMNS + 2;
    used += has_cum(table) ? CELL_COLUMNS + SHARE_COLUMNS : 0;
    used += table->all ? CELL_COLUMNS : 0;
    used += waits_columns(table) + (has_cum_error(table) ? ERROR_COLUMNS : 0);
    for (int metric = 0; metric < METRIC_COUNT && others > 0; metric++) {
        if (metric == (int)table->metric || !report_shows_metric(table, (enum report_metric)metric))
            continue;
        used += cell_columns(table, (enum report_metric)metric);
        others--;
    }
    return used;
}

/* How many of the other metrics fit. */
static int others_shown(const struct report_table *table)
{
    int shown = -1, name_columns = has_cum(table) || table->all ? NAME_COLUMNS_MIN : TITLE_COLUMNS_MIN;
    for (int metric = 0; metric < METRIC_COUNT; metric++)
        shown += report_shows_metric(table, (enum report_metric)metric);
    while (table->columns && shown > 0 && table->columns - columns_used(table, shown) < name_columns)
        shown--;
    return shown;
}

static void put_heading(FILE *stream, const char *heading, bool has_bar)
{
    text_put_number(stream, heading, CELL_COLUMNS);
    if (has_bar)
        text_put_number(stream, "±", ERROR_COLUMNS);
}

static void put_headings(const struct report_table *table, FILE *stream, int others)
{
    report_bold(stream, table->has_colour, true);
    fputc('\n', stream);
    put_heading(stream, report_heading(table, table->metric), has_error(table, table->metric));
    text_put_number(stream, "%", SHARE_COLUMNS);
    if (has_cum(table)) {
        put_heading(stream, "CUM", has_cum_error(table));
        text_put_number(stream, "%", SHARE_COLUMNS);
    }
    for (int metric = 0; metric < METRIC_COUNT && others > 0; metric++) {
        if (metric == (int)table->metric || !report_shows_metric(table, (enum report_metric)metric))
            continue;
        put_heading(stream, report_metric_headings[metric], has_error(table, (enum report_metric)metric));
        others--;
    }
    if (table->all)
        text_put_number(stream, "IN ALL", CELL_COLUMNS);
    if (waits_columns(table))
        fprintf(stream, "  %-*s", ANSWER_WAITS_COLUMNS, "WAITS FOR");
    fprintf(stream, "  %s", report_by_headings[table->by]);
    report_bold(stream, table->has_colour, false);
    fputc('\n', stream);
}

/* 0 where error bars are not wanted. */
static uint64_t error_of(const struct report_table *table, const struct report_error *error,
                         enum report_metric metric)
{
    if (!table->has_errors || metric == METRIC_SAMPLES || metric == METRIC_RUNDELAY)
        return 0;
    return metric == METRIC_WALL  ? error->wall_ns
           : metric == METRIC_CPU ? error->cpu_ns
                                  : report_error_offcpu_ns(error);
}

/* In per cent of the value. */
static void put_error(FILE *stream, uint64_t value, uint64_t error_ns)
{
    char number[TEXT_NUMBER_BYTES] = "";
    double share = value ? 100 * (double)error_ns / (double)value : 0;
    if (value && error_ns == REPORT_ERROR_UNKNOWN)
        snprintf(number, sizeof number, "few");
    else if (value && error_ns)
        snprintf(number, sizeof number, "±%.*f%%", share < 0.95 ? 1 : 0, share < 0.1 ? 0.1 : share);
    text_put_number(stream, number, ERROR_COLUMNS);
}

/* A metric with no more digits than its error allows, and its error bar. */
static void put_cell(const struct report_table *table, FILE *stream, const struct values *values,
                     const struct report_error *error, enum report_metric metric, bool has_bar)
{
    char number[TEXT_NUMBER_BYTES];
    uint64_t value = report_metric(values, metric), error_ns = error_of(table, error, metric);
    if (error_ns == 0) {
        report_put_metric(table, stream, values, metric);
    } else {
        text_time_within(number, value, error_ns);
        text_put_number(stream, number, CELL_COLUMNS);
    }
    if (has_bar)
        put_error(stream, value, error_ns);
}

static void put_share_within(const struct report_table *table, FILE *stream, const struct values *values,
                             const struct report_error *error)
{
    char number[TEXT_NUMBER_BYTES];
    text_share_within(number, report_metric(values, table->metric),
                      report_metric(&table->report->selected, table->metric),
                      error_of(table, error, table->metric));
    text_put_number(stream, number, SHARE_COLUMNS);
}

static void put_in_all(const struct report_table *table, FILE *stream, const struct report_row *row)
{
    const struct report *all = table->all;
    struct values values = {0};
    for (size_t i = 0; i < all->row_count; i++) {
        if (strcmp(all->rows[i].name, row->name) == 0)
            values = table->by_cum ? all->rows[i].cum : all->rows[i].flat;
    }
    report_put_metric(table, stream, &values, table->metric);
}

static void put_row(const struct report_table *table, FILE *stream, const struct report_row *row, int others)
{
    const struct values *shown = table->by_cum ? &row->cum : &row->flat;
    const struct report_error *error = table->by_cum ? &row->cum_error : &row->flat_error;
    char waits[ANSWER_TEXT_BYTES];
    put_cell(table, stream, &row->flat, &row->flat_error, table->metric, has_error(table, table->metric));
    put_share_within(table, stream, &row->flat, &row->flat_error);
    if (has_cum(table)) {
        put_cell(table, stream, &row->cum, &row->cum_error, table->metric, has_cum_error(table));
        put_share_within(table, stream, &row->cum, &row->cum_error);
    }
    for (int metric = 0, left = others; metric < METRIC_COUNT && left > 0; metric++) {
        if (metric == (int)table->metric || !report_shows_metric(table, (enum report_metric)metric))
            continue;
        put_cell(table, stream, shown, error, (enum report_metric)metric,
                 has_error(table, (enum report_metric)metric));
        left--;
    }
    if (table->all)
        put_in_all(table, stream, row);
    fputs("  ", stream);
    answer_waits(row, waits);
    if (waits_columns(table)) {
        text_put_left(stream, waits, ANSWER_WAITS_COLUMNS, TEXT_CUT_END);
        fputs("  ", stream);
    }
    report_put_name(stream, row->name, table->by, table->columns, columns_used(table, others));
    fputc('\n', stream);
}

/* Only where a row has such a bar. */
static void put_legend(const struct report_table *table, FILE *stream)
{
    bool has_bar = false, has_few = false;
    const struct report *report = table->report;
    for (size_t i = 0; has_error(table, table->metric) && i < report->row_count && i < table->lines; i++) {
        const struct report_error *error = &report->rows[i].cum_error;
        has_few |=
            tree_wall_ns(&report->rows[i].flat) && report->rows[i].flat_error.wall_ns == REPORT_ERROR_UNKNOWN;
        has_bar |= error->wall_ns && error->wall_ns != REPORT_ERROR_UNKNOWN;
    }
    if (has_bar || has_few)
        text_put_wrapped(
            stream,
            has_few ? "±: 95 of 100 recordings are off by less; few: below 5 samples, too few to tell"
                    : "±: 95 of 100 recordings are off by less",
            table->columns);
}

/* Rows are sorted: those after it are of nothing as well. */
static bool is_of_nothing(const struct report_table *table, const struct report_row *row)
{
    return report_metric(table->by_cum ? &row->cum : &row->flat, table->metric) == 0;
}

void report_put_rows(const struct report_table *table, FILE *stream)
{
    const struct report *report = table->report;
    struct values rest = {0};
    int others = others_shown(table);
    put_headings(table, stream, others);
    for (size_t i = 0; i < report->row_count; i++) {
        if (i < table->lines && !is_of_nothing(table, &report->rows[i]))
            put_row(table, stream, &report->rows[i], others);
        else
            tree_add_values(&rest, &report->rows[i].flat);
    }
    if (report->row_count > table->lines && report_metric(&rest, table->metric) > 0) {
        report_put_metric(table, stream, &rest, table->metric);
        if (has_error(table, table->metric))
            text_put_number(stream, "", ERROR_COLUMNS);
        report_put_share(stream, report_metric(&rest, table->metric),
                         report_metric(&report->selected, table->metric));
        fprintf(stream, "  in %zu more %s\n", report->row_count - table->lines, by_plurals[table->by]);
    }
    put_legend(table, stream);
}
