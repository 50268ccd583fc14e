/*
 * A file in the form that is sent. A pprof file of ours is sent as it is, or compressed if it is not yet. Of
 * a store a pprof file is made.
 *
 * Called from: push_send. The file's content is checked (recording.h).
 */
#ifndef WALLPROF_PUSH_PROFILE_H
#define WALLPROF_PUSH_PROFILE_H

#include "tool/read/recording.h"

#include <stdint.h>

enum {
    /* Pyroscope's defaults (validation.max-profile-size-bytes, .max-profile-stacktrace-samples) */
    PUSH_PLAIN_BYTES_USUAL = 4 << 20,
    PUSH_SAMPLES_USUAL = 16000
};

struct push_profile {
    unsigned char *bytes; /* owned */
    size_t count;
    uint64_t start_utc_ns, duration_ns;
    uint64_t samples, plain_bytes; /* servers limit both */
    char program[256];
};

/* All of a descriptor's file in malloc'd memory, with a NUL after it. NULL with *ret_error set to -errno. */
void *push_file_read(int fd, size_t *ret_bytes, int *ret_error);

/* Reads the descriptor's file; it stays the caller's. 0; or -errno with a reason, and nothing held. */
int push_profile_read(struct push_profile *profile, int fd, char reason[RECORDING_REASON_BYTES]);
void push_profile_free(struct push_profile *profile);

#endif
