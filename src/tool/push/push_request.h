/*
 * One profile as a request for a server's interface.
 *
 * Called from: push_send. Sources: Pyroscope's "Server HTTP API", Parca's profilestore.proto.
 */
#ifndef WALLPROF_PUSH_REQUEST_H
#define WALLPROF_PUSH_REQUEST_H

#include "push_body.h"
#include "push_profile.h"
#include "push_target.h"

enum { PUSH_ID_BYTES = 37 };

struct push_request {
    char *url, *text; /* owned; text: the parts of the body before and after the profile */
    const char *content_type;
    struct push_body body;
};

/* A new id for a profile: a random UUID (RFC 9562, version 4). A profile that is sent again keeps it. */
void push_request_new_id(char ret[PUSH_ID_BYTES]);

/* The profile must outlive the request. 0 or -ENOMEM. */
int push_request_init(struct push_request *request, const struct push_target *target,
                      const struct push_profile *profile, const char *id);
void push_request_free(struct push_request *request);

#endif
