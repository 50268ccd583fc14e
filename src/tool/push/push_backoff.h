/*
 * How long to wait before the next attempt. The bound doubles after each failure, up to a maximum. The wait
 * is drawn at random from its upper half, so that many clients do not come back to a server at once. Where
 * the server asks for a longer wait, that is taken.
 *
 * Called from: push_send, push_follow.
 */
#ifndef WALLPROF_PUSH_BACKOFF_H
#define WALLPROF_PUSH_BACKOFF_H

#include "base/random.h"

#include <stdint.h>

enum { PUSH_WAIT_FIRST_S = 1, PUSH_WAIT_MAX_S = 300, PUSH_RETRY_AFTER_MAX_S = 3600 };

struct push_backoff {
    struct random_state random;
    uint32_t failures; /* in a row; the caller sets it to 0 after a success */
};

void push_backoff_init(struct push_backoff *backoff, uint64_t seed);

/* The wait after one more failure. retry_after_s: the wait that the server asks for, or 0. */
uint64_t push_backoff_ns(struct push_backoff *backoff, uint64_t retry_after_s);

#endif
