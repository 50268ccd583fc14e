/*
 * How long to wait before the next attempt: twice as long after each failure, up to a bound, and at random in
 * the upper half of that, so that many clients do not come back to a server at once. A longer wait that the
 * server asks for is kept.
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
    uint32_t failures; /* in a row */
};

void push_backoff_init(struct push_backoff *backoff, uint64_t seed);

/* After one more failure; retry_after_s: what the server asks for, 0 for nothing. */
uint64_t push_backoff_ns(struct push_backoff *backoff, uint64_t retry_after_s);

/* After a success. */
void push_backoff_forget(struct push_backoff *backoff);

#endif
