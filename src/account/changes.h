/*
 * How much chance is in a node's time: what the error bars of a report are made of.
 *
 * One sample stands for a whole stretch (schedule.h), so it is wrong about a function only where the thread
 * entered or left that function. If nothing is known of when that was, the stretch's error has the variance
 * w^2 / 6 for a change in it that is long before the next one, and w^2 p (1 - p) for a function that is there
 * for the share p of many short calls. w is the time that the sample stands for.
 *
 * Both are found from changes between successive samples of a thread: the next sample is in the function and
 * this one is not, or the reverse. A change between stretches a and b counts as (a^3 + b^3) / (a + b), which
 * is the mean of w^2 over the two if it lies in either with odds like their lengths. Half of it goes to the
 * node that was entered, half to the node that was left. A node's sum is the variance of short calls.
 *
 * For long calls that is too much: few changes, each of them certain to within a stretch. Which of both it
 * is shows from the changes between a sample and the next but one. With short calls there are as many of
 * these. With long calls there are twice as many. report_error.h makes a variance of the two sums.
 *
 * Samples that found the thread running and samples that found it waiting are compared apart, because both
 * kinds of time are scaled to what the clocks say (fold.h). So no chance is left between them. Time in which
 * a thread has provably not run is certain, and has no weight.
 *
 * The first sample of a kind in a thread has none before it. It counts in full unless the last such sample
 * of another thread was in the same function. So threads with a sample each have their variance too. In a
 * thread with more samples it is one end of a long stay, and its far sum is made twice its near one.
 *
 * Successive differences: Wolter, "Introduction to Variance Estimation" (2nd ed., 2007), section 8.2.
 * docs/accuracy.md has how often the intervals hold the truth.
 *
 * Called from: the sampler thread only, by fold.c.
 */
#ifndef WALLPROF_CHANGES_H
#define WALLPROF_CHANGES_H

#include "profile/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct changes_sample {
    arena_ref node;       /* that its time goes to; 0: none */
    uint32_t label_depth; /* how many labels its path begins with */
    bool is_running;
    double weight_ns; /* the uncertain time that it stands for */
};

struct changes_first {
    arena_ref node;
    double amount;    /* what it counted, until the thread has more samples */
    uint32_t samples; /* of the kind so far */
};

/* Pairs are of both kinds, waiting and running. */
struct changes_thread {
    struct changes_sample last;         /* its weight is complete at the next sample */
    struct changes_sample before[2][2]; /* the last two before it, newest first */
    struct changes_first first[2];
};

/* For all threads: where the newest first sample of each kind was. All zero to begin with. */
struct changes_newcomers {
    struct location location[2];
};

/* A thread's next sample. after_ns: the uncertain time after the last one that the last one stands for. */
void changes_next(struct changes_newcomers *newcomers, struct tree *tree, struct changes_thread *thread,
                  uint64_t after_ns, const struct changes_sample *sample);

/* A sample shows that a thread has not run since the last one. */
void changes_same(struct tree *tree, struct changes_thread *thread);

/* The last sample is complete, as the thread ends or is settled. If the thread goes on, so does the sample.
 */
void changes_settle(struct changes_newcomers *newcomers, struct tree *tree, struct changes_thread *thread,
                    uint64_t after_ns);

#endif
