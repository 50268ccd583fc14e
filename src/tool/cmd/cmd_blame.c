#include "commands.h"
#include "waits_options.h"
#include "base/json.h"
#include "tool/io/output_file.h"
#include "tool/io/text.h"
#include "tool/waits/blame_report.h"

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

static int print(const struct waits_options *asked, const struct profile *profile,
                 const struct blame_sums *sums, const struct blame_culprit *const *culprits)
{
    const struct blame_report report = {.sums = sums,
                                        .profile = profile,
                                        .culprits = culprits,
                                        .shown =
                                            waits_options_lines(asked, DEFAULT_LINES, sums->culprits.count)};
    return asked->is_json ? print_json(&report) : print_text(&report);
}

static int show(const void *context, const struct profile *profile)
{
    const struct waits_options *asked = context;
    struct blame_sums sums;
    const bool is_made = blame_make(&sums, profile) == 0;
    const struct blame_culprit **culprits = is_made ? blame_sorted(&sums) : NULL;
    const int status = culprits ? print(asked, profile, &sums, culprits)
                                : command_fail("there is not enough memory for the report");
    free(culprits);
    blame_free(&sums);
    return status;
}

int command_blame(int argc, char **argv)
{
    static const struct option options[] = {WAITS_LONG_OPTIONS};
    struct waits_options asked = {.command = "blame"};
    int status = 0;
    text_init();
    for (int option;
         status == 0 && (option = getopt_long(argc, argv, WAITS_SHORT_OPTIONS, options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        status = waits_options_take(&asked, option, argv, options);
    }
    return status ? status : waits_options_show(&asked, argc, argv, "blame", show, &asked);
}
