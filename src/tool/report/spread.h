/*
 * A value that was measured in several runs: its mean, and how far chance may have moved the mean.
 *
 * Runs differ more than their error bars say, because a program, its input and its machine are never quite
 * the same twice. So the variance is what the runs show. It is never less than their error bars say: two runs
 * that agree by luck are no proof. A single run has its error bar alone.
 *
 * Runs of two sides that were made in turns are compared pair by pair: what the machine did meanwhile slowed
 * both runs of a pair, and so is not in their difference. The differences are a spread too.
 *
 * Sources: Welch, "The generalization of 'Student's' problem when several different population variances are
 * involved" (Biometrika 34, 1947). Hill, "Algorithm 396: Student's t-quantiles" (CACM 13, 1970). Bulej et
 * al., "Duet Benchmarking: Improving Measurement Accuracy in the Cloud" (ICPE 2020).
 *
 * Pure. Values are in any unit, and bars are in the same.
 */
#ifndef WALLPROF_SPREAD_H
#define WALLPROF_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins as zeros. */
struct spread {
    uint32_t runs;
    double mean, squares; /* squares: the sum of squared distances from the mean */
    double within;        /* the sum of the variances that the runs' error bars say */
};

/* bar: at 95 %; 0: the run's value is exact. */
void spread_add(struct spread *spread, double value, double bar);

/* A mean, or a difference of two means. degrees: of freedom; INFINITY if the variance is known. */
struct spread_mean {
    double value, variance, degrees;
};

struct spread_mean spread_mean_of(const struct spread *spread);

/* after less before. A side of a single run is taken to vary as the other side does. */
struct spread_mean spread_difference(const struct spread *before, const struct spread *after);

/* One run of each side: the change, and its bar. Begins as zeros. */
struct spread_pair {
    double change, squared_bar;
};

/* value: of the run after; of the one before, less than 0. */
void spread_pair_add(struct spread_pair *pair, double value, double bar);

/* Pairs have half as many degrees of freedom. Fewer pairs than these may lose more by that than they gain. */
enum { SPREAD_PAIRS_LEAST = 8 };

struct spread spread_of_pairs(const struct spread_pair *pairs, size_t count);

/* Chance alone moves the value so far in 5 of 100 cases, to either side. */
double spread_bar(const struct spread_mean *mean);

/* Chance alone makes a value so far above 0 in less than 1 of 100 cases. */
bool spread_is_above_zero(const struct spread_mean *mean);

#endif
