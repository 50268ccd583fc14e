#include "tick.h"

/* Uniform in 0..period-1, for periods of 4.3 s and more to a few nanoseconds. */
static uint64_t phase(uint64_t period_ns, struct wp_random *random)
{
    uint64_t unit_ns = (period_ns >> 32) + 1;
    return unit_ns * random_below(random, (uint32_t)(period_ns / unit_ns));
}

static uint64_t interval(const struct wp_tick *tick, struct wp_random *random)
{
    return tick->period_ns / 2 + phase(tick->period_ns, random);
}

void tick_init(struct wp_tick *tick, uint64_t period_ns, uint64_t now_ns, struct wp_random *random)
{
    *tick = (struct wp_tick){.period_ns = period_ns};
    /* The first phase is uniform over one period: a program's start must not be in step with us either. */
    tick->deadline_ns = now_ns + phase(period_ns, random);
}

void tick_set_period(struct wp_tick *tick, uint64_t period_ns)
{
    tick->period_ns = period_ns;
}

void tick_advance(struct wp_tick *tick, uint64_t now_ns, struct wp_random *random)
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
