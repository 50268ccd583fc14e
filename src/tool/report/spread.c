#include "spread.h"

#include <math.h>

/* Both sides of Student's distribution together have so much, and the normal one beyond so many deviations.
 */
struct tails {
    double probability, normal;
};

static const struct tails five_in_100 = {0.05, 1.959963984540054};
static const struct tails two_in_100 = {0.02, 2.326347874040841}; /* 1 on the side that is asked about */

/* Hill's expansion about the normal distribution; x: its quantile. Returns what t^2 / degrees is. */
static double near_normal(double x, double n, double a, double b, double c, double d)
{
    double y = x * x;
    if (n < 5)
        c += 0.3 * (n - 4.5) * (x + 0.6);
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    return expm1(a * y * y);
}

static double far_from_normal(double y, double n, double d)
{
    return ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) /
               (n + 2) +
           1 / y;
}

static double student_quantile(const struct tails *tails, double n)
{
    const double p = tails->probability;
    if (n < 1.01)
        return 1 / tan(p * M_PI_2);
    if (fabs(n - 2) < 0.01)
        return sqrt(2 / (p * (2 - p)) - 2);
    if (n > 1e6)
        return tails->normal;
    const double a = 1 / (n - 0.5), b = 48 / (a * a), c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
    const double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI_2) * n, y = pow(d * p, 2 / n);
    return sqrt(n * (y > 0.05 + a ? near_normal(-tails->normal, n, a, b, c, d) : far_from_normal(y, n, d)));
}

void spread_add(struct spread *spread, double value, double bar)
{
    const double distance = value - spread->mean, deviation = bar / five_in_100.normal;
    spread->runs++;
    spread->mean += distance / spread->runs;
    spread->squares += distance * (value - spread->mean);
    spread->within += deviation * deviation;
}

static double variance_of_runs(const struct spread *spread)
{
    return fmax(spread->squares / (spread->runs - 1), spread->within / spread->runs);
}

struct spread_mean spread_mean_of(const struct spread *spread)
{
    if (spread->runs < 2)
        return (struct spread_mean){spread->mean, spread->within, INFINITY};
    return (struct spread_mean){spread->mean, variance_of_runs(spread) / spread->runs, spread->runs - 1};
}

/* As much of its own variance as one of the other's runs. */
static struct spread_mean mean_beside(const struct spread *spread, const struct spread *other)
{
    if (spread->runs != 1 || other->runs < 2)
        return spread_mean_of(spread);
    return (struct spread_mean){spread->mean, fmax(variance_of_runs(other), spread->within), other->runs - 1};
}

void spread_pair_add(struct spread_pair *pair, double value, double bar)
{
    pair->change += value;
    pair->squared_bar += bar * bar;
}

struct spread spread_of_pairs(const struct spread_pair *pairs, size_t count)
{
    struct spread spread = {0};
    for (size_t i = 0; i < count; i++)
        spread_add(&spread, pairs[i].change, sqrt(pairs[i].squared_bar));
    return spread;
}

static double lost_freedom(const struct spread_mean *mean)
{
    return isinf(mean->degrees) ? 0 : mean->variance * mean->variance / mean->degrees;
}

struct spread_mean spread_difference(const struct spread *before, const struct spread *after)
{
    const struct spread_mean b = mean_beside(before, after), a = mean_beside(after, before);
    const double variance = a.variance + b.variance, lost = lost_freedom(&a) + lost_freedom(&b);
    return (struct spread_mean){a.value - b.value, variance,
                                lost > 0 ? variance * variance / lost : INFINITY};
}

double spread_bar(const struct spread_mean *mean)
{
    return student_quantile(&five_in_100, mean->degrees) * sqrt(mean->variance);
}

bool spread_is_above_zero(const struct spread_mean *mean)
{
    return mean->value > student_quantile(&two_in_100, mean->degrees) * sqrt(mean->variance);
}
