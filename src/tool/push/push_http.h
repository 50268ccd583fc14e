/*
 * Requests to a server, by libcurl. It is loaded when the first request is sent: nothing else in the tool
 * needs it, and loading it takes longer than the tool's work at a program's end.
 *
 * Certificates are always verified. Redirections are not followed: nothing goes to another host than was
 * named. Credentials go over TLS, or to this machine.
 *
 * Called from: push_send. One thread. Source: libcurl's manual, 7.62 or later.
 */
#ifndef WALLPROF_PUSH_HTTP_H
#define WALLPROF_PUSH_HTTP_H

#include "push_credentials.h"
#include "push_request.h"

#include <stdbool.h>
#include <stdint.h>

enum push_outcome {
    PUSH_SENT,
    PUSH_REFUSED, /* the server will never accept this profile */
    PUSH_LATER,   /* it may accept it later: it is busy or away */
    PUSH_DENIED,  /* it accepts no profile until the address, the credentials or a certificate change */
    PUSH_STOPPED  /* we were told to stop */
};

enum { PUSH_ANSWER_BYTES = 512 };

struct push_answer {
    enum push_outcome outcome;
    uint64_t retry_after_s;       /* 0: not said */
    char text[PUSH_ANSWER_BYTES]; /* for people; without credentials */
};

struct push_http_options {
    const char *authorities;            /* file of certificates to trust instead of the system's, or NULL */
    bool (*is_to_stop)(void *argument); /* called during a transfer, once a second at least; may be NULL */
    void *argument;
};

struct push_http;

/* 0, or -errno with a reason: libcurl cannot be loaded. */
int push_http_open(struct push_http **ret, const struct push_http_options *options,
                   char reason[PUSH_REASON_BYTES]);
void push_http_close(struct push_http *http);

void push_http_send(struct push_http *http, const struct push_request *request,
                    const struct push_credentials *credentials, struct push_answer *answer);

#endif
