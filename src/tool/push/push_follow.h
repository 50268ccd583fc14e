/*
 * A directory that profiles are put into, as they come: each file that is complete is sent once, the oldest
 * first, until SIGTERM or SIGINT.
 *
 * A server that is away is waited for; meanwhile files wait where they are, up to a bound (push_spool.h). One
 * that the server refuses stays and is not sent again. A signal ends a transfer that does not end by itself
 * soon.
 *
 * Called from: cmd_push. One thread.
 */
#ifndef WALLPROF_TOOL_PUSH_FOLLOW_H
#define WALLPROF_TOOL_PUSH_FOLLOW_H

#include "push_send.h"

struct push_follow_options {
    const char *place;             /* a directory, or a pattern of names in one */
    uint64_t max_files, max_bytes; /* of what waits */
    bool removes;                  /* what was sent, or given up */
};

/* The command's exit status. Opens the sender, and closes it. */
int push_follow(struct push_sender *sender, const struct push_follow_options *options);

#endif
