#include "tick.h"

static uint64_t below_period(uint64_t period_ns, struct random_state *random)
{
    return random_below(random, (uint32_t)(period_ns < UINT32_MAX ? period_ns : UINT32_MAX));
}

static uint64_t interval(const struct tick *tick, struct random_state *random)
{
    return tick->period_ns / 2 + below_period(tick->period_ns, random);
}

void tick_init(struct tick *tick, uint64_t period_ns, uint64_t now_ns, struct random_state *random)
{
    /* The first phase is uniform over one period: a program's start must not be in step with us either. */
    *tick = (struct tick){.period_ns = period_ns, .deadline_ns = now_ns + below_period(period_ns, random)};
}

void tick_begin_late(struct tick *tick, uint64_t now_ns, struct random_state *random)
{
    uint64_t late = tick->deadline_ns < now_ns ? 1 + (now_ns - tick->deadline_ns) / tick->period_ns : 0;
    if (late == 0)
        return;
    tick_init(tick, tick->period_ns, now_ns, random);
    tick->late = late;
}

void tick_advance(struct tick *tick, uint64_t now_ns, struct random_state *random)
{
    if (now_ns >= tick->deadline_ns + tick->period_ns) {
        tick->late += (now_ns - tick->deadline_ns) / tick->period_ns;
        tick->deadline_ns = now_ns;
    }
    tick->deadline_ns += interval(tick, random);
    if (tick->deadline_ns <= now_ns) { /* late by less than a period, and a short interval drawn */
        tick->late++;
        tick->deadline_ns += interval(tick, random);
    }
}
