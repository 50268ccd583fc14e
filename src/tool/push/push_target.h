/*
 * Where profiles are pushed to: the server's address, its interface, and the name and labels of the series.
 *
 * The user's words are checked here, so that a server cannot misread a request. A refusal has a reason for
 * people. It never repeats an address, which may hold a password.
 *
 * Called from: cmd_push. Texts are borrowed.
 * Sources: Pyroscope's labelset.Parse and validation.ValidateLabels, Parca's NormalizeWriteRawRequest.
 */
#ifndef WALLPROF_PUSH_TARGET_H
#define WALLPROF_PUSH_TARGET_H

#include <stdbool.h>
#include <stdint.h>

enum push_interface {
    PUSH_PYROSCOPE_INGEST, /* POST /ingest, the profile as it is */
    PUSH_PYROSCOPE_PUSH,   /* POST /push.v1.PusherService/Push, JSON */
    PUSH_PARCA             /* POST /api/profiles/writeraw, JSON */
};

enum {
    PUSH_LABELS_MAX = 28,         /* Pyroscope takes 30, including its own name and the service's */
    PUSH_LABEL_NAME_BYTES = 1024, /* Pyroscope's default limits */
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
    uint32_t address_bytes; /* without slashes at the end */
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

/* Called when the interface is known: /ingest cannot carry every label. 0; or -EINVAL with a reason. */
int push_target_check(struct push_target *target);

/* Makes a service's name of a program's: characters that it may not have become '_'. */
void push_target_make_name(const char *program, char *ret, uint32_t capacity);

#endif
