/*
 * Lines of a stream: one after the other, and those that wait, in bounded memory.
 *
 * Called from: mcp_server.c. Malloc.
 */
#ifndef WALLPROF_MCP_INBOX_H
#define WALLPROF_MCP_INBOX_H

#include <stdbool.h>
#include <stddef.h>

/* The longest line, and how much may wait. */
enum { MCP_LINE_BYTES = 1 << 20, MCP_INBOX_BYTES = 4 * MCP_LINE_BYTES };

struct mcp_inbox {
    int fd;
    char *bytes;          /* owned; NULL without memory */
    size_t begin, used;   /* of the lines that were not taken yet */
    size_t seen;          /* up to here mcp_inbox_peek has come */
    bool has_ended;       /* nothing comes any more */
    bool is_in_long_line; /* what comes before the next newline is thrown away */
};

void mcp_inbox_init(struct mcp_inbox *inbox, int fd);
void mcp_inbox_deinit(struct mcp_inbox *inbox);

/* Waits for input and reads it, once. False: there is no room, or nothing comes any more. */
bool mcp_inbox_read(struct mcp_inbox *inbox);

enum mcp_line { MCP_LINE, MCP_LONG_LINE, MCP_NO_LINE };

/* Waits for the next line and takes it, without its newline. It stays until the next call. MCP_NO_LINE: the
 * end. */
enum mcp_line mcp_inbox_take(struct mcp_inbox *inbox, const char **ret, size_t *ret_bytes);

/* Gives each line that waits once, and does not wait itself. False: there is none. */
bool mcp_inbox_peek(struct mcp_inbox *inbox, char **ret, size_t *ret_bytes);

#endif
