/*
 * Sends the profiles that are put into a directory, until SIGTERM or SIGINT: each complete file once, the
 * oldest first.
 *
 * While the server is away, files wait where they are, up to a bound (push_spool.h). A file that the server
 * refuses stays and is not sent again. After a signal a transfer has 10 more seconds.
 *
 * Called from: cmd_push. One thread.
 */
#ifndef WALLPROF_PUSH_FOLLOW_H
#define WALLPROF_PUSH_FOLLOW_H

#include "push_send.h"

struct push_follow_options {
    const char *place;             /* a directory, or a pattern of names in one */
    uint64_t max_files, max_bytes; /* of the files that wait */
    bool removes;                  /* whether it removes files that were sent or given up */
};

/* The command's exit status. Opens the sender, and closes it. */
int push_follow(struct push_sender *sender, const struct push_follow_options *options);

#endif
