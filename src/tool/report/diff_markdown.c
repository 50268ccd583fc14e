/* A difference as Markdown (GitHub's tables), for a comment in a pull request. */
#include "diff_forms.h"
#include "report_table.h"
#include "tool/io/text.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS = 100 };

/* In a table's cell a bar would end it, and a backtick the code. */
static void put_name(FILE *stream, const char *name)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *shown = open_memstream(&text, &bytes);
    if (!shown)
        return;
    text_put(shown, name, NAME_COLUMNS, TEXT_CUT_MIDDLE);
    fclose(shown);
    fputc('`', stream);
    for (const char *at = text; at && *at; at++)
        fprintf(stream, *at == '|' ? "\\%c" : "%c", *at == '`' ? '\'' : *at);
    fputc('`', stream);
    free(text);
}

static void put_share(FILE *stream, const struct values values[2], enum report_metric metric)
{
    const uint64_t before = report_metric(&values[0], metric);
    if (before)
        fprintf(stream, "%+.1f %%", 100 * (double)diff_change(values, metric) / (double)before);
}

static void put_times(FILE *stream, const struct values values[2], enum report_metric metric)
{
    char before[TEXT_NUMBER_BYTES], after[TEXT_NUMBER_BYTES], change[TEXT_NUMBER_BYTES];
    text_time(before, report_metric(&values[0], metric));
    text_time(after, report_metric(&values[1], metric));
    text_time_change(change, diff_change(values, metric));
    fprintf(stream, " | %s | %s | %s", before, after, change);
}

static void put_total(FILE *stream, const struct diff *diff, const char *what, enum report_metric metric)
{
    fprintf(stream, "| %s", what);
    put_times(stream, diff->total, metric);
    fputs(" | ", stream);
    put_share(stream, diff->total, metric);
    fputs(" |\n", stream);
}

static void put_error(FILE *stream, const struct diff *diff, const struct diff_row *row)
{
    char number[TEXT_NUMBER_BYTES];
    const uint64_t error_ns = diff_error_ns(diff, row->flat_error, diff->request.metric);
    if (error_ns == 0)
        return;
    text_time_within(number, error_ns, error_ns);
    fprintf(stream, " ±%s", error_ns == REPORT_ERROR_UNKNOWN ? " few samples" : number);
}

static void put_row(FILE *stream, const struct diff *diff, const struct diff_row *row)
{
    fputs("| ", stream);
    put_name(stream, row->name);
    put_times(stream, row->flat, diff->request.metric);
    put_error(stream, diff, row);
    fputs(" | ", stream);
    if (row->presence == DIFF_BOTH)
        put_share(stream, row->flat, diff->request.metric);
    else
        fputs(row->presence == DIFF_NEW ? "new" : "gone", stream);
    fputs(" |\n", stream);
}

static void put_gate(FILE *stream, const struct gate *gate)
{
    char text[GATE_TEXT_BYTES];
    fprintf(stream, "**%s**", gate_text(gate, text));
    if (gate->row) {
        fputs(" in ", stream);
        put_name(stream, gate->row);
    }
    if (gate_is_of_one_run(gate))
        fputs(" (" GATE_ONE_RUN ")", stream);
    fputs("\n\n", stream);
}

void diff_markdown_write(const struct diff *diff, size_t lines, const struct gate *gate, FILE *stream)
{
    if (gate)
        put_gate(stream, gate);
    fputs("| | before | after | change | % |\n|---|--:|--:|--:|--:|\n", stream);
    put_total(stream, diff, "wall", METRIC_WALL);
    put_total(stream, diff, "cpu", METRIC_CPU);
    put_total(stream, diff, "off-cpu", METRIC_OFFCPU);
    fputc('\n', stream);
    diff_put_scale(diff, stream);
    fprintf(stream, "\n| %s, %s | before | after | change | %% |\n|---|--:|--:|--:|--:|\n",
            report_by_words[diff->request.by], report_metric_words[diff->request.metric]);
    for (size_t i = 0;
         i < diff->row_count && i < lines && diff_change(diff->rows[i].flat, diff->request.metric); i++)
        put_row(stream, diff, &diff->rows[i]);
}
