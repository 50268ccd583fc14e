#include "commands.h"
#include "base/json.h"
#include "tool/io/command.h"
#include "tool/io/output_file.h"
#include "tool/io/text.h"
#include "tool/read/recording.h"
#include "tool/read/store_names.h"
#include "tool/waits/wait_graph_report.h"

#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: wallprof waits [OPTIONS] FILE\n"
    "Shows who waits for whom, for what, and how long: the wait-for graph. Threads of\n"
    "one name are one. A knot is threads that wait for each other, directly or by way\n"
    "of others. GAIN is an estimate of the thread time that would be saved if nobody\n"
    "waited there: the wait, and what others wait for the waiter meanwhile. FILE is a\n"
    "store or a .pb.gz file of wallprof's; - is standard input.\n"
    "\n"
    "  -n, --lines N        number of waits; 0 for all. Default: 20, DOT, JSON: all.\n"
    "  -g, --group PATTERN  threads with names like work* are one (again for others)\n"
    "  -d, --dot            the graph for Graphviz: wallprof waits -d F | dot -Tsvg\n"
    "  -o, --output FILE    write it there instead of to standard output\n"
    "  -j, --json           as JSON: {version: 1, command, wall_ns, waited_ns, knots,\n"
    "                       threads: [{name, wall_ns, running_ns, knot}], waits:\n"
    "                       [{waiter, kind, on, holder, wall_ns, estimated_gain_ns,\n"
    "                       knot}]}; unknown is null, a knot is a number from 1 on\n";

enum { DEFAULT_LINES = 20 };

struct asked {
    const char *output;
    const char *patterns[WAIT_GRAPH_PATTERNS_MAX + 1]; /* ended by NULL */
    size_t pattern_count, lines;                       /* lines: 0 if nothing is said */
    bool is_dot, is_json;
};

static int print_json(const struct profile *profile, const struct wait_graph *graph,
                      const struct wait_edge *const *edges, size_t count)
{
    struct json json;
    struct sink *sink = output_json_open(&json);
    if (!sink)
        return 1;
    json_begin_object(&json);
    json_member_uint(&json, "version", 1);
    json_member_string(&json, "command", profile->command);
    wait_graph_put_json(graph, edges, count, &json);
    json_end_object(&json);
    json_newline(&json);
    return output_stdout_close(sink);
}

static int print(const struct asked *asked, const struct profile *profile, const struct wait_graph *graph,
                 const struct wait_edge *const *edges)
{
    char command[PROFILE_COMMAND_BYTES];
    const size_t lines = asked->lines                      ? asked->lines
                         : asked->is_dot || asked->is_json ? SIZE_MAX
                                                           : DEFAULT_LINES;
    const size_t count = lines < graph->edge_count ? lines : graph->edge_count;
    if (asked->is_json)
        return print_json(profile, graph, edges, count);
    if (asked->is_dot) {
        wait_graph_put_dot(graph, edges, count, stdout);
        return output_printed();
    }
    text_put_wrapped(stdout, profile_command(profile, command), text_columns(stdout));
    wait_graph_put_text(graph, edges, count, text_columns(stdout), stdout);
    return output_printed();
}

static int show(const struct asked *asked, const struct profile *profile)
{
    struct wait_graph graph;
    const bool is_made = wait_graph_make(&graph, profile, asked->patterns) == 0;
    const struct wait_edge **edges = is_made ? wait_graph_sorted(&graph) : NULL;
    const int status = edges ? print(asked, profile, &graph, edges)
                             : command_fail("there is not enough memory for the report");
    free(edges);
    wait_graph_free(&graph);
    return status;
}

/* 0 or EXIT_USAGE with a message. */
static int take_option(struct asked *asked, int option, char **argv, const struct option *options)
{
    long lines = 0;
    asked->is_dot |= option == 'd';
    asked->is_json |= option == 'j';
    if (option == 'o')
        asked->output = optarg;
    else if (option == 'g' && asked->pattern_count < WAIT_GRAPH_PATTERNS_MAX)
        asked->patterns[asked->pattern_count++] = optarg;
    else if (option == 'g')
        return command_misused("waits", "at most %d times --group", WAIT_GRAPH_PATTERNS_MAX);
    else if (option == 'n' && !command_number(optarg, 0, INT_MAX, &lines))
        return command_misused("waits", "'%s' is not a valid number", optarg);
    else if (option == 'n')
        asked->lines = lines ? (size_t)lines : SIZE_MAX;
    else if (option != 'd' && option != 'j')
        return command_wrong_option("waits", argv, options);
    return 0;
}

static int open_and_show(const struct asked *asked, const char *path)
{
    struct recording recording;
    if (store_names_open(&recording, path) != 0)
        return 1;
    const int status = recording.profile.measure
                           ? command_fail("%s: it has no waits: it is another program's", path)
                           : show(asked, &recording.profile);
    recording_close(&recording);
    return status;
}

int command_waits(int argc, char **argv)
{
    static const struct option options[] = {{"lines", required_argument, NULL, 'n'},
                                            {"group", required_argument, NULL, 'g'},
                                            {"dot", no_argument, NULL, 'd'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct asked asked = {.lines = 0};
    int status = 0;
    text_init();
    for (int option; status == 0 && (option = getopt_long(argc, argv, "n:g:djo:h", options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        status = take_option(&asked, option, argv, options);
    }
    if (status == 0 && asked.is_dot && asked.is_json)
        status = command_misused("waits", "either --dot or --json");
    if (status == 0 && optind + 1 != argc)
        status = command_misused("waits", "one FILE is needed");
    if (status == 0)
        status = output_redirect("waits", asked.output, asked.is_json);
    return status ? status : open_and_show(&asked, argv[optind]);
}
