/*
 * When to sample: deadlines on CLOCK_MONOTONIC, one period apart on average. Each interval is drawn uniformly
 * from half to one and a half periods, so that ticks cannot keep step with a periodic program.
 *
 * A late tick is not made up for: the periods that passed are counted, and the next deadline lies in the
 * future. No time is lost by that, because the time that has passed is accounted for, not ticks. No deadline
 * moves because a tick was late, or ticks would come in step with what makes them late. So ticks made and
 * periods missed together are one a period, however late ticks come.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_TICK_H
#define WALLPROF_TICK_H

#include "base/random.h"

#include <stdint.h>

struct tick {
    uint64_t period_ns;
    uint64_t deadline_ns; /* of the next tick, CLOCK_MONOTONIC */
    uint64_t late;        /* periods that passed without a tick */
};

/* Draws the first deadline, within a period. */
void tick_init(struct tick *tick, uint64_t period_ns, uint64_t now_ns, struct random_state *random);

/* The same, but keeps count of the periods that passed. */
void tick_restart(struct tick *tick, uint64_t now_ns, struct random_state *random);

/* No more ticks are made: counts those that are due by now_ns. */
void tick_count_due(struct tick *tick, uint64_t now_ns);

/* The first tick was not due before now_ns, as the sampler was not ready: counts the periods that have passed
 * since its deadline, and draws another one. */
void tick_begin_late(struct tick *tick, uint64_t now_ns, struct random_state *random);

/* The tick has come at now_ns: counts what was missed and draws the next deadline. */
void tick_advance(struct tick *tick, uint64_t now_ns, struct random_state *random);

#endif
