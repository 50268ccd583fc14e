#include "report_error.h"

#include <math.h>

static const double quantile = 1.96; /* of the normal distribution, both sides 2.5 % */
static const double end_of_one_tick = 0.2, end_of_many = 1.0 / 3;
static const double uneven_stretches = 13.0 / 12; /* E[w^2] / E[w]^2 of the distance of ticks (tick.h) */

/* CPU time has its share of the row's variance. */
static struct report_error of_variance(const struct values *values, double variance)
{
    if (values->samples < REPORT_ERROR_SAMPLES_MIN)
        return (struct report_error){REPORT_ERROR_UNKNOWN, REPORT_ERROR_UNKNOWN};
    uint64_t wall_ns = tree_wall_ns(values);
    double share = wall_ns ? (double)values->cpu_ns / (double)wall_ns : 0;
    double bar_ns = fmin(quantile * sqrt(fmax(variance, 0)), 1e18);
    return (struct report_error){(uint64_t)bar_ns, (uint64_t)(bar_ns * sqrt(fmin(share, 1)))};
}

uint64_t report_error_offcpu_ns(const struct report_error *error)
{
    double wall = (double)error->wall_ns, cpu = (double)error->cpu_ns;
    if (error->wall_ns == REPORT_ERROR_UNKNOWN)
        return REPORT_ERROR_UNKNOWN;
    return (uint64_t)sqrt(fmax(wall * wall - cpu * cpu, 0));
}

struct report_error report_error_of(const struct values *values, double near, double far, uint64_t period_ns)
{
    double ticks = values->samples && period_ns
                       ? (double)tree_wall_ns(values) / (double)values->samples / (double)period_ns
                       : 1;
    double end = end_of_many - (end_of_many - end_of_one_tick) / fmax(ticks * ticks, 1);
    double is_short = near > 0 ? fmin(fmax(2 - far / near, 0), 1) : 0;
    return of_variance(values, near * (end + (1 - end) * is_short * sqrt(is_short)));
}

struct report_error report_error_of_samples(const struct values *values, const struct values *whole)
{
    double wall_ns = (double)tree_wall_ns(values), whole_ns = (double)tree_wall_ns(whole);
    double samples = (double)values->samples;
    double share = whole_ns > 0 ? wall_ns / whole_ns : 1;
    double variance = samples > 0 ? wall_ns * wall_ns / samples * (1 - share) * uneven_stretches : 0;
    return of_variance(values, variance);
}
