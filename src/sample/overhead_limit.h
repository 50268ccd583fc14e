/*
 * How rarely threads must be sampled, so that profiling takes no more than a given share of CPU.
 *
 * The share is one of the program's CPU time, or of one core where the program uses less; of a core that it
 * shares with the processes it was forked from and has forked (overhead_group.h): a server of thirty
 * processes that wait would else have thirty times as much. Two figures keep to it. The *account* is what has
 * been allowed less what has been used: it holds the mean of a long run to the limit, whatever came between.
 * The *price* is what a sample costs: from it the period follows at once,
 *
 *     period = samples of a tick * price / (income + account / horizon)
 *
 * and since the price hardly depends on the period, nothing oscillates; the account adds a slow correction.
 * (A controller that only compares the present share with the limit swings, or lets the mean drift by what
 * it notices late. An account alone, with a sample whenever there is something on it, would make samples come
 * when the program uses CPU, and they must not depend on what it does.)
 *
 * The period is the one that ticks would have. But ticks stay as far apart as was asked for, and stretches
 * are made longer (schedule.h), which is as cheap, for ticks without a sample are not waited for. Longer
 * ticks would make times untrue: a program that is dear to sample in one phase, say because all its threads
 * run, and cheap in the next would be sampled at unequal intervals, and samples are worth their share of a
 * stretch in ticks. (In a simulated program of phases of 0.5 to 5 s, 20 times as dear one as the other, its
 * functions were off by 2 to 12 %; this way no such error was found, with 0.1 % in sight.
 * tests/unit/test_schedule.c.)
 *
 * - What is not used is saved up, at most the income of a quarter of a horizon: a burst is paid from it.
 * - Debt takes no more than half of the income. What threads cost that begin and end is on the account but
 *   not in the price: it is the same at any rate, so a program that starts thousands of them a second would
 *   be sampled ever less, to no effect. Nor may a program go unseen because it has loaded many libraries.
 * - The period becomes longer at once, and shorter by no more than half in a window.
 * - It lies between the one asked for and 10 s: 8 samples take 0.1 to 1 ms of CPU, of which 10 s make 0.01 %
 * of a core at the worst. Nor is it more than stretches can be longer.
 *
 * Pure: the caller reads the clocks. Called from: the sampler thread; it is read when that has ended.
 */
#ifndef WALLPROF_OVERHEAD_LIMIT_H
#define WALLPROF_OVERHEAD_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { OVERHEAD_LIMIT_TEXT_BYTES = 192 };

/* Totals; where they begin does not matter. */
struct overhead_limit_use {
    uint64_t now_ns; /* CLOCK_MONOTONIC */
    uint64_t samples;
    uint64_t own_cpu_ns;    /* the sampler's, and that of the program's threads for their replies */
    uint64_t upkeep_cpu_ns; /* of it, for threads that began and ended */
    uint64_t program_cpu_ns;
    uint32_t samples_per_tick; /* not a total: how many a tick would have now without limit */
    uint32_t processes;        /* nor this: how many share one core, this one included */
};

struct overhead_limit {
    uint32_t limit_ppm;                 /* own CPU in millionths of the program's; 0: no limit */
    uint64_t asked_ns;                  /* the period without limit */
    uint64_t longest_ns;                /* and what it can be at most */
    uint64_t period_ns;                 /* with it */
    bool has_begun;                     /* the first window has */
    bool has_limited;                   /* the period has been longer than asked */
    struct overhead_limit_use at;       /* when the present window began */
    int64_t account_ns;                 /* less than 0: debt */
    uint64_t priced_ns, priced_samples; /* what so many samples have cost */
    double left_out_ns;                 /* time's worth of ticks that limit has saved before the window */
};

/* longest: in periods asked for. */
void overhead_limit_init(struct overhead_limit *limit, uint32_t limit_ppm, uint64_t asked_ns,
                         uint32_t longest);

/* Between samples: whether a window ends, and overhead_limit_judge is to be called. Never without a limit. */
bool overhead_limit_is_due(const struct overhead_limit *limit, uint64_t now_ns, uint64_t samples);

/* A window ends: sets the period. The first call only begins one; what was used before it does not count. */
void overhead_limit_judge(struct overhead_limit *limit, const struct overhead_limit_use *use);

/*
 * What a reply has cost the thread that gave it, from what the handler took by a clock that goes on while
 * the thread is preempted: no more of that is believed than a walk to such a depth takes.
 */
uint64_t overhead_limit_reply_ns(uint64_t took_ns, uint32_t depth);

/* For people: the limit, and the rate that it left on average; "" when that was always the one asked for. */
void overhead_limit_describe(const struct overhead_limit *limit, uint64_t start_ns, uint64_t end_ns,
                             char ret[OVERHEAD_LIMIT_TEXT_BYTES]);

/* What there is to say begins at now_ns. */
void overhead_limit_describe_from(struct overhead_limit *limit, uint64_t now_ns);

#endif
