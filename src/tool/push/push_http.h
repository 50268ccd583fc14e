/*
 * Requests to a server, by libcurl. It is loaded only for this: loading it takes longer than the tool's work
 * at a program's end.
 *
 * Certificates are always verified. Redirections are not followed, so nothing goes to a host that was not
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
    PUSH_LATER,   /* the server is busy or away, and may accept it later */
    PUSH_DENIED,  /* the server accepts none until the address, the credentials or a certificate change */
    PUSH_STOPPED  /* we were told to stop */
};

enum { PUSH_RESULT_BYTES = 512 };

struct push_result {
    enum push_outcome outcome;
    uint64_t retry_after_s;       /* the wait that the server asks for, or 0 */
    char text[PUSH_RESULT_BYTES]; /* for people; without credentials */
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
                    const struct push_credentials *credentials, struct push_result *result);

#endif
