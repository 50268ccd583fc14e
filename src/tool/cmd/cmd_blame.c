#include "commands.h"
#include "base/json.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/io/text.h"
#include "tool/read/recording.h"
#include "tool/read/store_names.h"
#include "tool/waits/blame_report.h"

#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] = "usage: wallprof blame [OPTIONS] FILE\n"
                           "Shows who made others wait for locks: what those who held them did meanwhile,\n"
                           "weighted by how long others waited for it, the worst first. Where a holder\n"
                           "waited for a lock itself, the thread at the end of that chain is shown. FILE is\n"
                           "a store or a .pb.gz file of wallprof's; - is standard input.\n"
                           "\n"
                           "  -n, --lines N      number of functions; 0 for all. Default: 5, JSON: all.\n"
                           "  -o, --output FILE  write it there instead of to standard output\n"
                           "  -j, --json         as JSON: {version: 1, command, blame_ns, waited_ns,\n"
                           "                     culprits: [{thread, function, blame_ns, locks: [{blame_ns,\n"
                           "                     on, holder}], stacks: [{blame_ns, functions}], waiters:\n"
                           "                     [{thread, function, wall_ns}]}]}; functions are innermost\n"
                           "                     first; unknown is null\n";

enum { DEFAULT_LINES = 5 };

struct asked {
    const char *output;
    size_t lines; /* 0 if nothing is said */
    bool is_json;
};

static int print_json(const struct blame_report *report)
{
    struct json json;
    struct sink *sink = output_json_open(&json);
    if (!sink)
        return 1;
    json_begin_object(&json);
    json_member_uint(&json, "version", 1);
    json_member_string(&json, "command", report->profile->command);
    const int status = blame_put_json(report, &json);
    json_end_object(&json);
    json_newline(&json);
    return output_stdout_close(sink) || status;
}

static int print_text(const struct blame_report *report)
{
    char command[PROFILE_COMMAND_BYTES];
    text_put_wrapped(stdout, profile_command(report->profile, command), text_columns(stdout));
    if (blame_put_text(report, text_columns(stdout), stdout) < 0)
        return command_fail("there is not enough memory for the report");
    return output_printed();
}

static int print(const struct asked *asked, const struct profile *profile, const struct blame_sums *sums,
                 const struct blame_culprit *const *culprits)
{
    const size_t lines = asked->lines ? asked->lines : asked->is_json ? SIZE_MAX : DEFAULT_LINES;
    const struct blame_report report = {.sums = sums,
                                        .profile = profile,
                                        .culprits = culprits,
                                        .shown = lines < sums->culprits.count ? lines : sums->culprits.count};
    return asked->is_json ? print_json(&report) : print_text(&report);
}

static int show(const struct asked *asked, const struct profile *profile)
{
    struct blame_sums sums;
    const bool is_made = blame_make(&sums, profile) == 0;
    const struct blame_culprit **culprits = is_made ? blame_sorted(&sums) : NULL;
    const int status = culprits ? print(asked, profile, &sums, culprits)
                                : command_fail("there is not enough memory for the report");
    free(culprits);
    blame_free(&sums);
    return status;
}

/* 0 or EXIT_USAGE with a message. */
static int take_option(struct asked *asked, int option, char **argv, const struct option *options)
{
    long lines = 0;
    asked->is_json |= option == 'j';
    if (option == 'o')
        asked->output = optarg;
    else if (option == 'n' && !command_number(optarg, 0, INT_MAX, &lines))
        return command_misused("blame", "'%s' is not a valid number", optarg);
    else if (option == 'n')
        asked->lines = lines ? (size_t)lines : SIZE_MAX;
    else if (option != 'j')
        return command_wrong_option("blame", argv, options);
    return 0;
}

static int open_and_show(const struct asked *asked, const char *path)
{
    struct recording recording;
    if (store_names_open(&recording, path) != 0)
        return 1;
    const int status = recording.profile.measure
                           ? command_fail("%s: it has no blame: it is another program's", path)
                           : show(asked, &recording.profile);
    recording_close(&recording);
    return status;
}

int command_blame(int argc, char **argv)
{
    static const struct option options[] = {{"lines", required_argument, NULL, 'n'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct asked asked = {.lines = 0};
    int status = 0;
    text_init();
    for (int option; status == 0 && (option = getopt_long(argc, argv, "n:jo:h", options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        status = take_option(&asked, option, argv, options);
    }
    if (status == 0 && optind + 1 != argc)
        status = command_misused("blame", "one FILE is needed");
    if (status == 0)
        status = output_redirect("blame", asked.output, asked.is_json);
    return status ? status : open_and_show(&asked, argv[optind]);
}
