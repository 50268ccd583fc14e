/*
 * How far apart ticks must be, so that profiling takes no more than a given share of CPU.
 *
 * The share is one of the program's CPU time, or of one core where the program uses less. Two figures keep
 * to it. The *account* is what has been allowed less what has been used: it holds the mean of a long run to
 * the limit, whatever came between. The *price* is what a tick costs: from it the period follows at once,
 *
 *     period = price / (income + account / horizon)
 *
 * and since the price hardly depends on the period, nothing oscillates; the account adds a slow correction.
 * (A controller that only compares the present share with the limit swings, or lets the mean drift by what
 * it notices late. An account alone, with a tick whenever there is something on it, would make ticks come
 * when the program uses CPU, and they must not depend on what it does.)
 *
 * - What is not used is saved up, at most the income of a quarter of a horizon: a burst is paid from it.
 * - Debt takes no more than half of the income. What threads cost that begin and end is on the account but
 *   not in the price: it is the same at any rate, so a program that starts thousands of them a second would
 *   be looked at ever less, to no effect. Nor may a program go unseen because it has loaded many libraries.
 * - The period becomes longer at once, and shorter by no more than half in a window.
 * - It lies between the one asked for and 10 s. A tick of 8 threads takes 0.1 to 1 ms of CPU, of which 10 s
 *   make 0.01 % of a core at the worst; and threads that came and went are kept until the next tick.
 *
 * So the period follows from the past, and slowly. Time is accounted for from observation to observation,
 * and sums do not depend on it. Of long phases that differ in price the dear one is looked at less often,
 * without being told shorter: only the interval in which one becomes the other may be told wrong, on
 * average in favour of the cheaper one by half the difference of their periods.
 *
 * Pure: the caller reads the clocks. Called from: the sampler thread; it is read when that has ended.
 */
#ifndef WALLPROF_RESTRAINT_H
#define WALLPROF_RESTRAINT_H

#include <stdbool.h>
#include <stdint.h>

enum { RESTRAINT_TEXT_BYTES = 192 };

/* Totals; where they begin does not matter. */
struct restraint_use {
    uint64_t now_ns; /* CLOCK_MONOTONIC */
    uint64_t ticks;
    uint64_t own_cpu_ns;    /* the sampler's, and its samples' in the program's threads */
    uint64_t upkeep_cpu_ns; /* of it, for threads that began and ended */
    uint64_t program_cpu_ns;
};

struct wp_restraint {
    uint32_t limit_ppm; /* own CPU in millionths of the program's; 0: no limit */
    uint64_t asked_ns;  /* the period without restraint */
    uint64_t period_ns; /* with it */
    bool has_begun;
    bool has_restrained;              /* the period has been longer than asked */
    struct restraint_use begun;       /* as of the begin of the present window */
    int64_t account_ns;               /* less than 0: debt */
    uint64_t priced_ns, priced_ticks; /* what so many ticks have cost */
};

void restraint_init(struct wp_restraint *restraint, uint32_t limit_ppm, uint64_t asked_ns);

/* At a tick: whether a window ends, and restraint_judge is to be called. Never without a limit. */
bool restraint_is_due(const struct wp_restraint *restraint, uint64_t now_ns, uint64_t ticks);

/* A window ends: sets the period. The first call only begins one; what was used before it does not count. */
void restraint_judge(struct wp_restraint *restraint, const struct restraint_use *use);

/*
 * What a sample has cost the thread it was taken of, from what the handler took by a clock that goes on while
 * the thread is preempted: no more of that is believed than a walk to such a depth takes.
 */
uint64_t restraint_sample_ns(uint64_t took_ns, uint32_t depth);

/* For people: the limit and the rate that was reached, or "" when that was always the one asked for. */
void restraint_describe(const struct wp_restraint *restraint, uint64_t ticks, uint64_t duration_ns,
                        char ret[RESTRAINT_TEXT_BYTES]);

#endif
