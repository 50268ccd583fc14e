/*
 * A child that is run to its end, or to a limit: a command of ours, in a process and a session of its own. So
 * a file at which it fails, and a program that does not end, cost one answer and not the server.
 *
 * Called from: the tools. One thread. The child ends with us.
 */
#ifndef WALLPROF_MCP_CHILD_H
#define WALLPROF_MCP_CHILD_H

#include "mcp_text.h"

/* Somebody who wants to be called when a descriptor can be read, while a child runs. */
struct mcp_watch {
    int fd;                                   /* -1: nobody */
    bool (*goes_on)(struct mcp_watch *watch); /* false: the child is to be stopped. It may set fd to -1 */
};

enum mcp_end { MCP_ENDED, MCP_LATE, MCP_STOPPED, MCP_NOT_STARTED };

struct mcp_child {
    const char *path;
    char *const *argv;
    const char *directory; /* NULL: ours */
    unsigned limit_s;
    bool is_run; /* it runs a program: that gets SIGTERM first, and then time to end and to be written */
};

/*
 * Runs a child without input. It prints into out and err, which may be the same. ret_status is as waitpid
 * gives it.
 */
enum mcp_end mcp_child_run(const struct mcp_child *child, struct mcp_watch *watch, struct mcp_text *out,
                           struct mcp_text *err, int *ret_status);

#endif
