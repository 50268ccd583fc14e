/*
 * What a child prints, in bounded memory: its beginning or its end.
 *
 * Called from: mcp_child.c fills it, the tools read it. Malloc.
 */
#ifndef WALLPROF_MCP_TEXT_H
#define WALLPROF_MCP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct mcp_text {
    char *bytes; /* owned, NUL-terminated; NULL without memory */
    size_t used, most;
    size_t lost; /* bytes that were not kept */
    bool keeps_end;
};

void mcp_text_init(struct mcp_text *text, size_t most, bool keeps_end);
void mcp_text_deinit(struct mcp_text *text);
void mcp_text_add(struct mcp_text *text, const char *bytes, size_t count);

/* Once, after the last byte: makes it valid UTF-8 without NUL, and cuts it at a line's end or beginning where
 * something was lost. */
void mcp_text_finish(struct mcp_text *text);

#endif
