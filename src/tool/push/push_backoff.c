#include "push_backoff.h"
#include "base/clock.h"

enum { DOUBLINGS_MAX = 16, MS_PER_S = 1000 };

void push_backoff_init(struct push_backoff *backoff, uint64_t seed)
{
    *backoff = (struct push_backoff){0};
    random_init(&backoff->random, seed);
}

uint64_t push_backoff_ns(struct push_backoff *backoff, uint64_t retry_after_s)
{
    uint32_t doublings = backoff->failures < DOUBLINGS_MAX ? backoff->failures : DOUBLINGS_MAX;
    uint64_t whole_s = (uint64_t)PUSH_WAIT_FIRST_S << doublings;
    backoff->failures++;
    if (whole_s > PUSH_WAIT_MAX_S)
        whole_s = PUSH_WAIT_MAX_S;
    uint64_t half_ms = whole_s * MS_PER_S / 2;
    uint64_t wait_ns =
        (half_ms + random_below(&backoff->random, (uint32_t)half_ms + 1)) * (NS_PER_S / MS_PER_S);
    if (retry_after_s > PUSH_RETRY_AFTER_MAX_S)
        retry_after_s = PUSH_RETRY_AFTER_MAX_S;
    return wait_ns > retry_after_s * NS_PER_S ? wait_ns : retry_after_s * NS_PER_S;
}
