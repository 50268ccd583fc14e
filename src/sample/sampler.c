#include "sampler_internal.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"
#include "sig/ground/sig_unloads.h"
#include "sig/signal/sig_request.h"
#include "sig/signal/sig_setup.h"
#include "sig/walk/sig_walk_tables.h"
#include "sig/signal/sig_numbers.h"
#include "proc_tasks.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS_MIN = 64, SLOTS_MAX = 4096, SLOTS_PER_THREAD_A_TICK = 4, STACK_CACHE_MEMORY_SHARE = 16 };

/* An upper bound of the CPU time of a reply. */
static const uint64_t reply_cost_ns = 100 * NS_PER_US;

/*
 * For how long ticks without a sample are skipped; or for that part of a period, if it is longer. Threads
 * that begin meanwhile are scheduled only afterwards: their first sample stands for that time.
 */
static const uint64_t skip_ns = 50 * NS_PER_MS;
enum { SKIP_PERIOD_PARTS = 8 };

static const uint64_t publish_patience_ns = 2 * NS_PER_MS;
static const uint64_t modules_settle_ns = NS_PER_S / 2;

/* ---- life ---- */

static uint32_t slot_count(const struct sampler_options *options)
{
    uint32_t count = options->threads_per_tick * SLOTS_PER_THREAD_A_TICK;
    return count < SLOTS_MIN ? SLOTS_MIN : count > SLOTS_MAX ? SLOTS_MAX : count;
}

static int init_parts(struct sampler *sampler, const struct sampler_options *options,
                      const struct label_table *labels, uint64_t seed)
{
    struct account_options account = {.labels = labels,
                                      .period_ns = NS_PER_S / options->hz,
                                      .depth = options->depth,
                                      .cache_bytes = options->memory_bytes / STACK_CACHE_MEMORY_SHARE};
    int status = arena_init(&sampler->arena, options->memory_bytes);
    if (status == 0)
        status = tree_init(&sampler->tree, &sampler->arena);
    if (status == 0)
        status = schedule_init(&sampler->schedule, options->threads_per_tick, &sampler->random);
    if (status == 0)
        status = thread_scan_init(&sampler->thread_scan);
    if (status == 0)
        status = observe_init(&sampler->observer, slot_count(options), options->depth,
                              &sampler->account.stack_caches);
    if (status == 0 && options->timeline_bytes) {
        sampler->timeline = timeline_create(options->timeline_bytes, sampler->start_ns, seed);
        status = sampler->timeline ? 0 : -ENOMEM;
    }
    account.timeline = sampler->timeline;
    if (status == 0)
        status = account_init(&sampler->account, &sampler->tree, &sampler->modules, &account);
    return status;
}

int sampler_init(struct sampler *sampler, const struct sampler_options *options, struct threads *threads,
                 const struct label_table *labels, uint64_t start_ns, uint64_t seed)
{
    sampler->threads = threads;
    sampler->start_ns = start_ns;
    int status = init_parts(sampler, options, labels, seed);
    if (status < 0) {
        sampler_deinit(sampler);
        return status;
    }
    sampler->observer.by_signal_only = options->by_signal_only;
    uint64_t period_ns = sampler->account.fold.period_ns;
    random_init(&sampler->random, seed);
    tick_init(&sampler->tick, period_ns, start_ns, &sampler->random);
    overhead_limit_init(&sampler->overhead_limit, options->overhead_ppm, period_ns, SCHEDULE_LENGTH_MAX);
    return 0;
}

void sampler_inherit(struct sampler *sampler, const struct sampler *parent)
{
    overhead_group_join(&sampler->overhead_group, &parent->overhead_group);
    sampler->view = parent->view;
}

void sampler_deinit(struct sampler *sampler)
{
    account_deinit(&sampler->account);
    observe_deinit(&sampler->observer);
    thread_scan_deinit(&sampler->thread_scan);
    schedule_deinit(&sampler->schedule);
    modules_deinit(&sampler->modules);
    timeline_destroy(sampler->timeline);
    mapped_store_drop(&sampler->mapped_store);
    tree_deinit(&sampler->tree);
    arena_deinit(&sampler->arena);
}

void sampler_drop_descriptors(struct sampler *sampler)
{
    sampler->thread_scan.task_directory = -1;
    observe_drop_descriptors(&sampler->observer);
}

/* ---- the sampler thread ---- */

void sampler_close_directory(struct sampler *sampler)
{
    if (sampler->thread_scan.task_directory >= 0)
        close(sampler->thread_scan.task_directory);
    sampler_drop_descriptors(sampler);
}

static void open_directory(struct sampler *sampler, bool has_own_descriptors)
{
    thread_scan_open(&sampler->thread_scan);
    observe_enter(&sampler->observer, sampler->thread_scan.task_directory, has_own_descriptors,
                  &sampler->view);
}

int sampler_enter(struct sampler *sampler, bool has_own_descriptors)
{
    int status = modules_init(&sampler->modules, &sampler->arena);
    if (status < 0)
        return status;
    open_directory(sampler, has_own_descriptors);
    sampler_begin_arrived(sampler);
    while (thread_scan_start(&sampler->thread_scan, sampler->threads)) {
        sampler_begin_arrived(sampler);
        sampler_adopt_strangers(sampler);
    }
    if (!has_own_descriptors)
        sampler_close_directory(sampler);
    sampler->modules_changed = true;
    return 0;
}

int sampler_enter_at_end(struct sampler *sampler)
{
    sampler->modules.has_program_only = true;
    sampler_drop_descriptors(sampler);
    int status = modules_init(&sampler->modules, &sampler->arena);
    if (status == 0)
        sampler_begin_arrived(sampler);
    return status;
}

/* All descriptors, with those of each thread, are closed with the sampler thread's table. */
void sampler_pause(struct sampler *sampler)
{
    sampler->former_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    sampler_drop_descriptors(sampler);
}

void sampler_resume(struct sampler *sampler, bool has_own_descriptors)
{
    open_directory(sampler, has_own_descriptors);
    if (!has_own_descriptors)
        sampler_close_directory(sampler);
}

/* ---- modules ---- */

void sampler_refresh_modules(struct sampler *sampler)
{
    uint32_t ended = sig_unloads_read().ended;
    bool is_changed = modules_refresh(&sampler->modules);
    sampler->modules_changed |= is_changed;
    sampler->unloads_ended = ended;
    if (!is_changed)
        return;
    uint64_t now_ns = clock_monotonic_ns();
    sampler->modules_quiet_ns = now_ns + modules_settle_ns;
    account_modules_changed(&sampler->account, now_ns);
}

/* A table is built in memory that no handler uses any more: only after the one before has been taken over. */
void sampler_publish_modules(struct sampler *sampler)
{
    if (!sampler->pending_table && sampler->modules_changed) {
        sampler->pending_table = modules_table(&sampler->modules);
        sampler->pending_unloads_ended = sampler->unloads_ended;
        sampler->modules_changed = !sampler->pending_table;
    }
    if (sampler->pending_table &&
        sig_walk_tables_publish(sampler->pending_table, sampler->pending_unloads_ended,
                                clock_monotonic_ns() + publish_patience_ns))
        sampler->pending_table = NULL;
    if (!sampler->pending_table && !sampler->modules_changed)
        sig_walk_tables_confirm(sampler->unloads_ended);
}

bool sampler_is_deserted(const struct sampler *sampler)
{
    return sampler->was_left_silently && sampler->threads->live_count == 0 &&
           sig_load_seq_cst(&sampler->threads->registered) == 0;
}

/* ---- the tick ---- */

/* A reply costs a thread some CPU time too. This decides only how often it is sampled. */
static bool is_active(const struct observation *seen)
{
    return seen->sample.is_running ||
           seen->sample.cpu_clock_ns > seen->thread->fold.cpu_clock_ns + reply_cost_ns;
}

static void account_one(struct sampler *sampler, struct observation *seen)
{
    struct thread *thread = seen->thread;
    struct fold_observation *sample = &seen->sample;
    if (sampler->is_stopped || sample->time_ns < sampler->start_ns)
        return; /* requested before the recording was stopped, or began anew */
    sample->until_ns = schedule_stretch(&thread->schedule, &sample->time_ns);
    sample->until_tick = schedule_stretch_tick(&thread->schedule, sample->until_ns);
    schedule_seen(&sampler->schedule, &thread->schedule, is_active(seen));
    if (fold_has_stack(sample))
        sampler_refresh_modules(sampler); /* after the reply, as modules_at demands */
    account_sample(&sampler->account, &thread->fold, &thread->stack_cache, &seen->stack, sample);
    sampler->counters.truncated += seen->stack.is_truncated;
    sampler->counters.full_walks += seen->by_full_walk;
    sampler_show_thread(sampler, thread, sample->time_ns);
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

static void sample_threads(struct sampler *sampler, uint64_t now_ns)
{
    struct observation seen;
    struct schedule_thread *due;
    begin_tick(sampler, now_ns);
    while ((due = schedule_next(&sampler->schedule, clock_monotonic_ns()))) {
        struct thread *thread = thread_of(due);
        sampler->sample_count++;
        fold_stretch_ended(&thread->fold, due->begin_ns);
        if (observe_thread(&sampler->observer, thread, due->sample_ns, &seen))
            account_one(sampler, &seen);
    }
}

/* A thread that blocks the signal by a bare system call gets the spare one, unless it blocks that too. */
static void settle_signal(struct sampler *sampler)
{
    struct observer *observer = &sampler->observer;
    if (observer->is_held_back_below) {
        sampler->signals_taken |= sig_numbers_bit(sig_numbers_current());
        sig_numbers_ask_back(sig_numbers_current());
        observer->is_held_back_below = false;
    }
    sampler->signals_taken |= sig_setup_settle_numbers();
    observe_use_signal(observer, sig_numbers_current());
}

void sampler_send(struct sampler *sampler, uint64_t now_ns)
{
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
        .own_cpu_ns = cpu_ns + sampler->observer.replies_cpu_ns,
        .upkeep_cpu_ns = sampler->upkeep_cpu_ns,
        .program_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns,
        .samples_per_tick = schedule_samples_per_tick(&sampler->schedule),
        .processes = overhead_group_tell(&sampler->overhead_group, now_ns),
    };
    sampler->overhead_group_count = use.processes;
    overhead_limit_judge(limit, &use);
    sampler->schedule.spread = (uint32_t)(limit->period_ns * SCHEDULE_SPREAD_ONE / limit->requested_ns);
}
