#include "mcp_server.h"
#include "mcp_inbox.h"
#include "mcp_tools.h"
#include "encode/version.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    INTERNAL_ERROR = -32603,
    UNSUPPORTED_VERSION = -32022,
    CACHED_MS = 3600000
};

/* Of the handshake, the newest first; and of requests that say their version themselves. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
static const char own_version[] = "2026-07-28";

static const char instructions[] =
    "wallprof records where the wall-clock time of Linux programs goes, waiting included. Record a program "
    "with record, or take a recording that is there; ask explain first, then callers, waits, summary and "
    "diff.";

struct server {
    struct mcp_watch watch;
    struct mcp_inbox inbox;
    int output, error;      /* error: 0, or -errno of the output */
    const json_t *answered; /* the id of the request that is being answered; NULL: none */
    bool is_cancelled;      /* that request */
};

/* ---- messages ---- */

static void send_message(struct server *server, json_t *message)
{
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    size_t left = text ? strlen(text) : 0;
    json_decref(message);
    if (!text) {
        server->error = -ENOMEM;
        return;
    }
    text[left++] = '\n'; /* instead of the end */
    for (const char *at = text; left > 0 && !server->error;) {
        ssize_t count = write(server->output, at, left);
        if (count < 0 && errno != EINTR)
            server->error = -errno;
        at += count > 0 ? count : 0;
        left -= count > 0 ? (size_t)count : 0;
    }
    free(text);
}

static json_t *error_of(int code, const char *message)
{
    return json_pack("{s:i, s:s}", "code", code, "message", message);
}

/* Takes over the result or the error. id: NULL where the request could not be read. */
static json_t *response_of(const json_t *id, const char *kind, json_t *content)
{
    return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id ? id : json_null(), kind, content);
}

static json_t *failure(const json_t *id, int code, const char *message)
{
    return response_of(id, "error", error_of(code, message));
}

/* ---- methods ---- */

static json_t *information(void)
{
    return json_pack("{s:s, s:s, s:s}", "name", "wallprof", "title", "wallprof", "version", WALLPROF_VERSION);
}

static json_t *initialize(const json_t *params, json_t **ret_error)
{
    const char *wanted = json_string_value(json_object_get(params, "protocolVersion")), *version = *versions;
    if (!wanted)
        *ret_error = error_of(INVALID_PARAMS, "protocolVersion is missing");
    for (size_t i = 0; wanted && i < sizeof versions / sizeof *versions; i++) {
        if (strcmp(wanted, versions[i]) == 0)
            version = versions[i];
    }
    return wanted ? json_pack("{s:s, s:{s:{}}, s:o, s:s}", "protocolVersion", version, "capabilities",
                              "tools", "serverInfo", information(), "instructions", instructions)
                  : NULL;
}

static json_t *discover(void)
{
    return json_pack("{s:[s], s:{s:{}}, s:s}", "supportedVersions", own_version, "capabilities", "tools",
                     "instructions", instructions);
}

static json_t *call_tool(struct server *server, const json_t *params, json_t **ret_error)
{
    const char *name = json_string_value(json_object_get(params, "name"));
    const json_t *arguments = json_object_get(params, "arguments");
    const struct mcp_tool *tool = name ? mcp_tool_named(name) : NULL;
    char reason[MCP_REASON_BYTES];
    if (!name || (arguments && !json_is_object(arguments)))
        *ret_error = error_of(INVALID_PARAMS, name ? "arguments is no object" : "name is missing");
    else if (!tool)
        *ret_error = json_pack("{s:i, s:o}", "code", INVALID_PARAMS, "message",
                               json_sprintf("Unknown tool: %s", name));
    else if (!mcp_tool_accepts(tool, arguments, reason))
        return mcp_answer_text(reason, true);
    else
        return mcp_tool_call(tool, arguments, &server->watch);
    return NULL;
}

/* A method's result; or NULL and an error. Both are NULL if the request was cancelled. */
static json_t *perform(struct server *server, const char *method, const json_t *params, json_t **ret_error)
{
    json_t *result = NULL;
    if (strcmp(method, "initialize") == 0)
        result = initialize(params, ret_error);
    else if (strcmp(method, "server/discover") == 0)
        result = discover();
    else if (strcmp(method, "ping") == 0)
        result = json_object();
    else if (strcmp(method, "tools/list") == 0)
        result = json_pack("{s:o}", "tools", mcp_tools_list());
    else if (strcmp(method, "tools/call") == 0)
        result = call_tool(server, params, ret_error);
    else
        *ret_error = json_pack("{s:i, s:o}", "code", METHOD_NOT_FOUND, "message",
                               json_sprintf("Method not found: %s", method));
    if (!result && !*ret_error && !server->is_cancelled)
        *ret_error = error_of(INTERNAL_ERROR, "there is not enough memory");
    return result;
}

/* What a result has besides, in a revision without a handshake. */
static void complete(const char *method, json_t *result)
{
    json_object_set_new(result, "resultType", json_string("complete"));
    json_object_set_new(result, "_meta",
                        json_pack("{s:o}", "io.modelcontextprotocol/serverInfo", information()));
    if (strcmp(method, "tools/call") == 0)
        return;
    json_object_set_new(result, "ttlMs", json_integer(CACHED_MS));
    json_object_set_new(result, "cacheScope", json_string("public"));
}

/* The response to a request; NULL if it was cancelled. */
static json_t *respond(struct server *server, const json_t *id, const char *method, const json_t *params)
{
    const json_t *said =
        json_object_get(json_object_get(params, "_meta"), "io.modelcontextprotocol/protocolVersion");
    const char *version = json_string_value(said);
    json_t *error = NULL, *result = NULL;
    if (said && (!version || strcmp(version, own_version) != 0))
        error =
            json_pack("{s:i, s:s, s:{s:[s], s:O}}", "code", UNSUPPORTED_VERSION, "message",
                      "Unsupported protocol version", "data", "supported", own_version, "requested", said);
    else
        result = perform(server, method, params, &error);
    if (result && said)
        complete(method, result);
    return result ? response_of(id, "result", result) : error ? response_of(id, "error", error) : NULL;
}

/* ---- what the client sends ---- */

static bool is_id(const json_t *id)
{
    return json_is_string(id) || json_is_number(id) || json_is_null(id);
}

/* The response to a message; NULL: none is due. */
static json_t *answer(struct server *server, const json_t *message)
{
    const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *method = json_string_value(json_object_get(message, "method"));
    const char *protocol = json_string_value(json_object_get(message, "jsonrpc"));
    bool is_response = json_object_get(message, "result") || json_object_get(message, "error");
    if (!json_is_object(message) || !protocol || strcmp(protocol, "2.0") != 0 || (id && !is_id(id)) ||
        (!method && !is_response) || (params && !json_is_object(params) && !json_is_array(params)))
        return failure(id && is_id(id) ? id : NULL, INVALID_REQUEST, "Invalid Request");
    if (!id || !method) /* a notification, or a response */
        return NULL;
    server->answered = id;
    server->is_cancelled = false;
    json_t *response = respond(server, id, method, params);
    server->answered = NULL;
    return response;
}

/* Revision 2025-03-26 has several messages in one. */
static json_t *answer_batch(struct server *server, const json_t *messages)
{
    json_t *responses = json_array();
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *response = answer(server, json_array_get(messages, i));
        if (response)
            json_array_append_new(responses, response);
    }
    if (json_array_size(responses) > 0)
        return responses;
    json_decref(responses);
    return json_array_size(messages) > 0 ? NULL : failure(NULL, INVALID_REQUEST, "Invalid Request");
}

static void take_line(struct server *server, const char *line, size_t bytes)
{
    size_t blanks = 0;
    while (blanks < bytes && strchr(" \t\r", line[blanks]) && line[blanks])
        blanks++;
    if (blanks == bytes)
        return;
    json_t *message = json_loadb(line, bytes, JSON_DECODE_ANY, NULL);
    json_t *response = !message                 ? failure(NULL, PARSE_ERROR, "Parse error")
                       : json_is_array(message) ? answer_batch(server, message)
                                                : answer(server, message);
    json_decref(message);
    if (response)
        send_message(server, response);
}

/* ---- while a command runs ---- */

/* True: the message was for now. */
static bool take_now(struct server *server, const json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *id = json_object_get(message, "id");
    const json_t *cancelled = json_object_get(json_object_get(message, "params"), "requestId");
    if (method && id && is_id(id) && strcmp(method, "ping") == 0)
        send_message(server, response_of(id, "result", json_object()));
    else if (method && strcmp(method, "notifications/cancelled") == 0 && cancelled &&
             json_equal(cancelled, server->answered))
        server->is_cancelled = true;
    else
        return false;
    return true;
}

static bool goes_on(struct mcp_watch *watch)
{
    struct server *server = (struct server *)((char *)watch - offsetof(struct server, watch));
    char *line;
    size_t bytes;
    if (!mcp_inbox_read(&server->inbox))
        watch->fd = -1;
    while (mcp_inbox_peek(&server->inbox, &line, &bytes)) {
        json_t *message = json_loadb(line, bytes, 0, NULL);
        if (message && take_now(server, message))
            memset(line, ' ', bytes);
        json_decref(message);
    }
    return !server->is_cancelled;
}

int mcp_serve(int input, int output)
{
    struct server server = {.watch = {.goes_on = goes_on}, .output = output};
    enum mcp_line kind;
    const char *line;
    size_t bytes;
    mcp_inbox_init(&server.inbox, input);
    if (!server.inbox.bytes)
        return -ENOMEM;
    while (!server.error && (kind = mcp_inbox_take(&server.inbox, &line, &bytes)) != MCP_NO_LINE) {
        server.watch.fd = server.inbox.has_ended ? -1 : input;
        if (kind == MCP_LINE)
            take_line(&server, line, bytes);
        else
            send_message(&server, failure(NULL, INVALID_REQUEST, "the message is too long"));
    }
    mcp_inbox_deinit(&server.inbox);
    return server.error;
}
