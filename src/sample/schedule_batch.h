/*
 * Batches of ticks, so that samples of many threads come in few ticks. A batch of n ticks, n a power of two,
 * begins after a tick that is a multiple of n. Samples in it are taken in one of its ticks, the same for all
 * threads. Each is equally likely. A batch of 2n ticks has the tick of one of its two halves. Used by
 * schedule.c only.
 */
#ifndef WALLPROF_SCHEDULE_BATCH_H
#define WALLPROF_SCHEDULE_BATCH_H

#include "base/random.h"

#include <stdint.h>

enum { SCHEDULE_BATCH_MAX = 32 }; /* ticks */

/* Of the batch of so many ticks that begins after tick `begin`. */
static inline uint64_t schedule_batch_tick(uint64_t seed, uint64_t begin, uint32_t ticks)
{
    for (; ticks > 1; ticks /= 2) {
        struct random_state random;
        random_init(&random, seed ^ (begin * SCHEDULE_BATCH_MAX * 2 + ticks));
        begin += random_below(&random, 2) ? ticks / 2 : 0;
    }
    return begin + 1;
}

#endif
