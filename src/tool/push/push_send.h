/*
 * Sends files to a server, with one attempt or with several until one succeeds.
 *
 * Called from: cmd_push, push_follow. One thread. Failures are reported on stderr.
 */
#ifndef WALLPROF_PUSH_SEND_H
#define WALLPROF_PUSH_SEND_H

#include "push_http.h"

enum { PUSH_ATTEMPTS = 6 }; /* in about half a minute, for a file on the command line */

struct push_sender {
    struct push_target target;
    struct push_http_options options;
    const char *credentials_file; /* NULL: the environment. Read for each attempt: it may change */
    bool is_verbose;
    struct push_http *http;
    struct push_credentials credentials;
};

/* 0; or 1 after a message, with nothing to close. */
int push_sender_open(struct push_sender *sender);
void push_sender_close(struct push_sender *sender);

/*
 * One attempt with a file in a directory. flags: more flags for openat. id: "" before the first attempt,
 * which sets it. A file that can never be sent gives PUSH_REFUSED.
 */
void push_sender_try(struct push_sender *sender, char id[PUSH_ID_BYTES], int directory_fd, const char *name,
                     int flags, struct push_result *result);

/* Attempts until the file is sent or more attempts make no sense. 0; or 1 after a message. */
int push_sender_send(struct push_sender *sender, const char *path);

/* Writes "sent: NAME" to stdout, if is_verbose. */
void push_sender_report(const struct push_sender *sender, const char *name);

#endif
