/*
 * What it may cost to look for names: 0.2 % of the time, after 20 ms of CPU time in the beginning.
 *
 * Called from: the sampler thread.
 */
#ifndef WALLPROF_READING_CREDIT_H
#define WALLPROF_READING_CREDIT_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum { READING_CREDIT_PARTS = 500 };

struct reading_credit {
    uint64_t paid_until_ns; /* what was read is paid for by the time up to here; 0: nothing was */
};

/* Whether what was read so far is paid for. */
static inline bool reading_credit_is_left(struct reading_credit *credit, uint64_t now_ns)
{
    const uint64_t most_ns = 20 * (uint64_t)NS_PER_MS * READING_CREDIT_PARTS;
    if (credit->paid_until_ns + most_ns < now_ns)
        credit->paid_until_ns = now_ns - most_ns;
    return credit->paid_until_ns < now_ns;
}

/* Pays for a reading that began at begin_ns of the thread's CPU clock. */
static inline void reading_credit_pay(struct reading_credit *credit, uint64_t begin_ns)
{
    credit->paid_until_ns += (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * READING_CREDIT_PARTS;
}

#endif
