/*
 * How rarely threads must be sampled, so that profiling takes no more than a given share of CPU time.
 *
 * The share is one of the program's CPU time, or of one core if the program uses less. Processes that were
 * forked from one another share that core (overhead_group.h): else a server of thirty waiting processes would
 * have thirty times as much. Two figures keep to the share. The *account* is what has been allowed less what
 * has been used. It holds the mean of a long run to the limit. The *price* is what a sample costs. The period
 * follows from it at once:
 *
 *     period = samples of a tick * price / (income + account / horizon)
 *
 * The price hardly depends on the period, so nothing oscillates; the account adds a slow correction. (A
 * controller that compares the present share with the limit oscillates, or lets the mean drift. With the
 * account alone, samples would come when the program runs, but they must not depend on it.)
 *
 * The period is that of ticks with a sample. Ticks stay as far apart as requested, and stretches are made
 * longer (schedule.h). That is as cheap, as the sampler sleeps through ticks without a sample. Longer ticks
 * would make times untrue: a program that is expensive to sample in one phase, because all its threads run,
 * and cheap in the next would be sampled at unequal intervals. (In a simulated program with phases of 0.5 to
 * 5 s, one 20 times as expensive as the other, functions were off by 2 to 12 %. With longer stretches no
 * error of 0.1 % was found. tests/unit/test_schedule.c.)
 *
 * - What is not used is saved, at most the income of a quarter of a horizon: it pays for a burst.
 * - Debt takes at most half of the income, and so do the samples of quiet threads in a crowd. These are in
 * the account, but not in the price: they have a rate of their own (schedule.h).
 * - What is the same at any rate is not in it at all: threads that begin and end, and their first samples. A
 * program that starts thousands of them a second would else be sampled ever more rarely, to no effect. Nor
 * may a program go unseen because it has loaded many libraries.
 * - The period becomes longer at once, and shorter by at most half in a window.
 * - It lies between the requested one and 10 s: 8 samples take 0.1 to 1 ms of CPU time, at most 0.01 % of a
 * core in 10 s. Nor is it longer than stretches can be.
 *
 * Pure: the caller reads the clocks. Called from: the sampler thread; read after that has ended.
 */
#ifndef WALLPROF_OVERHEAD_LIMIT_H
#define WALLPROF_OVERHEAD_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { OVERHEAD_LIMIT_TEXT_BYTES = 192 };

/* Totals since any moment. */
struct overhead_limit_use {
    uint64_t now_ns; /* CLOCK_MONOTONIC */
    uint64_t samples;
    uint64_t own_cpu_ns;   /* the sampler's without upkeep, and that of the program's threads for replies */
    uint64_t quiet_cpu_ns; /* of that, for quiet threads in a crowd */
    uint64_t program_cpu_ns;
    uint32_t samples_per_tick; /* not a total: how many a tick would have now without a limit */
    uint32_t processes;        /* not a total: how many share one core, this one included */
};

struct overhead_limit {
    uint32_t limit_ppm;                 /* own CPU in millionths of the program's; 0: no limit */
    uint64_t requested_ns;              /* the period without a limit */
    uint64_t longest_ns;                /* the longest period */
    uint64_t period_ns;                 /* the present period */
    bool has_begun;                     /* the first window has begun */
    bool has_limited;                   /* the period has been longer than requested */
    struct overhead_limit_use at;       /* when the present window began */
    int64_t account_ns;                 /* less than 0: debt */
    uint64_t priced_ns, priced_samples; /* the cost of so many samples */
    double allowed;                     /* income of the last window, in CPUs */
    double left_out_ns;                 /* the time of ticks that the limit has left out before the window */
};

/* longest: of a period, in requested periods. */
void overhead_limit_init(struct overhead_limit *limit, uint32_t limit_ppm, uint64_t requested_ns,
                         uint32_t longest);

/* Between samples: whether a window ends, and overhead_limit_judge is to be called. Never without a limit. */
bool overhead_limit_is_due(const struct overhead_limit *limit, uint64_t now_ns, uint64_t samples);

/* A window ends: sets the period. The first call only begins one; what was used before it does not count. */
void overhead_limit_judge(struct overhead_limit *limit, const struct overhead_limit_use *use);

/*
 * Estimates the CPU time of a reply. took_ns is the handler's elapsed time, which includes preemption: it
 * counts up to what a walk to such a depth can take.
 */
uint64_t overhead_limit_reply_ns(uint64_t took_ns, uint32_t depth);

/* For people: the limit, and the mean rate with it; "" if the period was never longer than requested. */
void overhead_limit_describe(const struct overhead_limit *limit, uint64_t start_ns, uint64_t end_ns,
                             char ret[OVERHEAD_LIMIT_TEXT_BYTES]);

/* From now_ns on overhead_limit_describe describes. */
void overhead_limit_describe_from(struct overhead_limit *limit, uint64_t now_ns);

#endif
