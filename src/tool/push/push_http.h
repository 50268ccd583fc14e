/*
 * Requests to a server, by libcurl, which is loaded when the first is to be sent: nothing else of the tool
 * needs it, and loading it takes longer than all that the library at a program's end wants of the tool.
 *
 * Certificates are verified, always. Redirections are not followed: what is to be said to one host is not
 * said to another. Credentials go over TLS, or to this machine.
 *
 * Called from: push_send. One thread. Source: libcurl's manual, 7.62 or later.
 */
#ifndef WALLPROF_TOOL_PUSH_HTTP_H
#define WALLPROF_TOOL_PUSH_HTTP_H

#include "push_credentials.h"
#include "push_request.h"

#include <stdbool.h>
#include <stdint.h>

/* What follows from an answer. */
enum push_outcome {
    PUSH_SENT,
    PUSH_REFUSED, /* this profile will never be taken */
    PUSH_LATER,   /* it may be, as it is: the server is busy, or away */
    PUSH_DENIED, /* no profile will be until something is changed: the address, the credentials, a certificate
                  */
    PUSH_STOPPED /* we were told to stop */
};

enum { PUSH_ANSWER_BYTES = 512 };

struct push_answer {
    enum push_outcome outcome;
    uint64_t retry_after_s;       /* 0: not said */
    char text[PUSH_ANSWER_BYTES]; /* for people; without credentials */
};

struct push_http_options {
    const char *authorities;            /* file of certificates to trust instead of the system's, or NULL */
    bool (*is_to_stop)(void *argument); /* asked during a transfer, once a second at least; may be NULL */
    void *argument;
};

struct push_http;

/* 0, or -errno with a reason: libcurl is not there. */
int push_http_open(struct push_http **ret, const struct push_http_options *options,
                   char reason[PUSH_REASON_BYTES]);
void push_http_close(struct push_http *http);

void push_http_send(struct push_http *http, const struct push_request *request,
                    const struct push_credentials *credentials, struct push_answer *answer);

#endif
