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

/* Of deadlines one period apart, how many have passed. */
static uint64_t passed(const struct tick *tick, uint64_t now_ns)
{
    return tick->deadline_ns <= now_ns ? 1 + (now_ns - tick->deadline_ns) / tick->period_ns : 0;
}

void tick_count_due(struct tick *tick, uint64_t now_ns)
{
    tick->late += passed(tick, now_ns);
}

void tick_restart(struct tick *tick, uint64_t now_ns, struct random_state *random)
{
    uint64_t late = tick->late;
    tick_init(tick, tick->period_ns, now_ns, random);
    tick->late = late;
}

void tick_begin_late(struct tick *tick, uint64_t now_ns, struct random_state *random)
{
    if (tick->deadline_ns >= now_ns)
        return;
    tick_count_due(tick, now_ns);
    tick_restart(tick, now_ns, random);
}

/* Of the deadlines that have passed one is that of the tick that is made now. What is left of a period stays
 * in the next deadline. A tick that is due again already, as a short interval was drawn, is passed over. */
void tick_advance(struct tick *tick, uint64_t now_ns, struct random_state *random)
{
    uint64_t due = passed(tick, now_ns), missed = due > 0 ? due - 1 : 0;
    tick->late += missed;
    tick->deadline_ns += missed * tick->period_ns + interval(tick, random);
    if (tick->deadline_ns <= now_ns) {
        tick->late++;
        tick->deadline_ns += interval(tick, random);
    }
}
