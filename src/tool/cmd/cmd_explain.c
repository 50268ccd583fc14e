#include "commands.h"
#include "report_options.h"
#include "base/name_pattern.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/io/text.h"
#include "tool/meaning/idle.h"
#include "tool/read/recording.h"
#include "tool/read/store_names.h"
#include "tool/report/finding.h"
#include "tool/report/hints.h"
#include "tool/report/report_answer.h"
#include "tool/report/report_table.h"
#include "tool/report/short_name.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: wallprof explain [OPTIONS] FILE\n"
    "Says what takes the time: the functions that somebody would have to change, why\n"
    "they are slow, where, who calls them, and how to look closer. FILE is a store or\n"
    "a .pb.gz file of wallprof's; - is standard input.\n"
    "\n"
    "  -n, --lines N     number of findings, 1 to 10. Default: 5.\n"
    "  -o, --output OUT  write it there instead of to standard output\n"
    "  -j, --json        as JSON: {version: 1, command, duration_ns, threads,\n"
    "                    total_ns, running_ns, waits_ns: {lock: NS...},\n"
    "                    findings: [{function, share, wall_ns, running_ns, waits_ns,\n"
    "                    why, on, holder, waits: [{kind, on, holder, wall_ns}],\n"
    "                    through, file, line, module, callers: [NAME...], next}],\n"
    "                    hints: [TEXT...]}; unknown is null\n";

enum { FINDINGS = 5, NAME_COLUMNS = 50, TEXT_BYTES = 1024 };

struct explaining {
    const char *path;
    const struct profile *profile;
    const struct report *report;
    struct finding findings[ANSWER_FINDINGS_MAX];
    size_t count;
    struct hints hints;
};

/* The command that shows this function's lines, or its callees where there are no lines. */
static void next_command(const struct explaining *explaining, const struct finding *finding,
                         char ret[TEXT_BYTES])
{
    char name[SHORT_NAME_BYTES];
    const char *place = strrchr(short_name(finding->row->name, 1, name), ' '),
               *focus = *name == '<' && place ? place + 1 : name; /* <module> shop.py:1 */
    snprintf(ret, TEXT_BYTES, "wallprof top --by %s --focus '%.*s' %s", finding->line ? "line" : "leaf",
             (int)strcspn(focus, "'<(["), focus, explaining->path);
}

/* ---- text ---- */

static void put_where(const struct finding *finding)
{
    if (finding->line && finding->file)
        printf(" (%s:%u)", name_last_part(finding->file), finding->line);
    else if (finding->module)
        printf(" (%s)", name_last_part(finding->module));
}

static void put_finding(const struct explaining *explaining, const struct finding *finding)
{
    char name[SHORT_NAME_BYTES], parts[ANSWER_TEXT_BYTES], share[TEXT_NUMBER_BYTES], text[TEXT_BYTES];
    const uint64_t whole_ns = tree_wall_ns(&explaining->report->selected);
    text_share(share, tree_wall_ns(&finding->row->flat), whole_ns);
    answer_parts(explaining->report, finding->row, parts);
    printf("\n%s  %s", share, short_name(finding->row->name, NAME_COLUMNS, name));
    put_where(finding);
    printf(*parts ? "\n       %s" : "%s", parts);
    if (*parts && finding->through)
        printf(", in %s", short_name(finding->through, NAME_COLUMNS, name));
    fputc('\n', stdout);
    if (answer_things(&finding->waits, whole_ns, "       waits for:", parts))
        puts(parts);
    for (uint32_t i = 0; i < finding->caller_count; i++)
        printf("%s%s", i == 0 ? "       called by " : " < ",
               short_name(finding->callers[i], NAME_COLUMNS, name));
    if (finding->caller_count > 0)
        fputc('\n', stdout);
    next_command(explaining, finding, text);
    printf("       next: %s\n", text);
}

static int print_text(const struct explaining *explaining)
{
    char command[PROFILE_COMMAND_BYTES], where[ANSWER_TEXT_BYTES], all[TEXT_NUMBER_BYTES],
        duration[TEXT_NUMBER_BYTES];
    const struct report *report = explaining->report;
    const bool shows_idle = idle_is_shown();
    const struct profile *profile = explaining->profile;
    profile_command(profile, command);
    if (profile->measure) {
        text_amount(all, tree_wall_ns(&report->selected), profile->measure->unit);
        printf("%s%s%s: %s\n", command, *command ? "\n" : "", profile->measure->name, all);
    } else {
        text_time(all, tree_wall_ns(&report->selected) + (shows_idle ? 0 : report->waited_ns[WAIT_IDLE]));
        text_time(duration, profile->duration_ns);
        answer_where(report, shows_idle, where);
        printf("%s\n%s of thread time in %s\n%s\n", command, all, duration, where);
    }
    for (size_t i = 0; i < explaining->count; i++)
        put_finding(explaining, &explaining->findings[i]);
    if (explaining->count == 0)
        puts("\nNo function has 2 % of the time.");
    for (size_t i = 0; i < explaining->hints.count; i++)
        printf("%s%s\n", i == 0 ? "\n" : "", explaining->hints.texts[i]);
    return output_printed();
}

/* ---- JSON ---- */

/* False without memory. */
static bool json_finding(const struct explaining *explaining, const struct finding *finding,
                         struct json *json)
{
    struct wait_thing thing;
    char text[TEXT_BYTES], name[SHORT_NAME_BYTES], parts[ANSWER_TEXT_BYTES];
    const struct report_row *row = finding->row;
    const uint64_t whole_ns = tree_wall_ns(&explaining->report->selected);
    json_newline(json);
    json_begin_object(json);
    json_member_string(json, "function", row->name);
    text_share(text, tree_wall_ns(&row->flat), whole_ns);
    json_member_string(json, "share", text);
    json_member_uint(json, "wall_ns", tree_wall_ns(&row->flat));
    json_member_uint(json, "running_ns", row->flat.cpu_ns);
    report_json_waits(json, row->waited_ns);
    answer_parts(explaining->report, row, parts);
    json_member_string(json, "why", parts);
    const bool is_known = finding_waits_for(finding, &thing);
    json_member_text(json, WAIT_LABEL_ON, is_known ? thing.on : NULL);
    json_member_text(json, WAIT_LABEL_HOLDER, is_known ? thing.holder : NULL);
    const bool is_whole = wait_sums_json(&finding->waits, json, "waits");
    json_member_text(json, "through",
                     finding->through ? short_name(finding->through, NAME_COLUMNS, name) : NULL);
    json_member_text(json, "file", finding->line ? finding->file : NULL);
    json_key(json, "line");
    if (finding->line)
        json_uint(json, finding->line);
    else
        json_null(json);
    json_member_text(json, "module", finding->module);
    json_member_array(json, "callers");
    for (uint32_t i = 0; i < finding->caller_count; i++)
        json_string(json, short_name(finding->callers[i], NAME_COLUMNS, name));
    json_end_array(json);
    next_command(explaining, finding, text);
    json_member_string(json, "next", text);
    json_end_object(json);
    return is_whole;
}

static int print_json(const struct explaining *explaining)
{
    const struct report *report = explaining->report;
    struct json json;
    bool is_whole = true;
    struct sink *sink = output_json_open(&json);
    if (!sink)
        return 1;
    json_begin_object(&json);
    json_member_uint(&json, "version", 1);
    json_member_string(&json, "command", explaining->profile->command);
    json_member_uint(&json, "duration_ns", explaining->profile->duration_ns);
    if (explaining->profile->measure)
        report_json_measure(&json, explaining->profile);
    json_member_uint(&json, "threads", report->thread_count + report->idle_thread_count);
    json_member_uint(&json, "total_ns", tree_wall_ns(&report->selected));
    json_member_uint(&json, "running_ns", report->selected.cpu_ns);
    report_json_waits(&json, report->waited_ns);
    json_member_array(&json, "findings");
    for (size_t i = 0; i < explaining->count; i++)
        is_whole &= json_finding(explaining, &explaining->findings[i], &json);
    json_end_array(&json);
    json_member_array(&json, "hints");
    for (size_t i = 0; i < explaining->hints.count; i++)
        json_string(&json, explaining->hints.texts[i]);
    json_end_array(&json);
    json_end_object(&json);
    json_newline(&json);
    if (!is_whole)
        sink_fail(sink, -ENOMEM);
    return output_stdout_close(sink);
}

/* ---- the command ---- */

static int look(struct explaining *explaining, size_t most)
{
    const struct report_row *rows[ANSWER_FINDINGS_MAX];
    explaining->count = answer_choose(explaining->report, most, rows);
    for (size_t i = 0; i < explaining->count; i++) {
        if (finding_look(&explaining->findings[i], explaining->report, explaining->profile, rows[i]) < 0)
            return command_fail("there is not enough memory for the report");
    }
    hints_make(&explaining->hints, explaining->report, explaining->profile);
    return 0;
}

static int explain(const char *path, size_t most, bool is_json)
{
    static struct explaining explaining;
    const struct report_request request = {.by = REPORT_BY_FUNCTION, .shows_idle = idle_is_shown()};
    struct recording recording;
    struct report report;
    if (store_names_open(&recording, path) != 0)
        return 1;
    int status = report_make(&report, &recording.profile, &request) < 0
                     ? command_fail("there is not enough memory for the report")
                     : 0;
    if (status == 0) {
        explaining = (struct explaining){.path = path, .profile = &recording.profile, .report = &report};
        status = look(&explaining, most);
        if (status == 0)
            status = is_json ? print_json(&explaining) : print_text(&explaining);
        for (size_t i = 0; i < ANSWER_FINDINGS_MAX; i++)
            finding_free(&explaining.findings[i]);
        report_free(&report);
    }
    recording_close(&recording);
    return status;
}

int command_explain(int argc, char **argv)
{
    static const struct option options[] = {{"lines", required_argument, NULL, 'n'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    long most = FINDINGS;
    const char *output = NULL;
    bool is_json = false;
    text_init();
    for (int option; (option = getopt_long(argc, argv, "n:o:jh", options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        if (option == 'j')
            is_json = true;
        else if (option == 'o')
            output = optarg;
        else if (option != 'n')
            return command_wrong_option("explain", argv, options);
        else if (!command_number(optarg, 1, ANSWER_FINDINGS_MAX, &most))
            return command_misused("explain", "'%s' is not a number from 1 to 10", optarg);
    }
    if (optind + 1 != argc)
        return command_misused("explain", "one FILE is needed");
    int status = output_redirect("explain", output, is_json);
    return status ? status : explain(argv[optind], (size_t)most, is_json);
}
