/*
 * The forms of a difference: a table for a terminal, Markdown for a pull request, JSON.
 *
 * gate: NULL without. lines: of rows. Called from: the commands, after text_init.
 */
#ifndef WALLPROF_DIFF_FORMS_H
#define WALLPROF_DIFF_FORMS_H

#include "gate.h"

#include <stdio.h>

struct diff_table {
    const struct diff *diff;
    const struct gate *gate;
    size_t lines;
    int columns; /* of the terminal; 0: names are not cut */
    bool has_colour;
};

void diff_table_write(const struct diff_table *table, FILE *stream);
void diff_markdown_write(const struct diff *diff, size_t lines, const struct gate *gate, FILE *stream);

/* wallprof(1) has the schema. */
void diff_json_write(const struct diff *diff, size_t lines, const struct gate *gate, struct json *json);

/* For the forms: what was scaled and how many runs there were, as lines of text. */
void diff_put_scale(const struct diff *diff, FILE *stream);

#endif
