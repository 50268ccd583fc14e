/*
 * One profile as the request that a server's interface wants.
 *
 * Called from: push_send. Sources: Pyroscope's "Server HTTP API", Parca's profilestore.proto.
 */
#ifndef WALLPROF_TOOL_PUSH_REQUEST_H
#define WALLPROF_TOOL_PUSH_REQUEST_H

#include "push_body.h"
#include "push_profile.h"
#include "push_target.h"

enum { PUSH_ID_BYTES = 37 };

struct push_request {
    char *url, *text; /* owned; text is what the body is framed by */
    const char *content_type;
    struct push_body body;
};

/* A new name for a profile: a random UUID (RFC 9562, version 4). The same profile, sent again, keeps it. */
void push_request_make_id(char ret[PUSH_ID_BYTES]);

/* The profile must outlive the request. 0 or -ENOMEM. */
int push_request_make(struct push_request *request, const struct push_target *target,
                      const struct push_profile *profile, const char *id);
void push_request_free(struct push_request *request);

#endif
