/*
 * The tool `record`: runs a program under `wallprof run` until it ends or its time is over, and says where
 * the recording is, what the program printed last, and what `wallprof explain` says of the recording.
 *
 * Called from: mcp_tools.c.
 */
#ifndef WALLPROF_MCP_RECORD_H
#define WALLPROF_MCP_RECORD_H

#include "mcp_tools.h"

enum { MCP_SECONDS = 30, MCP_SECONDS_MAX = 3600, MCP_OUTPUT_BYTES = 2000 };

/* As mcp_tool_call. The arguments were accepted. */
json_t *mcp_record(const json_t *arguments, struct mcp_watch *watch);

#endif
