#include "mcp_inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void mcp_inbox_init(struct mcp_inbox *inbox, int fd)
{
    *inbox = (struct mcp_inbox){.fd = fd, .bytes = malloc(MCP_INBOX_BYTES)};
    inbox->has_ended = !inbox->bytes;
}

void mcp_inbox_deinit(struct mcp_inbox *inbox)
{
    free(inbox->bytes);
    *inbox = (struct mcp_inbox){.has_ended = true};
}

bool mcp_inbox_read(struct mcp_inbox *inbox)
{
    ssize_t count = 0;
    if (inbox->begin > 0) {
        memmove(inbox->bytes, inbox->bytes + inbox->begin, inbox->used - inbox->begin);
        inbox->used -= inbox->begin;
        inbox->seen -= inbox->seen > inbox->begin ? inbox->begin : inbox->seen;
        inbox->begin = 0;
    }
    if (inbox->has_ended || inbox->used == MCP_INBOX_BYTES)
        return false;
    do
        count = read(inbox->fd, inbox->bytes + inbox->used, MCP_INBOX_BYTES - inbox->used);
    while (count < 0 && errno == EINTR);
    inbox->has_ended = count <= 0;
    inbox->used += count > 0 ? (size_t)count : 0;
    return count > 0;
}

/* A line from here on, or what is there of one. True: its end is there. */
static bool line_at(const struct mcp_inbox *inbox, size_t from, size_t *ret_bytes)
{
    const char *newline = memchr(inbox->bytes + from, '\n', inbox->used - from);
    *ret_bytes = newline ? (size_t)(newline - inbox->bytes) - from : inbox->used - from;
    return newline;
}

enum mcp_line mcp_inbox_take(struct mcp_inbox *inbox, const char **ret, size_t *ret_bytes)
{
    bool is_whole;
    while (!(is_whole = line_at(inbox, inbox->begin, ret_bytes)) && !inbox->has_ended) {
        if (*ret_bytes > MCP_LINE_BYTES || inbox->is_in_long_line) {
            inbox->is_in_long_line = true;
            inbox->begin = inbox->used;
        }
        mcp_inbox_read(inbox);
    }
    if (!is_whole && *ret_bytes == 0 && !inbox->is_in_long_line)
        return MCP_NO_LINE;
    bool is_long = inbox->is_in_long_line || *ret_bytes > MCP_LINE_BYTES;
    inbox->is_in_long_line = false;
    *ret = inbox->bytes + inbox->begin;
    inbox->begin += *ret_bytes + is_whole;
    return is_long ? MCP_LONG_LINE : MCP_LINE;
}

bool mcp_inbox_peek(struct mcp_inbox *inbox, char **ret, size_t *ret_bytes)
{
    if (inbox->seen < inbox->begin)
        inbox->seen = inbox->begin;
    if (!inbox->bytes || !line_at(inbox, inbox->seen, ret_bytes))
        return false;
    *ret = inbox->bytes + inbox->seen;
    inbox->seen += *ret_bytes + 1;
    return true;
}
