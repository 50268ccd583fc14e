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
    enum report_metric metric; /* the one that is shown first, and in per cent */
    bool by_cum;               /* the others are cumulative too */
    bool is_filtered;
    size_t lines; /* of rows */
    int columns;  /* of the terminal; 0: names are not cut */
    bool has_colour;
};

void report_table_write(const struct report_table *table, FILE *stream);

/* What `wallprof top --help` says of the schema. */
void report_json_write(const struct report_table *table, struct json *json);

/* For other documents: {"samples": .., "cpu_ns": .., "offcpu_ns": .., "wall_ns": ..} */
void report_json_values(struct json *json, const char *key, const struct values *values);

/* Bold, or not any more. */
void report_bold(FILE *stream, bool has_colour, bool is_bold);

#endif
