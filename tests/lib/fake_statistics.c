#include "fake_statistics.h"

double fake_chi_square(const uint64_t *counts, size_t classes, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < classes; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return sum;
}

double fake_chi_square_limit(size_t freedom)
{
    double v = 2.0 / (9.0 * (double)freedom), root = 1.0, x = v;
    for (int i = 0; i < 60; i++) /* Newton: square root of v */
        root = (root + x / root) / 2;
    double cube = 1 - v + 3.0902 * root;
    return (double)freedom * cube * cube * cube;
}
