/*
 * Files to a server: one attempt, or as many as make sense.
 *
 * Called from: cmd_push, push_follow. One thread. What is worth saying is said on stderr.
 */
#ifndef WALLPROF_TOOL_PUSH_SEND_H
#define WALLPROF_TOOL_PUSH_SEND_H

#include "push_http.h"

enum { PUSH_ATTEMPTS = 6 }; /* of a file that is named: about half a minute */

struct push_sender {
    struct push_target target;
    struct push_http_options options;
    const char *credentials_file; /* NULL: the environment; read anew each time, so that it can be changed */
    bool is_verbose;
    struct push_http *http;
    struct push_credentials credentials;
};

/* A file on its way. */
struct push_item {
    char id[PUSH_ID_BYTES];
    uint32_t attempts;
};

/* 0; or 1, which has been said, and there is nothing to close. */
int push_sender_open(struct push_sender *sender);
void push_sender_close(struct push_sender *sender);

void push_item_init(struct push_item *item);

/* One attempt with a file in a directory, opened with these flags besides. What cannot be sent at all is
 * refused. */
void push_sender_try(struct push_sender *sender, struct push_item *item, int directory_fd, const char *name,
                     int flags, struct push_answer *answer);

/* Until it is there, or there is no sense in more. 0; or 1, which has been said. */
int push_sender_send(struct push_sender *sender, const char *path);

/* On stdout, if that is wanted. */
void push_sender_report(const struct push_sender *sender, const char *name);

#endif
