#include "commands.h"
#include "waits_options.h"
#include "base/json.h"
#include "tool/io/output_file.h"
#include "tool/io/text.h"
#include "tool/waits/wait_graph_report.h"

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
    struct waits_options options;
    const char *patterns[WAIT_GRAPH_PATTERNS_MAX + 1]; /* ended by NULL */
    size_t pattern_count;
    bool is_dot;
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
    const size_t otherwise = asked->is_dot ? SIZE_MAX : DEFAULT_LINES,
                 count = waits_options_lines(&asked->options, otherwise, graph->edge_count);
    if (asked->options.is_json)
        return print_json(profile, graph, edges, count);
    if (asked->is_dot) {
        wait_graph_put_dot(graph, edges, count, stdout);
        return output_printed();
    }
    text_put_wrapped(stdout, profile_command(profile, command), text_columns(stdout));
    wait_graph_put_text(graph, edges, count, text_columns(stdout), stdout);
    return output_printed();
}

static int show(const void *context, const struct profile *profile)
{
    const struct asked *asked = context;
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
    asked->is_dot |= option == 'd';
    if (option == 'g' && asked->pattern_count >= WAIT_GRAPH_PATTERNS_MAX)
        return command_misused("waits", "at most %d times --group", WAIT_GRAPH_PATTERNS_MAX);
    if (option == 'g')
        asked->patterns[asked->pattern_count++] = optarg;
    return option == 'd' || option == 'g' ? 0 : waits_options_take(&asked->options, option, argv, options);
}

int command_waits(int argc, char **argv)
{
    static const struct option options[] = {
        {"group", required_argument, NULL, 'g'}, {"dot", no_argument, NULL, 'd'}, WAITS_LONG_OPTIONS};
    struct asked asked = {.options = {.command = "waits"}};
    int status = 0;
    text_init();
    for (int option;
         status == 0 && (option = getopt_long(argc, argv, "g:d" WAITS_SHORT_OPTIONS, options, NULL)) >= 0;) {
        if (option == 'h')
            return output_print(help);
        status = take_option(&asked, option, argv, options);
    }
    if (status == 0 && asked.is_dot && asked.options.is_json)
        status = command_misused("waits", "either --dot or --json");
    return status ? status : waits_options_show(&asked.options, argc, argv, "waits", show, &asked);
}
