/*
 * Credentials for the server: a token, or a user and a password. They come from the environment, where they
 * are removed, or from a file that no other user can read. They never come from a command line, which every
 * user can read.
 *
 * No message shows them. A server's text is shown only if it does not have them.
 *
 * Called from: cmd_push; push_http.
 */
#ifndef WALLPROF_PUSH_CREDENTIALS_H
#define WALLPROF_PUSH_CREDENTIALS_H

#include "push_target.h"

#include <stdbool.h>

enum { PUSH_SECRET_BYTES = 4096, PUSH_USER_BYTES = 256 };

struct push_credentials {
    char token[PUSH_SECRET_BYTES], password[PUSH_SECRET_BYTES], user[PUSH_USER_BYTES]; /* "" for none */
};

/* WALLPROF_PUSH_TOKEN, or WALLPROF_PUSH_USER and WALLPROF_PUSH_PASSWORD. 0 or -errno with a reason. */
int push_credentials_from_environment(struct push_credentials *credentials, char reason[PUSH_REASON_BYTES]);

/* Lines `token = ...`, or `user = ...` and `password = ...`; '#' begins a comment. */
int push_credentials_from_file(struct push_credentials *credentials, const char *path,
                               char reason[PUSH_REASON_BYTES]);

bool push_credentials_are_there(const struct push_credentials *credentials);

/* Whether a text shows any of them, in plain or in the encoding of a Basic authorization. */
bool push_credentials_shown(const struct push_credentials *credentials, const char *text);

void push_credentials_wipe(struct push_credentials *credentials);

#endif
