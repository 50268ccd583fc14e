/* The tools as the client sees them, and their command lines. */
#include "mcp_record.h"

#include <string.h>

#define FILE_OF(text)                                                                                        \
    {                                                                                                        \
        .name = "file", .description = text, .is_required = true                                             \
    }
#define RECORDING "Path of the recording, as record returns it (.pb.gz or .store)"
#define LINES(text, count)                                                                                   \
    {                                                                                                        \
        .name = "lines", .description = text, .option = "--lines", .kind = MCP_NUMBER, .least = 1,           \
        .most = count                                                                                        \
    }
#define IDLE                                                                                                 \
    {                                                                                                        \
        .name = "idle",                                                                                      \
        .description = "Also time in which threads wait for work, which is left out otherwise",              \
        .option = "--idle", .kind = MCP_FLAG                                                                 \
    }
#define BY                                                                                                   \
    {                                                                                                        \
        .name = "by",                                                                                        \
        .description =                                                                                       \
            "What a line stands for. function counts what libraries do for the program's function "          \
            "that called them, leaf for the innermost function. Default: function",                          \
        .option = "--by", .words = "function leaf line file module thread process label wait on holder"      \
    }
#define FILTERS                                                                                              \
    {.name = "thread",                                                                                       \
     .description = "Only threads of this name (or like work*) or id",                                       \
     .option = "--thread"},                                                                                  \
        {.name = "process",                                                                                  \
         .description = "Only processes of this name, title or pid",                                         \
         .option = "--process"},                                                                             \
        {.name = "focus",                                                                                    \
         .description = "Only stacks with a function, source file or module that matches this extended "     \
                        "regular expression",                                                                \
         .option = "--focus"},                                                                               \
    {                                                                                                        \
        .name = "ignore", .description = "Only stacks without such a match", .option = "--ignore"            \
    }

static const struct mcp_parameter record_parameters[] = {
    {.name = "command",
     .description = "The program and its arguments, one string each. It is not run by a shell.",
     .kind = MCP_LIST,
     .is_required = true},
    {.name = "directory", .description = "Where it runs. Default: the server's working directory"},
    {.name = "seconds",
     .description = "Time limit: then the program gets SIGTERM, after 5 s more SIGKILL, and is recorded so "
                    "far. Default: 30. Many clients wait for 60 s only.",
     .kind = MCP_NUMBER,
     .least = 1,
     .most = MCP_SECONDS_MAX},
    {.name = "output",
     .description = "Path of the recording, ending in .pb.gz. A file there is replaced. Default: a new file "
                    "in the directory for temporary files"},
    {0}};

static const struct mcp_parameter summary_parameters[] = {
    FILE_OF(RECORDING),
    BY,
    {.name = "sort",
     .description = "Default: wall, which has all waiting",
     .option = "--sort",
     .words = "wall cpu offcpu samples"},
    {.name = "cum",
     .description = "Sort by time with all that was called",
     .option = "--cum",
     .kind = MCP_FLAG},
    LINES("Number of lines. Default: 20", 200),
    IDLE,
    FILTERS,
    {0}};

static const struct mcp_parameter explain_parameters[] = {
    FILE_OF(RECORDING), LINES("Number of findings. Default: 5", 10), {0}};

static const struct mcp_parameter callers_parameters[] = {
    {.name = "function",
     .description = "A function's name as the other tools write it. Arguments, template arguments and outer "
                    "namespaces may be missing.",
     .is_required = true},
    FILE_OF(RECORDING),
    {.name = "callees", .description = "Also what it calls", .option = "--callees", .kind = MCP_FLAG},
    LINES("Number of callers, and of callees. Default: 10", 50),
    IDLE,
    {0}};

static const struct mcp_parameter waits_parameters[] = {
    FILE_OF(RECORDING), LINES("Number of waits. Default: all", 500), {0}};

static const struct mcp_parameter diff_parameters[] = {
    {.name = "before",
     .description = "Path of the earlier recording, or of a directory of several runs",
     .is_required = true},
    {.name = "after", .description = "Path of the later recording, or of a directory", .is_required = true},
    BY,
    {.name = "normalize",
     .description = "Compare shares: the later recording is scaled to the total of the earlier one",
     .option = "--normalize",
     .kind = MCP_FLAG},
    LINES("Number of lines. Default: 20", 200),
    FILTERS,
    {0}};

static const struct mcp_tool tools[] = {
    {.name = "record",
     .title = "Record a program",
     .description = "Runs a program until it ends, or for so many seconds, and records where its wall-clock "
                    "time goes, waiting included: locks, files, network, sleep. Returns the path of the "
                    "recording, how the program ended, the end of its output, and the explanation of the "
                    "recording (as explain).",
     .parameters = record_parameters,
     .is_record = true},
    {.name = "explain",
     .title = "Explain a recording",
     .description = "Says what takes the time: the program's functions with most of it, what they wait for, "
                    "where (file and line), what they call and who calls them, and hints for missing names. "
                    "Begin with this.",
     .command = {"explain", "--json"},
     .parameters = explain_parameters,
     .is_json = true},
    {.name = "summary",
     .title = "Summarize a recording",
     .description = "A table of functions (or lines, files, modules, threads) and of threads: their own wall "
                    "time with error bar, time with all that they call, and what they wait for.",
     .command = {"top", "--width=120", "--color=never"},
     .parameters = summary_parameters},
    {.name = "callers",
     .title = "Callers of a function",
     .description = "Says who calls a function, and with callees what it calls, with shares of the time in "
                    "the function and in all that it calls.",
     .command = {"callers", "--json"},
     .parameters = callers_parameters,
     .is_json = true},
    {.name = "waits",
     .title = "Who waits for whom",
     .description =
         "The wait-for graph: which threads wait for which lock, file or connection, who held it, "
         "how long, an estimate of the thread time that would be saved if nobody waited there, and "
         "knots, which are threads that wait for each other.",
     .command = {"waits", "--json"},
     .parameters = waits_parameters,
     .is_json = true},
    {.name = "blame",
     .title = "Who made others wait",
     .description = "What the holders of locks did while others waited for them, weighted by how long these "
                    "waited, the worst first: functions and stacks of holders, the locks, and who waited.",
     .command = {"blame", "--json"},
     .parameters = waits_parameters,
     .is_json = true},
    {.name = "diff",
     .title = "Compare two recordings",
     .description = "Says what takes more time (+) or less (-) in the later recording than in the earlier "
                    "one, with error bars: a change that is smaller than its bar may be chance.",
     .command = {"diff", "--width=120", "--color=never"},
     .parameters = diff_parameters},
};

enum { TOOL_COUNT = sizeof tools / sizeof *tools };

const struct mcp_tool *mcp_tool_named(const char *name)
{
    for (int i = 0; i < TOOL_COUNT; i++) {
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    }
    return NULL;
}

/* ---- schemas ---- */

static json_t *words_of(const char *words)
{
    json_t *list = json_array();
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t bytes = strcspn(at, " ");
        json_array_append_new(list, json_stringn(at, bytes));
        at += bytes;
    }
    return list;
}

static json_t *schema_of(const struct mcp_parameter *parameter)
{
    static const char *const types[] = {
        [MCP_TEXT] = "string", [MCP_NUMBER] = "integer", [MCP_FLAG] = "boolean", [MCP_LIST] = "array"};
    json_t *schema =
        json_pack("{s:s, s:s}", "type", types[parameter->kind], "description", parameter->description);
    if (parameter->words)
        json_object_set_new(schema, "enum", words_of(parameter->words));
    if (parameter->kind == MCP_NUMBER) {
        json_object_set_new(schema, "minimum", json_integer(parameter->least));
        json_object_set_new(schema, "maximum", json_integer(parameter->most));
    }
    if (parameter->kind == MCP_LIST) {
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
        json_object_set_new(schema, "minItems", json_integer(1));
    }
    return schema;
}

static json_t *description_of(const struct mcp_tool *tool)
{
    json_t *properties = json_object(), *required = json_array();
    for (const struct mcp_parameter *at = tool->parameters; at->name; at++) {
        json_object_set_new(properties, at->name, schema_of(at));
        if (at->is_required)
            json_array_append_new(required, json_string(at->name));
    }
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:o, s:o, s:b}, s:{s:b, s:b, s:b}}", "name", tool->name,
                     "title", tool->title, "description", tool->description, "inputSchema", "type", "object",
                     "properties", properties, "required", required, "additionalProperties", 0, "annotations",
                     "readOnlyHint", !tool->is_record, "destructiveHint", tool->is_record, "openWorldHint",
                     tool->is_record);
}

json_t *mcp_tools_list(void)
{
    json_t *list = json_array();
    for (int i = 0; i < TOOL_COUNT; i++)
        json_array_append_new(list, description_of(&tools[i]));
    return list;
}
