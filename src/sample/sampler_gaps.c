/* Gaps: the sampler has come so late that nobody could be observed. */
#include "base/clock.h"
#include "sampler_internal.h"

/* On a busy machine the sampler is late too, but hardly that late. */
static const uint64_t late_ns = 50 * NS_PER_MS;

/* By less it is always late. */
static const uint64_t delayed_ns = NS_PER_MS;

/* On a crowded machine all threads wait for a CPU alike, the sampler too: the moment at which it gets one is
 * as random as the one that was due. But a real-time thread of the program lets us run when it waits. */
static const uint64_t starved_ns = NS_PER_S;

void sampler_begin_wait(struct sampler *sampler)
{
    realtime_raise(&sampler->realtime, sampler->thread_scan.task_directory);
    gap_watch_begin(&sampler->gap_watch);
}

bool sampler_came_late(const struct sampler *sampler, uint64_t due_ns, uint64_t now_ns)
{
    return sampler->threads && !sampler->is_stopped && due_ns && now_ns > due_ns + delayed_ns;
}

/* A real-time thread took the CPU between the last tick and the one that was due: halfway, on average. */
static void note_starved(struct sampler *sampler, uint64_t due_ns, uint64_t now_ns)
{
    realtime_look(&sampler->realtime, sampler->threads, sampler->thread_scan.task_directory, now_ns);
    bool is_by_realtime = sampler->realtime.highest > 0;
    if (is_by_realtime)
        due_ns -= sampler->tick.period_ns / 2;
    if (is_by_realtime || now_ns > due_ns + starved_ns)
        gaps_add(&sampler->gaps, due_ns, now_ns, GAP_NOT_OBSERVED);
}

void sampler_note_gap(struct sampler *sampler, uint64_t due_ns, uint64_t now_ns)
{
    enum gap_cause cause = gap_watch_cause(&sampler->gap_watch, now_ns - due_ns);
    gap_watch_begin(&sampler->gap_watch);
    if (cause == GAP_CAUSE_STARVED)
        note_starved(sampler, due_ns, now_ns);
    else if (now_ns > due_ns + late_ns)
        gaps_add(&sampler->gaps, due_ns, now_ns, cause == GAP_CAUSE_STOPPED ? GAP_STOPPED : GAP_NOT_OBSERVED);
}
