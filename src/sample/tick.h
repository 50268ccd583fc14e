/*
 * When to sample: deadlines on CLOCK_MONOTONIC, one period apart on average, each interval drawn uniformly
 * from half to one and a half periods so that the ticks cannot march in step with a periodic program.
 *
 * A tick that comes late is not made up for: the periods that passed are counted, and the next deadline lies
 * in the future. No weight is lost by that, because time is accounted by what has passed, not by ticks.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_TICK_H
#define WALLPROF_TICK_H

#include "base/random.h"

#include <stdint.h>

struct tick {
    uint64_t period_ns;
    uint64_t deadline_ns; /* of the tick being waited for, CLOCK_MONOTONIC */
    uint64_t late;        /* periods that passed without a tick */
};

void tick_init(struct tick *tick, uint64_t period_ns, uint64_t now_ns, struct random_state *random);

/* After the tick was reached at now_ns: counts what was missed and draws the next deadline. */
void tick_advance(struct tick *tick, uint64_t now_ns, struct random_state *random);

#endif
