/*
 * A report as text for a terminal, and as JSON.
 *
 * Called from: the commands, after text_init.
 */
#ifndef WALLPROF_REPORT_TABLE_H
#define WALLPROF_REPORT_TABLE_H

#include "base/json.h"
#include "report.h"

#include <stdio.h>

struct report_table {
    const struct report *report; /* sorted */
    const struct profile *profile;
    enum report_by by;
    enum report_metric metric; /* shown first, and in per cent */
    bool by_cum;               /* the other metrics are cumulative too */
    bool is_filtered;
    bool shows_idle; /* report_request has it */
    size_t lines;    /* of rows */
    int columns;     /* of the terminal; 0: names are not cut */
    bool has_colour;
    bool has_errors; /* the rows' error bars are shown */
    /* Of more time than `report`: rows have the metric there too, in a column of its own, and no CUM unless
     * by_cum. NULL without. Not with has_errors. */
    const struct report *all;
};

void report_table_write(const struct report_table *table, FILE *stream);

/* wallprof(1) has the schema. False without memory. */
bool report_json_write(const struct report_table *table, struct json *json);

/* "stacks" and "frames" of a report that has stacks. False without memory; what was written is of no use. */
bool report_json_stacks(const struct report_table *table, struct json *json);

/* For other documents: {"samples": .., "cpu_ns": .., "offcpu_ns": .., "rundelay_ns": .., "wall_ns": ..} */
void report_json_values(struct json *json, const char *key, const struct values *values);

/* {"wall_ns": .., "cpu_ns": ..}, null where there are too few samples. */
void report_json_error(struct json *json, const char *key, const struct report_error *error);
/* "waits_ns": {"lock": .., ..} */
void report_json_waits(struct json *json, const uint64_t waited_ns[WAIT_KIND_COUNT]);

/* "measure": {"type": .., "unit": ..} of another program's profile: what its wall_ns are. */
void report_json_measure(struct json *json, const struct profile *profile);

/* Begins or ends bold text. */
void report_bold(FILE *stream, bool has_colour, bool is_bold);

/* A number in its column. */
enum { REPORT_CELL_COLUMNS = 8, REPORT_SHARE_COLUMNS = 6, REPORT_NAME_COLUMNS_MIN = 20 };
const char *report_heading(const struct report_table *table, enum report_metric metric);
bool report_shows_metric(const struct report_table *table, enum report_metric metric);
void report_put_metric(const struct report_table *table, FILE *stream, const struct values *values,
                       enum report_metric metric);
void report_put_share(FILE *stream, uint64_t part, uint64_t whole);

/* An empty line, and the rows under their headings. */
void report_put_rows(const struct report_table *table, FILE *stream);

/* The same of at most so many threads, in the report's order. Returns how many are not shown. */
size_t report_put_thread_rows(const struct report_table *table, FILE *stream, size_t most);

/* For tables of rows: headings, and a row's name in what is left of a line of so many columns. */
extern const char *const report_metric_headings[METRIC_COUNT];
extern const char *const report_by_headings[REPORT_BY_COUNT];
void report_put_name(FILE *stream, const char *name, enum report_by by, int columns, int used);

#endif
