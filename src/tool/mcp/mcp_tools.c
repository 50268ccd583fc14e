#include "mcp_tools.h"
#include "mcp_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { REPORT_LIMIT_S = 600 };

/* ---- arguments ---- */

static bool is_word_of(const char *words, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = words; at && bytes > 0 && (at = strstr(at, word)); at += bytes) {
        bool begins = at == words || at[-1] == ' ', ends = at[bytes] == ' ' || !at[bytes];
        if (begins && ends)
            return true;
    }
    return false;
}

static bool are_strings(const json_t *list)
{
    size_t i;
    const json_t *value;
    json_array_foreach(list, i, value)
    {
        if (!json_is_string(value))
            return false;
    }
    return json_array_size(list) > 0;
}

static bool has_kind(const struct mcp_parameter *parameter, const json_t *value)
{
    switch (parameter->kind) {
    case MCP_NUMBER:
        return json_is_integer(value) && json_integer_value(value) >= parameter->least &&
               json_integer_value(value) <= parameter->most;
    case MCP_FLAG:
        return json_is_boolean(value);
    case MCP_LIST:
        return are_strings(value);
    default:
        return json_is_string(value) &&
               (!parameter->words || is_word_of(parameter->words, json_string_value(value)));
    }
}

static void say_kind(const struct mcp_parameter *parameter, char ret[MCP_REASON_BYTES])
{
    if (parameter->kind == MCP_NUMBER)
        snprintf(ret, MCP_REASON_BYTES, "'%s' must be an integer from %d to %d", parameter->name,
                 parameter->least, parameter->most);
    else if (parameter->words)
        snprintf(ret, MCP_REASON_BYTES, "'%s' must be one of: %s", parameter->name, parameter->words);
    else
        snprintf(ret, MCP_REASON_BYTES, "'%s' must be %s", parameter->name,
                 parameter->kind == MCP_FLAG   ? "true or false"
                 : parameter->kind == MCP_LIST ? "a list of at least one string"
                                               : "a string");
}

static const struct mcp_parameter *parameter_named(const struct mcp_tool *tool, const char *name)
{
    const struct mcp_parameter *at = tool->parameters;
    while (at->name && strcmp(at->name, name) != 0)
        at++;
    return at->name ? at : NULL;
}

static void say_names(const struct mcp_tool *tool, const char *wrong, char ret[MCP_REASON_BYTES])
{
    snprintf(ret, MCP_REASON_BYTES, "there is no argument '%.64s'; there are", wrong);
    for (const struct mcp_parameter *at = tool->parameters; at->name; at++) {
        size_t length = strlen(ret);
        snprintf(ret + length, MCP_REASON_BYTES - length, "%s %s", at == tool->parameters ? "" : ",",
                 at->name);
    }
}

bool mcp_tool_accepts(const struct mcp_tool *tool, const json_t *arguments, char ret_reason[MCP_REASON_BYTES])
{
    void *at = json_object_iter((json_t *)arguments);
    for (; at; at = json_object_iter_next((json_t *)arguments, at)) {
        const struct mcp_parameter *parameter = parameter_named(tool, json_object_iter_key(at));
        if (!parameter) {
            say_names(tool, json_object_iter_key(at), ret_reason);
            return false;
        }
        if (!has_kind(parameter, json_object_iter_value(at))) {
            say_kind(parameter, ret_reason);
            return false;
        }
    }
    for (const struct mcp_parameter *wanted = tool->parameters; wanted->name; wanted++) {
        if (!wanted->is_required || json_object_get(arguments, wanted->name))
            continue;
        snprintf(ret_reason, MCP_REASON_BYTES, "'%s' is missing: %s", wanted->name, wanted->description);
        return false;
    }
    return true;
}

/* An option and its value are one word, so a value may begin with a dash. */
static json_t *option_word(const struct mcp_parameter *parameter, const json_t *value)
{
    if (parameter->kind == MCP_FLAG)
        return json_is_true(value) ? json_string(parameter->option) : NULL;
    if (parameter->kind == MCP_NUMBER)
        return json_sprintf("%s=%d", parameter->option, (int)json_integer_value(value));
    return json_sprintf("%s=%s", parameter->option, json_string_value(value));
}

json_t *mcp_tool_words(const struct mcp_tool *tool, const json_t *arguments)
{
    const struct mcp_parameter *at;
    json_t *words = json_array(), *word;
    json_array_append_new(words, json_string("wallprof"));
    for (int i = 0; i < 4 && tool->command[i]; i++)
        json_array_append_new(words, json_string(tool->command[i]));
    for (at = tool->parameters; at->name; at++) {
        const json_t *value = at->option ? json_object_get(arguments, at->name) : NULL;
        if (value && (word = option_word(at, value)))
            json_array_append_new(words, word);
    }
    json_array_append_new(words, json_string("--"));
    for (at = tool->parameters; at->name; at++) {
        if (!at->option)
            json_array_append(words, json_object_get(arguments, at->name));
    }
    return words;
}

/* ---- results ---- */

json_t *mcp_answer_text(const char *text, bool is_error)
{
    return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", text, "isError", is_error);
}

json_t *mcp_answer_document(json_t *document)
{
    char reason[MCP_REASON_BYTES];
    char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_t *answer = NULL;
    snprintf(reason, sizeof reason, "the answer would have more than %d bytes: ask for fewer lines",
             MCP_ANSWER_BYTES);
    if (text && strlen(text) > MCP_ANSWER_BYTES)
        answer = mcp_answer_text(reason, true);
    else if (text)
        answer = json_pack("{s:[{s:s, s:s}], s:O, s:b}", "content", "type", "text", "text", text,
                           "structuredContent", document, "isError", 0);
    free(text);
    json_decref(document);
    return answer;
}

enum mcp_end mcp_run_words(const json_t *words, struct mcp_child child, struct mcp_watch *watch,
                           struct mcp_text *out, struct mcp_text *err, int *ret_status)
{
    char **argv = calloc(json_array_size(words) + 1, sizeof *argv);
    enum mcp_end end = MCP_NOT_STARTED;
    for (size_t i = 0; argv && i < json_array_size(words); i++)
        argv[i] = (char *)json_string_value(json_array_get(words, i));
    child.path = "/proc/self/exe";
    child.argv = argv;
    if (argv)
        end = mcp_child_run(&child, watch, out, err, ret_status);
    free(argv);
    return end;
}

static json_t *answer_report(const struct mcp_tool *tool, const struct mcp_text *out)
{
    char note[128];
    if (tool->is_json)
        return mcp_answer_document(json_loadb(out->bytes, out->used, 0, NULL));
    if (out->lost == 0)
        return mcp_answer_text(out->bytes, false);
    snprintf(note, sizeof note, "[%zu bytes more: ask for fewer lines, or filter]\n", out->lost);
    json_t *text = json_sprintf("%s%s", out->bytes, note), *answer = NULL;
    if (text)
        answer = mcp_answer_text(json_string_value(text), false);
    json_decref(text);
    return answer;
}

static json_t *answer_failure(enum mcp_end end, const struct mcp_text *err)
{
    if (end == MCP_STOPPED)
        return NULL;
    if (end == MCP_LATE)
        return mcp_answer_text("wallprof did not end in ten minutes, and was stopped", true);
    return mcp_answer_text(err->used > 0 ? err->bytes : "wallprof could not be run", true);
}

json_t *mcp_tool_call(const struct mcp_tool *tool, const json_t *arguments, struct mcp_watch *watch)
{
    struct mcp_text out, err;
    int status = 0;
    if (tool->is_record)
        return mcp_record(arguments, watch);
    json_t *words = mcp_tool_words(tool, arguments), *answer = NULL;
    /* A document has blanks that the answer has not; what is a little too long is told from what is cut. */
    mcp_text_init(&out, tool->is_json ? 4 * MCP_ANSWER_BYTES : MCP_ANSWER_BYTES - 100, false);
    mcp_text_init(&err, MCP_OUTPUT_BYTES, false);
    enum mcp_end end =
        mcp_run_words(words, (struct mcp_child){.limit_s = REPORT_LIMIT_S}, watch, &out, &err, &status);
    if (!out.bytes || !err.bytes)
        answer = NULL;
    else if (end != MCP_ENDED || status != 0)
        answer = answer_failure(end, &err);
    else if (tool->is_json && out.lost > 0)
        answer = mcp_answer_text("the answer would be too long: ask for fewer lines", true);
    else
        answer = answer_report(tool, &out);
    mcp_text_deinit(&out);
    mcp_text_deinit(&err);
    json_decref(words);
    return answer;
}
