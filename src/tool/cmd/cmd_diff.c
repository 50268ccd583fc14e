#include "commands.h"
#include "tool/io/command.h"
#include "tool/read/store_names.h"
#include "tool/report/diff.h"
#include "tool/io/output_file.h"
#include "tool/read/recording.h"
#include "report_options.h"
#include "tool/report/filters.h"

#include <stdio.h>

static const char help[] = "usage: wallprof diff [OPTIONS] BEFORE AFTER\n"
                           "Shows what takes more time (+) or less (-) in AFTER than in BEFORE: threads of\n"
                           "one name, then functions, the largest difference first. % is of BEFORE.\n"
                           "\n"
                           "      --normalize      compare shares: AFTER is scaled to BEFORE's total\n";
static const char help_end[] = "\nThe manual has the JSON: wallprof(1).\n";

static int write_diff(const struct report_options *options, const struct diff *diff)
{
    struct json json;
    if (!options->is_json) {
        diff_table_write(diff, options->lines, options->columns, options->has_colour, stdout);
        return output_printed();
    }
    struct sink *sink = output_json_open(&json);
    if (!sink)
        return 1;
    diff_json_write(diff, options->lines, &json);
    return output_stdout_close(sink);
}

static int show_difference(const struct report_options *options, const struct report *before,
                           const struct report *after)
{
    struct diff diff;
    if (diff_make(&diff, before, after, options->request.by, options->metric, options->by_cum,
                  options->is_normalized) < 0)
        return command_fail("there is not enough memory for the difference");
    diff.has_errors = !options->is_without_errors;
    int status = write_diff(options, &diff);
    diff_free(&diff);
    return status;
}

/* The recording must stay open as long as its report. */
static int open_report(struct report_options *options, const char *path, struct recording *recording,
                       struct report *report)
{
    if (store_names_open(recording, path) != 0)
        return 1;
    int status =
        recording->profile.measure
            ? command_fail("%s: it is not a recording of wallprof's; pprof -diff_base compares others", path)
            : report_options_settle(options, &recording->profile);
    if (status == 0 && report_make(report, &recording->profile, &options->request) < 0)
        status = command_fail("%s: there is not enough memory for the report", path);
    if (status != 0)
        recording_close(recording);
    return status;
}

static int open_and_compare(struct report_options *options, char **paths)
{
    struct recording recordings[2];
    struct report reports[2];
    int status = open_report(options, paths[0], &recordings[0], &reports[0]);
    if (status)
        return status;
    status = open_report(options, paths[1], &recordings[1], &reports[1]);
    if (status == 0) {
        const bool is_empty = filters_left_nothing(&reports[0], &options->request) &&
                              filters_left_nothing(&reports[1], &options->request);
        if (is_empty)
            status = filters_explain(&recordings[0].profile, &options->request);
        if (!is_empty || options->is_json)
            status = show_difference(options, &reports[0], &reports[1]);
        report_free(&reports[1]);
        recording_close(&recordings[1]);
    }
    report_free(&reports[0]);
    recording_close(&recordings[0]);
    return status;
}

int command_diff(int argc, char **argv)
{
    static const struct option names[] = {
        REPORT_LONG_OPTIONS, {"normalize", no_argument, NULL, REPORT_OPTION_NORMALIZE}, {0}};
    struct report_options options;
    int status = report_options_read(&options, argc, argv, names);
    if (status == 0 && options.is_help)
        status = report_options_print_help(help, help_end);
    else if (status == 0 && optind + 2 != argc)
        status = command_misused("diff", "two files are needed, BEFORE and AFTER");
    else if (status == 0)
        status = open_and_compare(&options, argv + optind);
    report_options_deinit(&options);
    return status;
}
