/* A server's answers, message by message; and what arguments its tools take. */
#include "tool/mcp/mcp_inbox.h"
#include "tool/mcp/mcp_server.h"
#include "tool/mcp/mcp_tools.h"

#include "lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST(id, rest) "{\"jsonrpc\":\"2.0\",\"id\":" id "," rest "}"
#define RESULT(id, rest)  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" rest "}\n"
#define ERROR(id, code, message)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message "\"}}\n"
#define PING(id)      REQUEST(id, "\"method\":\"ping\"")
#define META(version) "\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\"}}"

/* What is answered to these bytes; malloc'd. */
static char *answer_to(const char *bytes, size_t count)
{
    FILE *in = tmpfile(), *out = tmpfile();
    assert_non_null(in);
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, in), count);
    rewind(in);
    assert_int_equal(mcp_serve(fileno(in), fileno(out)), 0);
    long length = lseek(fileno(out), 0, SEEK_END);
    char *text = calloc(1, (size_t)length + 1);
    assert_int_equal(pread(fileno(out), text, (size_t)length, 0), length);
    fclose(in);
    fclose(out);
    return text;
}

static void assert_answer(const char *input, const char *expected)
{
    char *answer = answer_to(input, strlen(input));
    assert_string_equal(answer, expected);
    free(answer);
}

/* ---- messages ---- */

static void requests_are_answered_in_their_order(void **state)
{
    (void)state;
    assert_answer("", "");
    assert_answer(PING("1") "\n\n" PING("\"a\"") "\r\n" PING("1.5"),
                  RESULT("1", "{}") RESULT("\"a\"", "{}") RESULT("1.5", "{}"));
}

static void notifications_and_responses_are_not_answered(void **state)
{
    (void)state;
    assert_answer(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n" PING("2") "\n",
        RESULT("2", "{}"));
}

static void what_is_wrong_is_answered_and_the_next_is_read(void **state)
{
    (void)state;
    assert_answer("{oops\n" PING("1") "\n", ERROR("null", "-32700", "Parse error") RESULT("1", "{}"));
    assert_answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}\n",
                  ERROR("null", "-32700", "Parse error"));
    assert_answer("\"\xff\"\n", ERROR("null", "-32700", "Parse error"));
    assert_answer("7\n", ERROR("null", "-32600", "Invalid Request"));
    assert_answer("{}\n", ERROR("null", "-32600", "Invalid Request"));
    assert_answer("{\"id\":3,\"method\":\"ping\"}\n", ERROR("3", "-32600", "Invalid Request"));
    assert_answer(REQUEST("[3]", "\"method\":\"ping\"") "\n", ERROR("null", "-32600", "Invalid Request"));
    assert_answer(REQUEST("3", "\"method\":7") "\n", ERROR("3", "-32600", "Invalid Request"));
    assert_answer(REQUEST("3", "\"method\":\"ping\",\"params\":7") "\n",
                  ERROR("3", "-32600", "Invalid Request"));
    assert_answer(REQUEST("3", "\"method\":\"resources/list\"") "\n",
                  ERROR("3", "-32601", "Method not found: resources/list"));
}

static void a_message_that_is_too_long_is_left_out(void **state)
{
    enum { BYTES = 3 * MCP_INBOX_BYTES };
    static const char after[] = "\n" PING("1");
    char *input = malloc(BYTES + sizeof after);
    (void)state;
    memset(input, 'x', BYTES);
    memcpy(input + BYTES, after, sizeof after);
    char *answer = answer_to(input, BYTES + sizeof after - 1);
    assert_string_equal(answer, ERROR("null", "-32600", "the message is too long") RESULT("1", "{}"));
    free(answer);
    free(input);
}

static void several_messages_may_be_one(void **state)
{
    (void)state;
    assert_answer(
        "[" PING("1") ",{\"jsonrpc\":\"2.0\",\"method\":\"x\"},7," PING("2") "]\n",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":"
        "-32600,\"message\":\"Invalid Request\"}},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]\n");
    assert_answer("[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]\n", "");
    assert_answer("[]\n", ERROR("null", "-32600", "Invalid Request"));
}

static void nobody_reads(void **state)
{
    FILE *in = tmpfile();
    int full = open("/dev/full", O_WRONLY);
    (void)state;
    fputs(PING("1") "\n", in);
    rewind(in);
    assert_int_equal(mcp_serve(fileno(in), full), -ENOSPC);
    close(full);
    fclose(in);
}

/* ---- versions ---- */

static void assert_version(const char *wanted, const char *expected)
{
    char input[256], begin[128];
    snprintf(
        input, sizeof input,
        REQUEST("0", "\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{}}"),
        wanted);
    int length =
        snprintf(begin, sizeof begin,
                 "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":"
                 "{\"tools\":{}},\"serverInfo\":{\"name\":\"wallprof\",",
                 expected);
    char *answer = answer_to(input, strlen(input));
    assert_memory_equal(answer, begin, (size_t)length);
    free(answer);
}

static void the_clients_version_or_else_the_newest(void **state)
{
    (void)state;
    assert_version("2024-11-05", "2024-11-05");
    assert_version("2025-03-26", "2025-03-26");
    assert_version("2025-06-18", "2025-06-18");
    assert_version("2025-11-25", "2025-11-25");
    assert_version("2026-07-28", "2025-11-25");
    assert_version("1999-01-01", "2025-11-25");
    assert_answer(REQUEST("0", "\"method\":\"initialize\"") "\n",
                  ERROR("0", "-32602", "protocolVersion is missing"));
}

static void a_request_may_say_its_version(void **state)
{
    (void)state;
    assert_answer(REQUEST("1", "\"method\":\"ping\"," META("2030-01-01")) "\n",
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"Unsupported "
                  "protocol version\","
                  "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2030-01-01\"}}}\n");
    char *answer = answer_to(REQUEST("1", "\"method\":\"server/discover\"," META("2026-07-28")),
                             strlen(REQUEST("1", "\"method\":\"server/discover\"," META("2026-07-28"))));
    json_t *message = json_loads(answer, 0, NULL), *result = json_object_get(message, "result");
    char *text = json_dumps(json_object_get(result, "supportedVersions"), JSON_COMPACT);
    assert_string_equal(text, "[\"2026-07-28\"]");
    assert_string_equal(json_string_value(json_object_get(result, "resultType")), "complete");
    assert_string_equal(json_string_value(json_object_get(result, "cacheScope")), "public");
    assert_non_null(json_object_get(json_object_get(result, "_meta"), "io.modelcontextprotocol/serverInfo"));
    free(text);
    json_decref(message);
    free(answer);
}

/* ---- tools ---- */

static json_t *arguments_of(const char *text)
{
    json_t *arguments = json_loads(text, 0, NULL);
    assert_non_null(arguments);
    return arguments;
}

static void assert_words(const char *tool, const char *arguments, const char *expected)
{
    char reason[MCP_REASON_BYTES] = "";
    json_t *given = arguments_of(arguments);
    assert_true(mcp_tool_accepts(mcp_tool_named(tool), given, reason));
    json_t *words = mcp_tool_words(mcp_tool_named(tool), given);
    char *text = json_dumps(words, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(words);
    json_decref(given);
}

static void a_tool_is_a_command(void **state)
{
    (void)state;
    assert_words("explain", "{\"file\":\"-a.pb.gz\"}",
                 "[\"wallprof\",\"explain\",\"--json\",\"--\",\"-a.pb.gz\"]");
    assert_words(
        "summary",
        "{\"file\":\"a\",\"by\":\"leaf\",\"lines\":3,\"cum\":true,\"idle\":false,\"focus\":\"-x y\"}",
        "[\"wallprof\",\"top\",\"--width=120\",\"--color=never\",\"--by=leaf\",\"--cum\",\"--lines=3\","
        "\"--focus=-x y\",\"--\",\"a\"]");
    assert_words("callers", "{\"file\":\"a\",\"function\":\"f\",\"callees\":true}",
                 "[\"wallprof\",\"callers\",\"--json\",\"--callees\",\"--\",\"f\",\"a\"]");
    assert_words(
        "diff", "{\"after\":\"b\",\"before\":\"a\",\"normalize\":true}",
        "[\"wallprof\",\"diff\",\"--width=120\",\"--color=never\",\"--normalize\",\"--\",\"a\",\"b\"]");
}

static void assert_refused(const char *tool, const char *arguments, const char *expected)
{
    char reason[MCP_REASON_BYTES] = "";
    json_t *given = arguments ? arguments_of(arguments) : NULL;
    assert_false(mcp_tool_accepts(mcp_tool_named(tool), given, reason));
    assert_string_equal(reason, expected);
    json_decref(given);
}

static void arguments_are_as_the_schema_says(void **state)
{
    (void)state;
    assert_refused("explain", NULL,
                   "'file' is missing: Path of the recording, as record returns it (.pb.gz or .store)");
    assert_refused("explain", "{\"file\":7}", "'file' must be a string");
    assert_refused("explain", "{\"file\":\"a\",\"lines\":11}", "'lines' must be an integer from 1 to 10");
    assert_refused("explain", "{\"file\":\"a\",\"lines\":2.5}", "'lines' must be an integer from 1 to 10");
    assert_refused("explain", "{\"path\":\"a\"}", "there is no argument 'path'; there are file, lines");
    assert_refused("summary", "{\"file\":\"a\",\"by\":\"func\"}",
                   "'by' must be one of: function leaf line file module thread process label wait on holder");
    assert_refused("summary", "{\"file\":\"a\",\"by\":\"\"}",
                   "'by' must be one of: function leaf line file module thread process label wait on holder");
    assert_refused("summary", "{\"file\":\"a\",\"idle\":1}", "'idle' must be true or false");
    assert_refused("record", "{\"command\":\"ls -l\"}", "'command' must be a list of at least one string");
    assert_refused("record", "{\"command\":[]}", "'command' must be a list of at least one string");
    assert_refused("record", "{\"command\":[\"ls\",1]}", "'command' must be a list of at least one string");
}

#define CALL(params) REQUEST("5", "\"method\":\"tools/call\",\"params\":" params) "\n"

static void wrong_calls_are_answered(void **state)
{
    (void)state;
    assert_answer(CALL("{\"name\":\"fly\"}"), ERROR("5", "-32602", "Unknown tool: fly"));
    assert_answer(CALL("{}"), ERROR("5", "-32602", "name is missing"));
    assert_answer(CALL("{\"name\":\"diff\",\"arguments\":[]}"),
                  ERROR("5", "-32602", "arguments is no object"));
    assert_answer(CALL("{\"name\":\"diff\",\"arguments\":{\"before\":\"a\"}}"),
                  RESULT("5",
                         "{\"content\":[{\"type\":\"text\",\"text\":\"'after' is missing: Path of the later "
                         "recording, or of a directory\"}],\"isError\":true}"));
}

static void an_answer_is_bounded(void **state)
{
    enum { QUOTES = 4 };
    char text[MCP_ANSWER_BYTES + 1];
    (void)state;
    memset(text, 'x', sizeof text);
    text[MCP_ANSWER_BYTES - QUOTES] = '\0';
    json_t *fits = mcp_answer_document(json_pack("[s]", text));
    assert_true(json_is_false(json_object_get(fits, "isError")));
    assert_non_null(json_object_get(fits, "structuredContent"));
    json_decref(fits);
    json_t *is_larger = mcp_answer_document(json_pack("[s, s]", text, ""));
    assert_true(json_is_true(json_object_get(is_larger, "isError")));
    assert_null(json_object_get(is_larger, "structuredContent"));
    json_decref(is_larger);
}

/* ---- commands ---- */

enum { LINES = 2000, ITEMS = 40000 };

/* What this program does as a child of itself, in the place of wallprof: `top` prints a long table, `explain`
 * a long document, `callers` a short one with blanks, and `diff` fails. */
static int play_command(const char *command)
{
    if (strcmp(command, "diff") == 0)
        return fputs("wallprof: a: no such file\n", stderr) == EOF ? 2 : 1;
    if (strcmp(command, "callers") == 0)
        return puts("{\"version\": 1,\n \"callers\": []}") == EOF;
    for (int i = 0; strcmp(command, "top") == 0 && i < LINES; i++)
        printf("line %05d\n", i);
    for (int i = 0; strcmp(command, "explain") == 0 && i < ITEMS; i++)
        printf("%c1%s", i ? ',' : '[', i + 1 == ITEMS ? "]" : "");
    return 0;
}

/* The text of what a tool answers; is_error is asserted. */
static char *text_of_call(const char *tool, const char *arguments, bool is_error)
{
    struct mcp_watch nobody = {.fd = -1};
    json_t *given = arguments_of(arguments);
    json_t *answer = mcp_tool_call(mcp_tool_named(tool), given, &nobody);
    const json_t *content = json_array_get(json_object_get(answer, "content"), 0);
    assert_int_equal(json_is_true(json_object_get(answer, "isError")), is_error);
    char *text = strdup(json_string_value(json_object_get(content, "text")));
    json_decref(answer);
    json_decref(given);
    return text;
}

static void a_table_is_cut_at_a_lines_end(void **state)
{
    (void)state;
    char *text = text_of_call("summary", "{\"file\":\"a\"}", false);
    const size_t kept = (MCP_ANSWER_BYTES - 100) / 11;
    char end[128];
    snprintf(end, sizeof end, "line %05zu\n[%zu bytes more: ask for fewer lines, or filter]\n", kept - 1,
             (LINES - kept) * 11);
    assert_true(strlen(text) <= MCP_ANSWER_BYTES);
    assert_string_equal(text + kept * 11 - 11, end);
    free(text);
}

static void a_document_that_is_too_long_is_an_error(void **state)
{
    (void)state;
    char *text = text_of_call("explain", "{\"file\":\"a\"}", true);
    assert_non_null(strstr(text, "ask for fewer lines"));
    free(text);
}

static void a_document_loses_its_blanks(void **state)
{
    (void)state;
    char *text = text_of_call("callers", "{\"file\":\"a\",\"function\":\"f\"}", false);
    assert_string_equal(text, "{\"version\":1,\"callers\":[]}");
    free(text);
}

static void a_failure_has_the_commands_message(void **state)
{
    (void)state;
    char *text = text_of_call("diff", "{\"before\":\"a\",\"after\":\"b\"}", true);
    assert_string_equal(text, "wallprof: a: no such file\n");
    free(text);
}

/* What a client needs of each tool. */
static void tools_are_listed(void **state)
{
    static const char *const names[] = {"record", "explain", "summary", "callers", "waits", "blame", "diff"};
    json_t *list = mcp_tools_list();
    (void)state;
    assert_int_equal(json_array_size(list), 7);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *tool = json_array_get(list, i), *schema = json_object_get(tool, "inputSchema");
        assert_string_equal(json_string_value(json_object_get(tool, "name")), names[i]);
        assert_string_equal(json_string_value(json_object_get(schema, "type")), "object");
        assert_true(json_array_size(json_object_get(schema, "required")) > 0);
        assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    }
    assert_null(mcp_tool_named("no"));
    json_decref(list);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[0], "wallprof") == 0)
        return play_command(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered_in_their_order),
        cmocka_unit_test(notifications_and_responses_are_not_answered),
        cmocka_unit_test(what_is_wrong_is_answered_and_the_next_is_read),
        cmocka_unit_test(a_message_that_is_too_long_is_left_out),
        cmocka_unit_test(several_messages_may_be_one),
        cmocka_unit_test(nobody_reads),
        cmocka_unit_test(the_clients_version_or_else_the_newest),
        cmocka_unit_test(a_request_may_say_its_version),
        cmocka_unit_test(a_tool_is_a_command),
        cmocka_unit_test(arguments_are_as_the_schema_says),
        cmocka_unit_test(wrong_calls_are_answered),
        cmocka_unit_test(an_answer_is_bounded),
        cmocka_unit_test(a_table_is_cut_at_a_lines_end),
        cmocka_unit_test(a_document_that_is_too_long_is_an_error),
        cmocka_unit_test(a_document_loses_its_blanks),
        cmocka_unit_test(a_failure_has_the_commands_message),
        cmocka_unit_test(tools_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
