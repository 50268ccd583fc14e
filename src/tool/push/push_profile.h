/*
 * A file as it can be sent: a pprof file of ours as it is, packed if it is not, a store as the pprof file
 * that is made of it.
 *
 * Called from: cmd_push, push_follow. What the file holds has been checked (recording.h).
 */
#ifndef WALLPROF_TOOL_PUSH_PROFILE_H
#define WALLPROF_TOOL_PUSH_PROFILE_H

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
    uint64_t samples, plain_bytes; /* what servers' limits are of */
    char program[256];
};

/* The file that a descriptor is of, which stays the caller's. 0; or -errno with a reason, and nothing held.
 */
int push_profile_read(struct push_profile *profile, int fd, char reason[RECORDING_REASON_BYTES]);
void push_profile_free(struct push_profile *profile);

#endif
