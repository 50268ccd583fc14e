#include "commands.h"
#include "tool/io/command.h"
#include "tool/read/store_names.h"
#include "tool/report/diff_forms.h"
#include "tool/io/likeness.h"
#include "tool/io/output_file.h"
#include "tool/read/recording.h"
#include "recording_files.h"
#include "report_options.h"
#include "base/number_names.h"
#include "tool/report/filters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GATE_FAILED = 3, NORMALIZE = 0x100, GATE, ON, PER, MARKDOWN };

static const char help[] = "usage: wallprof diff [OPTIONS] BEFORE AFTER\n"
                           "Shows what takes more time (+) or less (-) in AFTER than in BEFORE. Each is a\n"
                           "recording, or a directory of the recordings of several runs. % is of BEFORE.\n"
                           "\n"
                           "      --gate PERCENT   exit with 3 if AFTER takes more; --on FUNCTION: in that\n"
                           "      --per N[,M]      for equal work: a run of BEFORE did N units, of AFTER M\n"
                           "      --normalize      compare shares; --markdown: for a pull request\n";
static const char help_end[] = "\nThe manual has the JSON: wallprof(1).\n";

/* ---- the command line ---- */

struct compared {
    struct report_options options;
    struct diff_request request;
    const char *gate; /* as it was said; NULL without */
    double limit;
    const char *on;
    bool is_markdown;
};

static bool read_number(const char *text, const char **ret_end, double *ret)
{
    char *end;
    *ret = strtod(text, &end);
    *ret_end = end;
    return end > text && isfinite(*ret);
}

static int read_gate(struct compared *compared, const char *text)
{
    const char *end;
    compared->gate = text;
    if (!read_number(text, &end, &compared->limit) || compared->limit < 0 ||
        strcmp(end, *end == '%' ? "%" : ""))
        return command_misused("diff", "--gate '%s'? (5 or 0.5%%, of BEFORE)", text);
    compared->limit /= 100;
    return 0;
}

static int set_scale(struct compared *compared, enum diff_scale scale)
{
    if (compared->request.scale != DIFF_AS_MEASURED && compared->request.scale != scale)
        return command_misused("diff", "--per or --normalize, not both");
    compared->request.scale = scale;
    return 0;
}

static int read_units(struct compared *compared, const char *text)
{
    const char *end;
    double *units = compared->request.units;
    bool is_right = read_number(text, &end, &units[0]);
    units[1] = units[0];
    if (is_right && *end == ',')
        is_right = read_number(end + 1, &end, &units[1]);
    if (!is_right || *end || units[0] <= 0 || units[1] <= 0)
        return command_misused("diff", "--per '%s'? (N or N,M: numbers above 0)", text);
    return set_scale(compared, DIFF_WORK);
}

static int read_option(void *context, int option, const char *argument)
{
    struct compared *compared = context;
    if (option == GATE)
        return read_gate(compared, argument);
    if (option == PER)
        return read_units(compared, argument);
    if (option == NORMALIZE)
        return set_scale(compared, DIFF_SHARES);
    if (option == MARKDOWN)
        compared->is_markdown = true;
    else if (option == ON)
        compared->on = argument;
    return 0;
}

static int check_options(const struct compared *compared)
{
    if (compared->on && !compared->gate)
        return command_misused("diff", "--on says what --gate judges: give --gate too");
    if (compared->gate && !compared->on && compared->request.scale == DIFF_SHARES)
        return command_misused("diff", "--normalize makes the totals equal: say what --gate judges by --on");
    if (compared->is_markdown && compared->options.is_json)
        return command_misused("diff", "--markdown or --json, not both");
    return 0;
}

/* ---- the runs of a side ---- */

/* Recordings must stay open, and where they are, as long as their reports. */
struct runs {
    struct recording *recordings;
    struct report *reports;
    size_t count;
};

static void close_runs(struct runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        report_free(&runs->reports[i]);
        recording_close(&runs->recordings[i]);
    }
    free(runs->reports);
    free(runs->recordings);
}

static int open_run(struct report_options *options, const char *path, struct recording *recording,
                    struct report *report)
{
    if (store_names_open(recording, path) != 0)
        return 1;
    int status =
        recording->profile.measure
            ? command_fail("%s: it is not a recording of wallprof's; pprof -diff_base compares others", path)
            : report_options_settle(options, &recording->profile);
    options->request.has_no_lines = true; /* a change moves the functions after it */
    if (status == 0 && report_make(report, &recording->profile, &options->request) < 0)
        status = command_fail("%s: there is not enough memory for the report", path);
    if (status != 0)
        recording_close(recording);
    return status;
}

static int compare_starts(const void *left, const void *right)
{
    const struct report *a = left, *b = right;
    return (a->start_utc_ns > b->start_utc_ns) - (a->start_utc_ns < b->start_utc_ns);
}

/* Reports come in the order in which their runs were made. */
static int open_files(struct report_options *options, const struct recording_files *files, struct runs *runs)
{
    int status = 0;
    runs->recordings = calloc(files->count, sizeof *runs->recordings);
    runs->reports = calloc(files->count, sizeof *runs->reports);
    if (!runs->recordings || !runs->reports)
        return command_fail("there is not enough memory for %u recordings", files->count);
    while (status == 0 && runs->count < files->count) {
        const size_t i = runs->count;
        status = open_run(options, files->names[i], &runs->recordings[i], &runs->reports[i]);
        runs->count += status == 0;
    }
    qsort(runs->reports, runs->count, sizeof *runs->reports, compare_starts);
    return status;
}

/* A recording that cannot be read makes the comparison another one: then there is none. */
static int open_runs(struct report_options *options, const char *path, struct runs *runs)
{
    struct recording_files files = {0};
    int status = recording_files_add(&files, path);
    if (status < 0)
        status = command_fail("%s: %s", path, error_text(-status));
    else if (files.count == 0)
        status = command_fail("%s: there is no recording in this directory (.store, .pb.gz, .pb)", path);
    else
        status = open_files(options, &files, runs);
    recording_files_free(&files);
    return status;
}

static struct diff_side side_of(const struct runs *runs)
{
    const struct profile *profile = &runs->recordings[0].profile;
    return (struct diff_side){.runs = runs->reports,
                              .run_count = runs->count,
                              .program = profile->process_count == 1 ? profile->processes[0].name : NULL};
}

/* ---- the verdict ---- */

/* NULL with a message if the name means no row, or several. */
static const struct diff_row *find_row(const struct diff *diff, const char *name)
{
    char text[LIKENESS_TEXT_BYTES];
    struct likeness likeness = {.word = name};
    const struct gate_rows found = gate_find(diff, name);
    if (found.count == 1)
        return found.rows[0];
    for (size_t i = 0; i < diff->row_count; i++)
        likeness_add(&likeness, diff->rows[i].name);
    if (found.count == 0)
        command_fail("--on '%s': neither side has such a row%s", name, likeness_text(&likeness, text));
    else
        command_fail("--on '%s' may be '%s' or '%s'; say the whole name", name, found.rows[0]->name,
                     found.rows[1]->name);
    return NULL;
}

static int write_diff(const struct compared *compared, const struct diff *diff, const struct gate *gate)
{
    const struct report_options *options = &compared->options;
    struct json json;
    struct sink *sink;
    if (options->is_json) {
        if (!(sink = output_json_open(&json)))
            return 1;
        diff_json_write(diff, options->lines, gate, &json);
        return output_stdout_close(sink);
    }
    if (compared->is_markdown)
        diff_markdown_write(diff, options->lines, gate, stdout);
    else
        diff_table_write(
            &(struct diff_table){diff, gate, options->lines, options->columns, options->has_colour}, stdout);
    return output_printed();
}

static int judge_and_write(const struct compared *compared, const struct diff *diff)
{
    const struct diff_row *row = NULL;
    struct gate gate = {0};
    if (compared->on && !(row = find_row(diff, compared->on)))
        return 1;
    if (compared->gate)
        gate = gate_judge(diff, row, compared->limit);
    int status = write_diff(compared, diff, compared->gate ? &gate : NULL);
    return status == 0 && gate.has_failed ? GATE_FAILED : status;
}

/* ---- both sides ---- */

static bool is_empty(const struct runs *runs, const struct report_request *request)
{
    for (size_t i = 0; i < runs->count; i++)
        if (!filters_left_nothing(&runs->reports[i], request))
            return false;
    return true;
}

static int compare(struct compared *compared, const struct runs runs[2])
{
    const struct report_options *options = &compared->options;
    struct diff diff;
    if (is_empty(&runs[0], &options->request) && is_empty(&runs[1], &options->request)) {
        const int explained = filters_explain(&runs[0].recordings[0].profile, &options->request);
        if (!options->is_json)
            return explained;
    }
    compared->request.by = options->request.by;
    compared->request.metric = options->metric;
    compared->request.by_cum = options->by_cum;
    if (diff_make(&diff, (const struct diff_side[]){side_of(&runs[0]), side_of(&runs[1])},
                  &compared->request) < 0)
        return command_fail("there is not enough memory for the difference");
    diff.has_errors = !options->is_without_errors;
    const int status = judge_and_write(compared, &diff);
    diff_free(&diff);
    return status;
}

static int open_and_compare(struct compared *compared, char **paths)
{
    struct runs runs[2] = {{0}, {0}};
    int status = open_runs(&compared->options, paths[0], &runs[0]);
    if (status == 0)
        status = open_runs(&compared->options, paths[1], &runs[1]);
    if (status == 0)
        status = compare(compared, runs);
    close_runs(&runs[0]);
    close_runs(&runs[1]);
    return status;
}

int command_diff(int argc, char **argv)
{
    static const struct option names[] = {REPORT_LONG_OPTIONS,
                                          {"gate", required_argument, NULL, GATE},
                                          {"on", required_argument, NULL, ON},
                                          {"per", required_argument, NULL, PER},
                                          {"normalize", no_argument, NULL, NORMALIZE},
                                          {"markdown", no_argument, NULL, MARKDOWN},
                                          {0}};
    struct compared compared = {.gate = NULL};
    struct report_options *options = &compared.options;
    int status =
        report_options_read(options, argc, argv, &(struct report_own_options){names, read_option, &compared});
    if (status == 0 && options->is_help)
        status = report_options_print_help(help, help_end);
    else if (status == 0 && optind + 2 != argc)
        status = command_misused("diff", "two recordings or directories are needed, BEFORE and AFTER");
    else if (status == 0 && (status = check_options(&compared)) == 0)
        status = open_and_compare(&compared, argv + optind);
    report_options_deinit(options);
    return status;
}
