/* A tick: whom it samples, what that costs, and how rare samples must be for it. */
#include "sampler_internal.h"
#include "base/clock.h"
#include "base/smaller.h"
#include "sig/signal/sig_numbers.h"
#include "sig/signal/sig_setup.h"

#include <stddef.h>

/* Of what is allowed, one of so many parts is for quiet threads in a crowd. */
enum { QUIET_PARTS = 10, QUIET_SAMPLES_PRICED = 256 };

/* An upper bound of the CPU time of a reply. */
static const uint64_t reply_cost_ns = 100 * NS_PER_US;

/* A thread that was set up and waits has run for less than that part of its life. */
enum { SET_UP_PARTS = 16 };

/* For how long threads that were not sampled yet are sampled at the end. */
static const uint64_t last_samples_ns = NS_PER_S / 5;

/*
 * For how long ticks without a sample are skipped; or for that part of a period, if it is longer. Threads
 * that begin meanwhile are scheduled only afterwards: their first sample stands for that time.
 */
static const uint64_t skip_ns = 50 * NS_PER_MS;
enum { SKIP_PERIOD_PARTS = 8 };

/* On a busy machine the sampler is late too, but hardly that late. */
static const uint64_t late_ns = 50 * NS_PER_MS;

/* By less it is always late. */
static const uint64_t delayed_ns = NS_PER_MS;

/* On a crowded machine all threads wait for a CPU alike, the sampler too: the moment at which it gets one is
 * as random as the one that was due. But a real-time thread of the program lets us run when it waits. */
static const uint64_t starved_ns = NS_PER_S;

/* ---- observations ---- */

/* Whether it has run since it was seen before, for longer than a reply takes. */
static bool has_run(const struct observation *seen)
{
    const struct fold_thread *before = &seen->thread->fold;
    uint64_t cpu_ns = since(before->cpu_clock_ns, seen->sample.cpu_clock_ns);
    uint64_t wall_ns = since(before->time_ns, seen->sample.time_ns);
    bool is_first = seen->thread->schedule.sampled == SCHEDULE_NEW; /* it had to be set up */
    return cpu_ns > reply_cost_ns && (!is_first || cpu_ns > wall_ns / SET_UP_PARTS);
}

/* A reply costs a thread some CPU time too. This decides only how often it is sampled. */
static enum schedule_kind kind_of(const struct observation *seen)
{
    const struct thread *thread = seen->thread;
    if (seen->sample.is_running || has_run(seen))
        return SCHEDULE_ACTIVE;
    bool is_expected_to_wait = seen->sample.is_unchanged || thread->schedule.sampled == SCHEDULE_NEW;
    return is_expected_to_wait && thread->remote.is_reference ? SCHEDULE_QUIET : SCHEDULE_IDLE;
}

static void account_one(struct sampler *sampler, struct observation *seen)
{
    struct thread *thread = seen->thread;
    struct fold_observation *sample = &seen->sample;
    if (seen->is_look)
        return sampler_take_blame(sampler, thread, seen);
    if (sampler->is_stopped || sample->time_ns < sampler->start_ns)
        return; /* requested before the recording was stopped, or began anew */
    sample->until_ns = schedule_stretch(&thread->schedule, &sample->time_ns);
    sample->until_tick = schedule_stretch_tick(&thread->schedule, sample->until_ns);
    schedule_seen(&sampler->schedule, &thread->schedule, kind_of(seen));
    if (fold_has_stack(sample))
        sampler_refresh_modules(sampler); /* after the reply, as modules_at demands */
    account_sample(&sampler->account, &thread->fold, &thread->stack_cache, &seen->stack, sample);
    sampler->counters.truncated += seen->stack.is_truncated;
    sampler->counters.full_walks += seen->by_full_walk;
    sampler_show_thread(sampler, thread, sample->time_ns);
    sampler_take_blame(sampler, thread, seen);
    sampler_blame(sampler, thread, &sample->wait);
}

bool sampler_awaits_replies(const struct sampler *sampler, uint64_t now_ns)
{
    return now_ns < sampler->modules_quiet_ns;
}

void sampler_collect(struct sampler *sampler, uint64_t now_ns)
{
    struct observation seen;
    while (observe_next(&sampler->observer, now_ns, &seen))
        account_one(sampler, &seen);
}

/* ---- gaps ---- */

void sampler_begin_wait(struct sampler *sampler)
{
    realtime_raise(&sampler->realtime, sampler->thread_scan.task_directory);
    gap_watch_begin(&sampler->gap_watch);
}

bool sampler_came_late(const struct sampler *sampler, uint64_t due_ns, uint64_t now_ns)
{
    return sampler->threads && !sampler->is_stopped && due_ns && now_ns > due_ns + delayed_ns;
}

/* No thread has begun in it: the stretches of those that begin after it begin there. */
static void add_gap(struct sampler *sampler, uint64_t begin_ns, uint64_t end_ns, enum gap_kind kind)
{
    gaps_add(&sampler->gaps, begin_ns, end_ns, kind);
    sampler->admitted_ns = end_ns;
}

/* A real-time thread took the CPU between the last tick and the one that was due: halfway, on average. */
static void note_starved(struct sampler *sampler, uint64_t due_ns, uint64_t now_ns)
{
    realtime_look(&sampler->realtime, sampler->threads, sampler->thread_scan.task_directory, now_ns);
    bool is_by_realtime = sampler->realtime.highest > 0;
    if (is_by_realtime)
        due_ns -= sampler->tick.period_ns / 2;
    if (is_by_realtime || now_ns > due_ns + starved_ns)
        add_gap(sampler, due_ns, now_ns, GAP_NOT_OBSERVED);
}

void sampler_note_gap(struct sampler *sampler, uint64_t due_ns, uint64_t now_ns, bool is_at_work)
{
    enum gap_cause cause = gap_watch_cause(&sampler->gap_watch, now_ns - due_ns);
    gap_watch_begin(&sampler->gap_watch);
    if (cause == GAP_CAUSE_STARVED)
        note_starved(sampler, due_ns, now_ns);
    else if (now_ns > due_ns + (is_at_work ? starved_ns : late_ns))
        add_gap(sampler, due_ns, now_ns,
                cause == GAP_CAUSE_STOPPED && !is_at_work && !sampler->target ? GAP_STOPPED
                                                                              : GAP_NOT_OBSERVED);
}

/* ---- ticks ---- */

static void begin_tick(struct sampler *sampler, uint64_t now_ns)
{
    schedule_tick(&sampler->schedule, now_ns);
    if (sampler->timeline)
        sampler->timeline->tick = sampler->schedule.tick;
}

/* Counts the skipped ticks that have come by now in the schedule. */
static void count_skipped_ticks(struct sampler *sampler, uint64_t now_ns)
{
    uint32_t past = 0;
    while (past < sampler->skipped && sampler->skipped_ns[past] <= now_ns)
        begin_tick(sampler, sampler->skipped_ns[past++]);
    sampler->counters.ticks += past;
    sampler->skipped = 0;
}

/*
 * A thread that left is ended only after it has been begun, and after its reply was taken. New threads are
 * scheduled with the ticks that were skipped since. Replies come after these ticks, because some are later
 * than the ticks and must not change the plan for them.
 */
void sampler_gather(struct sampler *sampler, uint64_t now_ns)
{
    struct thread *left = threads_take_left(sampler->threads);
    sampler_begin_arrived(sampler);
    count_skipped_ticks(sampler, now_ns);
    sampler_collect(sampler, now_ns);
    sampler_end_left(sampler, left);
}

static struct thread *thread_of(struct schedule_thread *due)
{
    return (struct thread *)((char *)due - offsetof(struct thread, schedule));
}

/* In a crowd quiet threads are paid for apart. Where nobody else is there, they are what samples are limited
 * for.
 */
static bool are_quiet_apart(const struct schedule *schedule)
{
    return schedule_is_crowded(schedule) &&
           schedule->count[SCHEDULE_ACTIVE] + schedule->count[SCHEDULE_IDLE] > 0;
}

/* The CPU time since the last call goes to where samples of such threads are paid from. */
static void charge(struct sampler *sampler, enum schedule_kind kind, uint64_t *since_ns)
{
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), spent_ns = cpu_ns - *since_ns;
    *since_ns = cpu_ns;
    if (kind == SCHEDULE_NEW)
        sampler->upkeep_cpu_ns += spent_ns;
    if (kind != SCHEDULE_QUIET)
        return;
    sampler->quiet.cpu_ns += spent_ns;
    if (are_quiet_apart(&sampler->schedule))
        sampler->quiet_cpu_ns += spent_ns;
}

static void count_sample(struct sampler *sampler, enum schedule_kind kind)
{
    sampler->quiet.samples += kind == SCHEDULE_QUIET;
    if (kind != SCHEDULE_NEW && (kind != SCHEDULE_QUIET || !are_quiet_apart(&sampler->schedule)))
        sampler->sample_count++;
}

static void sample_thread(struct sampler *sampler, struct schedule_thread *due)
{
    struct observation seen;
    struct thread *thread = thread_of(due);
    count_sample(sampler, due->sampled);
    fold_stretch_ended(&thread->fold, due->begin_ns);
    if (observe_thread(&sampler->observer, thread, due->sample_ns, &seen))
        account_one(sampler, &seen);
    if (sampler->observer.gone)
        thread_scan_suspect(&sampler->thread_scan, sampler->observer.gone);
    sampler->observer.gone = NULL;
}

/* The process may be stopped at any moment, between two threads too. *last_ns: when this was called last. */
static uint64_t time_at_work(struct sampler *sampler, uint64_t *last_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (sampler_came_late(sampler, *last_ns, now_ns))
        sampler_note_gap(sampler, *last_ns, now_ns, true);
    return *last_ns = now_ns;
}

/* What has been done of a tick. */
struct tick_work {
    enum schedule_kind kind; /* of the last thread sampled; SCHEDULE_KINDS before */
    uint64_t since_ns;       /* CPU time that has been charged */
    uint64_t at_ns;          /* the last moment at which the clock was read */
    uint64_t end_ns;         /* when threads that can wait are left to the next tick */
};

static void sample_turn(struct sampler *sampler, struct tick_work *work, enum schedule_turn turn)
{
    struct schedule_thread *due;
    while ((work->kind == SCHEDULE_ACTIVE || work->at_ns <= work->end_ns) &&
           (due = schedule_next(&sampler->schedule, turn, time_at_work(sampler, &work->at_ns))) != NULL) {
        enum schedule_kind next = due->sampled == SCHEDULE_IDLE ? SCHEDULE_ACTIVE : due->sampled;
        if (next != work->kind && work->kind != SCHEDULE_KINDS)
            charge(sampler, work->kind, &work->since_ns);
        work->kind = next;
        sample_thread(sampler, due);
    }
}

/* The newest are taken in right before, and come first (schedule.h). */
static void sample_newcomers(struct sampler *sampler, struct tick_work *work)
{
    uint64_t upkeep_ns = sampler->upkeep_cpu_ns, admitted_ns = clock_monotonic_ns();
    sampler_begin_arrived(sampler);
    work->since_ns += sampler->upkeep_cpu_ns - upkeep_ns;
    schedule_admit(&sampler->schedule, sampler->admitted_tick);
    sample_turn(sampler, work, SCHEDULE_TURN_FIRST);
    sampler->admitted_ns = admitted_ns;
    sampler->admitted_tick = sampler->schedule.tick;
}

/* A tick that is there only for quiet or new threads is charged to them as a whole: all since the last one.
 */
static void sample_threads(struct sampler *sampler, uint64_t now_ns)
{
    struct tick_work work = {.kind = SCHEDULE_KINDS,
                             .since_ns = sampler->charged_ns + sampler->upkeep_cpu_ns,
                             .at_ns = now_ns,
                             .end_ns = now_ns + sampler->tick.period_ns / 2};
    begin_tick(sampler, now_ns);
    waits_begin_tick(&sampler->waits, now_ns, sampler->thread_scan.task_directory >= 0);
    sampler->may_ask = true;
    sample_turn(sampler, &work, SCHEDULE_TURN_KNOWN);
    sample_newcomers(sampler, &work);
    sample_turn(sampler, &work, SCHEDULE_TURN_QUIET);
    charge(sampler, work.kind, &work.since_ns);
    sampler->may_ask = false;
    sampler_end_looks(sampler);
    sampler->charged_ns = work.since_ns - sampler->upkeep_cpu_ns;
}

void sampler_sample_last(struct sampler *sampler, uint64_t now_ns)
{
    struct observation seen;
    uint64_t end_ns = clock_monotonic_ns() + last_samples_ns;
    waits_begin_tick(&sampler->waits, now_ns, sampler->thread_scan.task_directory >= 0);
    for (uint32_t i = 0; i < sampler->threads->live_count && clock_monotonic_ns() < end_ns; i++) {
        struct thread *thread = sampler->threads->live[i];
        if (!sampler->is_stopped && thread->schedule.sample_ns == 0 &&
            observe_thread_outside(&sampler->observer, thread, now_ns, &seen))
            account_one(sampler, &seen);
    }
}

/* A thread that blocks the signal by a bare system call gets the spare one, unless it blocks that too. */
static void settle_signal(struct sampler *sampler)
{
    struct observer *observer = &sampler->observer;
    if (sampler->target)
        return;
    if (observer->is_held_back_below) {
        sampler->signals_taken |= sig_numbers_bit(sig_numbers_current());
        sig_numbers_ask_back(sig_numbers_current());
        observer->is_held_back_below = false;
    }
    sampler->signals_taken |= sig_setup_settle_numbers();
    observe_use_signal(observer, sig_numbers_current());
}

/* After sampler_show, as merge_ended.h demands. */
static void make_room(struct sampler *sampler)
{
    const struct merge_ended_recording recording = {&sampler->tree, &sampler->records, sampler->timeline};
    if (!merge_ended_is_due(&sampler->merge_ended, &recording))
        return;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    sampler->account.fold.pool = (struct claims_pool){0}; /* their trees are about to move */
    sampler_void_blame(sampler);
    merge_ended_slice(&sampler->merge_ended, &recording);
    sampler->upkeep_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

void sampler_send(struct sampler *sampler, uint64_t now_ns)
{
    sampler->next_tick_ns = now_ns;
    sampler_gather(sampler, now_ns);
    sampler_scan_threads(sampler, now_ns);
    sampler_refresh_modules(sampler);
    sampler_publish_modules(sampler);
    sampler->observer.snapshot = sampler->modules.now.number;
    settle_signal(sampler);
    account_note_late(&sampler->account, sampler->tick.late, now_ns);
    sample_threads(sampler, now_ns);
    sampler->counters.ticks++;
    sampler_show(sampler, now_ns);
    make_room(sampler);
}

void sampler_skip_ticks(struct sampler *sampler, uint64_t now_ns)
{
    uint32_t empty = schedule_empty_ticks(&sampler->schedule, SAMPLER_SKIPPED_MAX);
    uint64_t part_ns = sampler->overhead_limit.period_ns / SKIP_PERIOD_PARTS;
    uint64_t until_ns = now_ns + (part_ns > skip_ns ? part_ns : skip_ns);
    while (sampler->skipped < empty && sampler->tick.deadline_ns < until_ns) {
        sampler->skipped_ns[sampler->skipped++] = sampler->tick.deadline_ns;
        tick_advance(&sampler->tick, sampler->tick.deadline_ns, &sampler->random);
    }
    sampler->next_tick_ns = sampler->tick.deadline_ns;
}

/* What a sample costs is the mean of the last ones. */
static void set_quiet_rate(struct sampler *sampler)
{
    const struct overhead_limit *limit = &sampler->overhead_limit;
    if (sampler->quiet.samples < QUIET_SAMPLES_PRICED)
        return;
    double price_ns = (double)sampler->quiet.cpu_ns / (double)sampler->quiet.samples;
    double per_tick = limit->allowed * (double)limit->requested_ns / QUIET_PARTS / price_ns;
    double rate = per_tick * SCHEDULE_ONE_SAMPLE;
    sampler->schedule.quiet_per_tick = rate < 1 ? 1 : rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
    sampler->quiet.cpu_ns /= 2;
    sampler->quiet.samples /= 2;
}

static uint64_t program_cpu_ns(struct sampler *sampler, uint64_t own_ns, uint64_t now_ns)
{
    struct program_clock *clock = &sampler->program_clock;
    if (program_clock_is_due(clock, now_ns)) {
        const struct target *target = sampler->target;
        uint64_t process_ns =
            clock_read_ns(target ? clock_of_process(target->pid) : CLOCK_PROCESS_CPUTIME_ID);
        uint64_t took_ns = sampler->former_cpu_ns + clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
        program_clock_note(clock, now_ns, process_ns - (target ? 0 : own_ns), took_ns);
    }
    return program_clock_at(clock, now_ns);
}

void sampler_limit_overhead(struct sampler *sampler, uint64_t now_ns)
{
    struct overhead_limit *limit = &sampler->overhead_limit;
    if (!overhead_limit_is_due(limit, now_ns, sampler->sample_count))
        return;
    uint64_t cpu_ns = sampler->former_cpu_ns + clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    struct overhead_limit_use use = {
        .now_ns = now_ns,
        .samples = sampler->sample_count,
        .own_cpu_ns = cpu_ns + sampler->observer.replies_cpu_ns - sampler->upkeep_cpu_ns,
        .quiet_cpu_ns = sampler->quiet_cpu_ns,
        .program_cpu_ns = program_cpu_ns(sampler, cpu_ns, now_ns),
        .samples_per_tick = schedule_samples_per_tick(&sampler->schedule),
        .processes = overhead_group_tell(&sampler->overhead_group, now_ns),
    };
    sampler->overhead_group_count = use.processes;
    overhead_limit_judge(limit, &use);
    sampler->schedule.spread = (uint32_t)(limit->period_ns * SCHEDULE_SPREAD_ONE / limit->requested_ns);
    set_quiet_rate(sampler);
}
