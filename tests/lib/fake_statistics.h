/* Is a count as often as it should be? Pearson's chi-square test,
 * with seeds that are fixed and so never flaky. */
#ifndef WALLPROF_FAKE_STATISTICS_H
#define WALLPROF_FAKE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* Sum of (observed - expected)^2 / expected with the same expected count in every class. */
double fake_chi_square(const uint64_t *counts, size_t classes, double expected);

/*
 * The value that chance exceeds once in a thousand times, for a number of degrees of freedom. Wilson and
 * Hilferty, "The distribution of chi-square" (PNAS 17, 1931): 3.0902 is the normal distribution's 0.999
 * quantile.
 */
double fake_chi_square_limit(size_t freedom);

#endif
