/* Is a count as often as it should be? Pearson's chi-square test, with seeds that are fixed and so never
 * flaky. */
#ifndef WALLPROF_FAKE_STATISTICS_H
#define WALLPROF_FAKE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* Sum of (observed - expected)^2 / expected with the same expected count in every class. */
static inline double fake_chi_square(const uint64_t *counts, size_t classes, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < classes; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return sum;
}

/*
 * The value that chance exceeds once in a thousand times, for a number of degrees of freedom. Wilson and
 * Hilferty, "The distribution of chi-square" (PNAS 17, 1931): 3.0902 is the normal distribution's 0.999
 * quantile.
 */
static inline double fake_chi_square_limit(size_t freedom)
{
    double v = 2.0 / (9.0 * (double)freedom), root = 1.0, x = v;
    for (int i = 0; i < 60; i++) /* Newton: square root of v */
        root = (root + x / root) / 2;
    double cube = 1 - v + 3.0902 * root;
    return (double)freedom * cube * cube * cube;
}

#endif
