/*
 * Where profiles are pushed to: the server's address, which of its interfaces, and what the series is called.
 *
 * What a user gives is checked here, so that nothing can be put into a request that the server would take for
 * something else. What is refused is refused with a reason, for people; an address that may hold a password
 * is never repeated in one.
 *
 * Called from: cmd_push. Texts are the caller's and must stay.
 * Sources: Pyroscope's labelset.Parse and validation.ValidateLabels, Parca's NormalizeWriteRawRequest.
 */
#ifndef WALLPROF_TOOL_PUSH_TARGET_H
#define WALLPROF_TOOL_PUSH_TARGET_H

#include <stdbool.h>
#include <stdint.h>

enum push_interface {
    PUSH_PYROSCOPE_INGEST, /* POST /ingest, the profile as it is */
    PUSH_PYROSCOPE_PUSH,   /* POST /push.v1.PusherService/Push, JSON */
    PUSH_PARCA             /* POST /api/profiles/writeraw, JSON */
};

enum {
    PUSH_LABELS_MAX = 28,         /* Pyroscope takes 30, its name and the service's among them */
    PUSH_LABEL_NAME_BYTES = 1024, /* and so long ones, by default */
    PUSH_LABEL_VALUE_BYTES = 2048,
    PUSH_REASON_BYTES = 256
};

struct push_label {
    char name[PUSH_LABEL_NAME_BYTES + 1];
    const char *value;
};

struct push_target {
    enum push_interface interface;
    const char *address;    /* scheme://host[:port][/path] */
    uint32_t address_bytes; /* without slashes at its end */
    bool is_encrypted, is_loopback;
    const char *name; /* of the service; NULL: that of the profiled program */
    struct push_label labels[PUSH_LABELS_MAX];
    uint32_t label_count;
    char reason[PUSH_REASON_BYTES];
};

/* 0 or -EINVAL with a reason. */
int push_target_set_address(struct push_target *target, const char *address);
int push_target_set_name(struct push_target *target, const char *name);
int push_target_add_label(struct push_target *target, const char *text); /* NAME=VALUE */

/* Once the interface is settled: not every one can carry every label. */
int push_target_check(struct push_target *target);

/* What a service may be called: other characters become '_'. */
void push_target_make_name(const char *program, char *ret, uint32_t capacity);

#endif
