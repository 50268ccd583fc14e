#include "commands.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/io/text.h"
#include "tool/read/recording.h"
#include "tool/read/store_names.h"
#include "tool/report/callers.h"
#include "tool/report/short_name.h"
#include "base/json.h"

#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: wallprof callers [OPTIONS] FUNCTION FILE\n"
    "Says who calls a function, with shares of the time in it and in what it calls.\n"
    "FUNCTION is a name as the reports show it; arguments, template arguments and\n"
    "outer namespaces may be missing. FILE is a store or a .pb.gz file of wallprof's.\n"
    "\n"
    "  -c, --callees     also what it calls\n"
    "  -n, --lines N     number of lines of each; 0 for all. Default: 10.\n"
    "      --idle        also time in which threads wait for work\n"
    "  -j, --json        as JSON: {version: 1, function, share, total_ns, wall_ns,\n"
    "                    running_ns, callers: [{function, share, wall_ns,\n"
    "                    running_ns}], callees: [like callers], caller_count,\n"
    "                    callee_count}\n"
    "                    A caller's share is of the function's time. A caller that is\n"
    "                    null: a thread begins in it; a callee: its own time.\n";

enum { DEFAULT_LINES = 10, LIKE_MAX = 5, LIKE_BYTES = 1024 };

struct asked {
    const char *function, *path;
    size_t lines;
    bool has_callees, shows_idle, is_json;
};

/* ---- text ---- */

static void print_rows(const struct asked *asked, const char *unit, const char *heading, const char *nameless,
                       const struct callers_row *rows, size_t count, uint64_t whole_ns)
{
    char share[TEXT_NUMBER_BYTES], wall[TEXT_NUMBER_BYTES], name[SHORT_NAME_BYTES];
    printf("\n%s\n", heading);
    for (size_t i = 0; i < count && i < asked->lines; i++) {
        text_share(share, tree_wall_ns(&rows[i].values), whole_ns);
        text_amount(wall, tree_wall_ns(&rows[i].values), unit);
        text_put_number(stdout, share, 8);
        text_put_number(stdout, wall, 9);
        fputs("  ", stdout);
        text_put(stdout, *rows[i].name ? short_name(rows[i].name, TEXT_DEFAULT_COLUMNS, name) : nameless, -1,
                 TEXT_CUT_END);
        fputc('\n', stdout);
    }
    if (count > asked->lines)
        printf("and %zu more\n", count - asked->lines);
}

static int print_text(const struct asked *asked, const struct profile *profile, const struct callers *callers)
{
    char share[TEXT_NUMBER_BYTES], wall[TEXT_NUMBER_BYTES], all[TEXT_NUMBER_BYTES];
    const uint64_t wall_ns = tree_wall_ns(&callers->in);
    text_share(share, wall_ns, tree_wall_ns(&callers->whole));
    const char *unit = profile->measure ? profile->measure->unit : "nanoseconds";
    text_amount(wall, wall_ns, unit);
    text_amount(all, tree_wall_ns(&callers->whole), unit);
    text_put(stdout, asked->function, -1, TEXT_CUT_END);
    printf(": %s of the %s, %s of %s, with what it calls\n", share,
           profile->measure ? profile->measure->name : "time", wall, all);
    print_rows(asked, unit, "called by", "nothing: a thread begins in it", callers->callers,
               callers->caller_count, wall_ns);
    if (asked->has_callees)
        print_rows(asked, unit, "calls", "nothing: its own time", callers->callees, callers->callee_count,
                   wall_ns);
    return output_printed();
}

/* ---- JSON ---- */

static void json_times(struct json *json, const struct values *values, uint64_t whole_ns)
{
    char share[TEXT_NUMBER_BYTES];
    text_share(share, tree_wall_ns(values), whole_ns);
    json_member_string(json, "share", share);
    json_member_uint(json, "wall_ns", tree_wall_ns(values));
    json_member_uint(json, "running_ns", values->cpu_ns);
}

static void json_rows(const struct asked *asked, struct json *json, const char *key,
                      const struct callers_row *rows, size_t count, uint64_t whole_ns)
{
    json_member_array(json, key);
    for (size_t i = 0; i < count && i < asked->lines; i++) {
        json_newline(json);
        json_begin_object(json);
        json_member_text(json, "function", *rows[i].name ? rows[i].name : NULL);
        json_times(json, &rows[i].values, whole_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

static int print_json(const struct asked *asked, const struct callers *callers)
{
    struct json json;
    struct sink *sink = output_json_open(&json);
    if (!sink)
        return 1;
    json_begin_object(&json);
    json_member_uint(&json, "version", 1);
    json_member_string(&json, "function", asked->function);
    json_member_uint(&json, "total_ns", tree_wall_ns(&callers->whole));
    json_times(&json, &callers->in, tree_wall_ns(&callers->whole));
    json_rows(asked, &json, "callers", callers->callers, callers->caller_count, tree_wall_ns(&callers->in));
    json_member_uint(&json, "caller_count", callers->caller_count);
    if (asked->has_callees) {
        json_rows(asked, &json, "callees", callers->callees, callers->callee_count,
                  tree_wall_ns(&callers->in));
        json_member_uint(&json, "callee_count", callers->callee_count);
    }
    json_end_object(&json);
    json_newline(&json);
    return output_stdout_close(sink);
}

/* ---- the command ---- */

/* Names a few functions whose names have the word in them. */
static int fail_unknown(const struct asked *asked, const struct profile *profile)
{
    char like[LIKE_BYTES] = "", name[SHORT_NAME_BYTES];
    int found = 0;
    for (uint32_t i = 0; i < profile->symbols->function_count && found < LIKE_MAX; i++) {
        if (!strcasestr(profile->symbols->functions[i].name, asked->function))
            continue;
        size_t length = strlen(like);
        snprintf(like + length, sizeof like - length, "%s%s", found++ ? ", " : "; there is ",
                 short_name(profile->symbols->functions[i].name, TEXT_DEFAULT_COLUMNS, name));
    }
    return command_fail("%s: no stack has a function '%s'%s", asked->path, asked->function, like);
}

static int show_callers(const struct asked *asked, const struct profile *profile)
{
    struct callers callers;
    int status = 0;
    if (callers_find(&callers, profile, asked->function, asked->shows_idle) < 0)
        return command_fail("there is not enough memory for the report");
    if (!callers.is_known)
        status = fail_unknown(asked, profile);
    else
        status = asked->is_json ? print_json(asked, &callers) : print_text(asked, profile, &callers);
    callers_free(&callers);
    return status;
}

/* True: it was an option of ours with a good value. */
static bool take_option(struct asked *asked, int option)
{
    long lines = 0;
    asked->has_callees |= option == 'c';
    asked->shows_idle |= option == 'I';
    asked->is_json |= option == 'j';
    if (option == 'n' && command_number(optarg, 0, INT_MAX, &lines)) {
        asked->lines = lines ? (size_t)lines : SIZE_MAX;
        return true;
    }
    return option == 'c' || option == 'I' || option == 'j';
}

int command_callers(int argc, char **argv)
{
    static const struct option options[] = {
        {"callees", no_argument, NULL, 'c'}, {"lines", required_argument, NULL, 'n'},
        {"idle", no_argument, NULL, 'I'},    {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},    {0}};
    struct asked asked = {.lines = DEFAULT_LINES};
    struct recording recording;
    text_init();
    for (int option; (option = getopt_long(argc, argv, "cn:jh", options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        if (!take_option(&asked, option))
            return option == 'n' ? command_misused("callers", "'%s' is not a valid number", optarg)
                                 : command_misused("callers", "wrong option");
    }
    if (optind + 2 != argc)
        return command_misused("callers", "a FUNCTION and a FILE are needed");
    asked.function = argv[optind];
    asked.path = argv[optind + 1];
    if (store_names_open(&recording, asked.path) != 0)
        return 1;
    int status = show_callers(&asked, &recording.profile);
    recording_close(&recording);
    return status;
}
