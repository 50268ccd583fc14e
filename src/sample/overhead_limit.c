/* See overhead_limit.h for the rules. All amounts are of CPU time, in ns, and of one window. */
#include "overhead_limit.h"
#include "base/smaller.h"
#include "base/clock.h"

#include <stdio.h>

/*
 * A window is long enough for samples that differ in price, and for the kernel, which updates the clocks of
 * other running threads only every 1 to 10 ms. With many samples a shorter one does: a high first price must
 * not last. With rare samples each ends a window.
 */
static const uint64_t window_ns = 250 * NS_PER_MS;
static const uint64_t short_window_ns = 25 * NS_PER_MS;
enum { SHORT_WINDOW_TICKS = 25 };

/* One sample says little about the price: those of so many ticks before the window count too. */
enum { TICKS_REMEMBERED = 4 };

static const uint64_t period_max_ns = 10 * (uint64_t)NS_PER_S;

/* Several windows, however long these are, so that no correction exceeds its cause. */
static const uint64_t horizon_min_ns = 4 * (uint64_t)NS_PER_S;
enum { HORIZON_PERIODS = 4, DEBT_HORIZONS_MAX = 8 };
static const double saved_horizons_max = 0.25;
static const double least_spendable = 0.5; /* of the income */

/*
 * The kernel's time for a signal and the return from it. Measured on a shared virtual machine (Linux 6.18): 9
 * to 12 us in a running thread, 5 to 20 us in a waiting one; less where an interrupt needs no hypervisor.
 */
static const uint64_t delivery_ns = 10 * NS_PER_US;
static const uint64_t walk_max_ns = 50 * NS_PER_US;
static const uint64_t frame_max_ns =
    2 * NS_PER_US; /* with its rule computed, from tables that the kernel copies */

struct window {
    uint64_t wall_ns, samples;
    uint64_t used_ns, quiet_ns;
    double income_ns;
    double per_horizon; /* its share of the horizon */
};

void overhead_limit_init(struct overhead_limit *limit, uint32_t limit_ppm, uint64_t requested_ns,
                         uint32_t longest)
{
    *limit = (struct overhead_limit){.limit_ppm = limit_ppm,
                                     .requested_ns = requested_ns,
                                     .longest_ns = requested_ns * longest,
                                     .period_ns = requested_ns};
    if (limit->longest_ns > period_max_ns)
        limit->longest_ns = period_max_ns;
}

bool overhead_limit_is_due(const struct overhead_limit *limit, uint64_t now_ns, uint64_t samples)
{
    if (!limit->has_begun)
        return limit->limit_ppm != 0;
    uint64_t passed_ns = now_ns - limit->at.now_ns, made = samples - limit->at.samples;
    return (passed_ns >= window_ns && made > 0) ||
           (passed_ns >= short_window_ns && made >= limit->at.samples_per_tick * SHORT_WINDOW_TICKS);
}

static struct window window_of(const struct overhead_limit *limit, const struct overhead_limit_use *use)
{
    const struct overhead_limit_use *begin = &limit->at;
    struct window window = {.wall_ns = since(begin->now_ns, use->now_ns),
                            .samples = since(begin->samples, use->samples),
                            .used_ns = since(begin->own_cpu_ns, use->own_cpu_ns),
                            .quiet_ns = since(begin->quiet_cpu_ns, use->quiet_cpu_ns)};
    uint64_t program_ns = since(begin->program_cpu_ns, use->program_cpu_ns);
    uint64_t core_ns = window.wall_ns / use->processes;
    uint64_t base_ns = program_ns > core_ns ? program_ns : core_ns;
    uint64_t horizon_ns = horizon_min_ns + HORIZON_PERIODS * limit->period_ns;
    window.income_ns = (double)base_ns * limit->limit_ppm / 1e6;
    window.per_horizon = (double)window.wall_ns / (double)horizon_ns;
    return window;
}

static void settle_account(struct overhead_limit *limit, const struct window *window)
{
    double horizon_income_ns = window->income_ns / window->per_horizon;
    double account_ns = (double)limit->account_ns + window->income_ns - (double)window->used_ns;
    double most_ns = horizon_income_ns * saved_horizons_max,
           least_ns = -horizon_income_ns * DEBT_HORIZONS_MAX;
    limit->account_ns = (int64_t)(account_ns > most_ns    ? most_ns
                                  : account_ns < least_ns ? least_ns
                                                          : account_ns);
}

static double price_of_sample(struct overhead_limit *limit, const struct window *window)
{
    uint64_t most = (uint64_t)limit->at.samples_per_tick * TICKS_REMEMBERED;
    if (limit->priced_samples > most) {
        limit->priced_ns = limit->priced_ns * most / limit->priced_samples;
        limit->priced_samples = most;
    }
    limit->priced_ns += since(window->quiet_ns, window->used_ns);
    limit->priced_samples += window->samples;
    return (double)limit->priced_ns / (double)limit->priced_samples;
}

static double spendable(const struct overhead_limit *limit, const struct window *window)
{
    double least_ns = window->income_ns * least_spendable;
    double spendable_ns =
        window->income_ns - (double)window->quiet_ns + (double)limit->account_ns * window->per_horizon;
    return spendable_ns > least_ns ? spendable_ns : least_ns;
}

static uint64_t bounded(const struct overhead_limit *limit, double period_ns)
{
    uint64_t least_ns = limit->period_ns / 2;
    if (period_ns >= (double)limit->longest_ns)
        return limit->longest_ns;
    if (least_ns < limit->requested_ns)
        least_ns = limit->requested_ns;
    return period_ns > (double)least_ns ? (uint64_t)period_ns : least_ns;
}

/* The part of the passed time for which ticks were left out. */
static double left_out_ns(const struct overhead_limit *limit, uint64_t passed_ns)
{
    return (double)passed_ns * (1 - (double)limit->requested_ns / (double)limit->period_ns);
}

void overhead_limit_judge(struct overhead_limit *limit, const struct overhead_limit_use *use)
{
    struct window window = window_of(limit, use);
    bool is_first = !limit->has_begun;
    limit->at = *use;
    limit->has_begun = true;
    if (is_first || !window.wall_ns || !window.samples)
        return;
    limit->left_out_ns += left_out_ns(limit, window.wall_ns);
    limit->allowed = window.income_ns / (double)window.wall_ns;
    settle_account(limit, &window);
    double tick_price_ns = price_of_sample(limit, &window) * use->samples_per_tick;
    limit->period_ns = bounded(limit, tick_price_ns * (double)window.wall_ns / spendable(limit, &window));
    limit->has_limited |= limit->period_ns > limit->requested_ns;
}

uint64_t overhead_limit_reply_ns(uint64_t took_ns, uint32_t depth)
{
    uint64_t most_ns = walk_max_ns + depth * frame_max_ns;
    return delivery_ns + (took_ns < most_ns ? took_ns : most_ns);
}

void overhead_limit_describe(const struct overhead_limit *limit, uint64_t start_ns, uint64_t end_ns,
                             char ret[OVERHEAD_LIMIT_TEXT_BYTES])
{
    *ret = '\0';
    if (!limit->has_limited)
        return;
    double saved_ns = limit->left_out_ns + left_out_ns(limit, since(limit->at.now_ns, end_ns));
    double share = 1 - saved_ns / (double)(end_ns - start_ns);
    snprintf(ret, OVERHEAD_LIMIT_TEXT_BYTES,
             "restrained to %g %% of the program's CPU time: as with %.4g ticks a second on average; "
             "WALLPROF_OVERHEAD=off keeps the rate",
             limit->limit_ppm / 1e4, share * NS_PER_S / (double)limit->requested_ns);
}

void overhead_limit_describe_from(struct overhead_limit *limit, uint64_t now_ns)
{
    limit->has_limited = limit->period_ns > limit->requested_ns;
    limit->left_out_ns = -left_out_ns(limit, since(limit->at.now_ns, now_ns));
}
