#include "commands.h"
#include "cmd_live.h"
#include "tool/io/command.h"
#include "tool/read/store_names.h"
#include "tool/io/output_file.h"
#include "tool/read/recording.h"
#include "report_options.h"
#include "tool/report/filters.h"
#include "tool/report/report_table.h"

#include <errno.h>
#include <stdio.h>

static const char help[] =
    "usage: wallprof top [OPTIONS] FILE | PID\n"
    "Says where the time went and what was waited for, with the functions of the\n"
    "program's own: WALL has what a function calls in libraries, CUM all that it\n"
    "calls. FILE is a store or any pprof file; - is standard input. A number that is\n"
    "no file is a PID: that process is shown as it runs (h: keys), or table by table.\n"
    "\n";
static const char help_end[] =
    "      --stacks         in the JSON also every stack (wallprof(1) has the JSON)\n"
    "      --interval TIME  of a PID: how often it is shown (1s)\n"
    "      --count N        of a PID: end after N tables\n";

static int print_json(const struct report_table *table)
{
    struct json json;
    struct sink *sink = output_json_open(&json);
    if (!sink)
        return 1;
    if (!report_json_write(table, &json))
        sink_fail(sink, -ENOMEM);
    return output_stdout_close(sink);
}

static int show_report(const struct report_options *options, const struct profile *profile)
{
    struct report report;
    if (report_make(&report, profile, &options->request) < 0)
        return command_fail("there is not enough memory for the report");
    report_sort(&report, options->metric, options->by_cum);
    const struct report_table table = {
        .report = &report,
        .profile = profile,
        .by = options->request.by,
        .metric = options->metric,
        .by_cum = options->by_cum,
        .is_filtered = options->request.thread || options->request.process || options->request.focus ||
                       options->request.ignore,
        .shows_idle = options->request.shows_idle,
        .lines = options->lines,
        .columns = options->columns,
        .has_colour = options->has_colour,
        .has_errors = !options->is_without_errors && !profile->measure,
    };
    int status = 0;
    const bool is_empty = filters_left_nothing(&report, &options->request);
    if (is_empty)
        status = filters_explain(profile, &options->request);
    if (options->is_json)
        status = print_json(&table);
    else if (!is_empty)
        report_table_write(&table, stdout);
    report_free(&report);
    return status ? status : output_printed();
}

static int open_and_show(struct report_options *options, const char *path)
{
    struct recording recording;
    if (store_names_open_measure(&recording, path, options->sort) != 0)
        return 1;
    int status = report_options_settle(options, &recording.profile);
    if (status == 0)
        status = show_report(options, &recording.profile);
    recording_close(&recording);
    return status;
}

int command_top(int argc, char **argv)
{
    static const struct option names[] = {REPORT_LONG_OPTIONS,
                                          {"stacks", no_argument, NULL, REPORT_OPTION_STACKS},
                                          {"interval", required_argument, NULL, LIVE_OPTION_INTERVAL},
                                          {"count", required_argument, NULL, LIVE_OPTION_COUNT},
                                          {0}};
    struct live_words words = {.count = 0};
    struct report_options options;
    const struct report_own_options own = {names, live_read_option, &words};
    int status = report_options_read(&options, argc, argv, &own);
    if (status == 0 && options.is_help)
        status = report_options_print_help(help, help_end);
    else if (status == 0 && options.request.keeps_stacks && !options.is_json)
        status = command_misused("top", "--stacks needs --json: only that has stacks");
    else if (status == 0 && optind + 1 != argc)
        status = command_misused("top", "one FILE or PID is needed");
    else if (status == 0 && live_is_pid(argv[optind]))
        status = live_show(argv[optind], &options, &words);
    else if (status == 0 && words.is_said)
        status = command_misused("top", "--interval and --count are for a PID");
    else if (status == 0)
        status = open_and_show(&options, argv[optind]);
    report_options_deinit(&options);
    return status;
}
