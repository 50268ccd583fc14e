/*
 * The tools that an assistant can call: what they are named, what arguments they take, and which command of
 * ours answers. An answer has at most MCP_ANSWER_BYTES.
 *
 * Called from: mcp_server.c. One thread. Arguments are an assistant's: they may be anything.
 */
#ifndef WALLPROF_MCP_TOOLS_H
#define WALLPROF_MCP_TOOLS_H

#include "mcp_child.h"

#include <jansson.h>

enum { MCP_ANSWER_BYTES = 16000, MCP_REASON_BYTES = 512 };

enum mcp_kind { MCP_TEXT, MCP_NUMBER, MCP_FLAG, MCP_LIST };

struct mcp_parameter {
    const char *name, *description;
    const char *option; /* of the command; NULL: the value is an argument of its own */
    enum mcp_kind kind;
    bool is_required;
    const char *words; /* those that a text may be, separated by blanks; NULL: any */
    int least, most;   /* of a number */
};

struct mcp_tool {
    const char *name, *title, *description;
    const char *command[4];                 /* and its first arguments */
    const struct mcp_parameter *parameters; /* those without an option in the order of the command line */
    bool is_json;                           /* the command writes JSON; else text */
    bool is_record;                         /* mcp_record.h makes the answer */
};

/* What tools/list says. */
json_t *mcp_tools_list(void);

/* NULL if there is none. */
const struct mcp_tool *mcp_tool_named(const char *name);

/* Whether the arguments are as the tool's schema says. False: the reason is for the assistant. */
bool mcp_tool_accepts(const struct mcp_tool *tool, const json_t *arguments,
                      char ret_reason[MCP_REASON_BYTES]);

/* The words of the command line: an array of strings. The arguments were accepted. */
json_t *mcp_tool_words(const struct mcp_tool *tool, const json_t *arguments);

/* Result of tools/call. NULL: the call was stopped, and nobody wants the result; or there is no memory. */
json_t *mcp_tool_call(const struct mcp_tool *tool, const json_t *arguments, struct mcp_watch *watch);

/* ---- results ---- */

json_t *mcp_answer_text(const char *text, bool is_error);

/* Takes over the document. One that is too long becomes an error. */
json_t *mcp_answer_document(json_t *document);

/* Runs words as a command of ours. argv points into the words. */
enum mcp_end mcp_run_words(const json_t *words, struct mcp_child child, struct mcp_watch *watch,
                           struct mcp_text *out, struct mcp_text *err, int *ret_status);

#endif
