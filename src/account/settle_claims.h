/*
 * Calibrates a thread's tree: what its observations have claimed of each part of its wall time becomes what
 * its clocks say of that part (fold.h has the reason).
 *
 * Two states. A thread is runnable, and then has CPU time and run delay, or it is blocked. Observations claim
 * more or less of a state than the clocks say, by chance. As far as chance explains that, claims are scaled:
 * of a runnable thread's functions all alike, and of its waits. So no chance is left between the states
 * (changes.h relies on it), and a function's wall time changes with its state. This is post-stratification
 * (Cochran, "Sampling Techniques", 3rd ed., chapter 5A.9). By chance is what two standard deviations of as
 * many independent samples are.
 *
 * What is left after that is not chance: a thread may not be found in the state that its clocks show. A short
 * sleep may be over before it replies, and it may be found without a CPU because the sampler has it. That
 * becomes another part in each node alike, so that wall times stay what observations claim.
 *
 * Threads that are looked at rarely. If a thread works for 1 % of its time, an observation of its work is
 * rare, and stands for a long stretch. In such a thread that work claims far more than the clocks say, in the
 * others it claims nothing, and their CPU time is [unsampled]. To scale each thread alone would leave most of
 * the work in [unsampled]. So threads of the same group exchange: who has claimed too much of its CPU time
 * and too little of its blocked time gets as much CPU time as it gives blocked time to one with the reverse.
 * The claims of all together are unbiased. Each thread's wall time stays exact, and so do a group's sums of
 * each part. A thread's CPU time differs by what has changed hands. (Horvitz-Thompson claims, calibrated to
 * the totals of the group: Deville, Särndal, "Calibration estimators in survey sampling", JASA 87, 1992.)
 *
 * For these all parts are scaled, each to its clock: a ratio estimator, whose bias is of the order of 1 / n
 * for n observations of a part (Cochran, "Sampling Techniques", 3rd ed., chapter 6). They are those of whose
 * CPU time fewer than CLAIMS_EXPECTED observations were to be expected. That depends on the clocks and the
 * number of observations, and not on what these have seen, or those that were lucky would be favoured. But
 * who was seen at work three times as often was not at work.
 *
 * Called from: the sampler thread only; in the tool, from the reader of stores.
 */
#ifndef WALLPROF_SETTLE_CLAIMS_H
#define WALLPROF_SETTLE_CLAIMS_H

#include "base/hash.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <string.h>

/* Threads of one name do the same work: they are a group. Those without a name are none: 0. */
static inline uint32_t claims_group(const char name[THREAD_NAME_BYTES])
{
    return *name == '\0' ? 0 : (uint32_t)hash_bytes(hash_of_nothing, name, strnlen(name, THREAD_NAME_BYTES));
}

enum { CLAIMS_EXPECTED = 5, CLAIMS_TRADERS = 128 };

struct claims_settled {
    struct values left; /* parts that no node has claimed anything of */
    /* Of a thread that is rarely seen: */
    struct values excess; /* what was claimed of a part beyond what there is, and is cut */
    struct values raised; /* what was claimed too little, and is added */
};

/* The trees that are settled together: one, or those of short lives (short_lives.h). */
struct claims_root {
    arena_ref root;
    const struct claims_root *next;
};

/* Of a thread's nodes, but for `rest` (0: of all). known: time in gaps (gaps.h), which no observation claims
 * and settle_claims leaves alone. */
struct claims_sums {
    struct values claimed, known;
};
bool claims_are_known(const struct tree *tree, arena_ref node);
struct claims_sums claims_sum(const struct tree *tree, arena_ref root, arena_ref rest);

/*
 * claimed: what claims_sum says, of all trees. life: the parts of the life, without what is known. Where the
 * kernel does not tell the run delay, it is estimated from the claims, and then counts as blocked time of the
 * nodes that have claimed it. Else a thread that is often queued would have too much wall time in its waits.
 * has_gaps: there was time that nobody could observe, so that the moments of observations were not random,
 * and nothing is by chance.
 * Cost: three steps for each node.
 */
struct claims_settled settle_claims(const struct tree *tree, const struct claims_root *roots,
                                    const struct values *claimed, const struct values *life, bool knows_delay,
                                    bool has_gaps);

/* Makes the claims of all trees add up to the wall time of a life, all alike. claimed: becomes what they are
 * then. Not where nothing is claimed. */
void claims_fit(const struct tree *tree, const struct claims_root *roots, struct values *claimed,
                const struct values *life);

/* A thread with too little claimed of one part, and too much of another. */
struct claims_trader {
    uint32_t group;     /* of threads that may help each other; 0: none */
    arena_ref root;     /* its tree */
    arena_ref rest;     /* the node there of the time that no observation stands for; 0: it has none */
    struct values left; /* parts of which it lends that time; of the others it lends what is claimed */
    struct values lends, wants;
};

/* Those whom nobody has helped or needed yet; of more than CLAIMS_TRADERS the last ones. Zeroed memory:
 * nobody. It must be zeroed when the trees of threads that have ended are moved or dropped. */
struct claims_pool {
    struct claims_trader traders[CLAIMS_TRADERS];
    uint32_t count; /* so far */
};

/* A thread has been settled: gives and takes what it can. Cost: a step for each node of those that get some.
 */
void claims_trade(struct claims_pool *pool, const struct tree *tree, struct claims_trader trader);

#endif
