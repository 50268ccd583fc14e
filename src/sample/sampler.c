#include "sampler_internal.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS_MIN = 256, SLOTS_MAX = 4096, SLOTS_PER_THREAD_A_TICK = 4, STACK_CACHE_MEMORY_SHARE = 16 };

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
                                      .interp = &sampler->interp,
                                      .period_ns = NS_PER_S / options->hz,
                                      .depth = options->depth,
                                      .cache_bytes = options->memory_bytes / STACK_CACHE_MEMORY_SHARE};
    int status = arena_init(&sampler->arena, options->memory_bytes);
    if (status == 0)
        status = tree_init(&sampler->tree, &sampler->arena);
    interp_init(&sampler->interp, options->interp, &sampler->tree, &sampler->modules);
    waits_init(&sampler->waits, &sampler->tree, &sampler->modules, sampler_find_holder, sampler);
    if (status == 0)
        status =
            schedule_init(&sampler->schedule, options->threads_per_tick, account.period_ns, &sampler->random);
    if (status == 0)
        status = thread_scan_init(&sampler->thread_scan);
    if (status == 0)
        status = observe_init(&sampler->observer, slot_count(options), options->depth,
                              &sampler->account.stack_caches);
    sampler->observer.remote.waits = &sampler->waits;
    if (status == 0 && options->timeline_bytes) {
        sampler->timeline = timeline_create(options->timeline_bytes, sampler->start_ns, seed);
        status = sampler->timeline ? 0 : -ENOMEM;
    }
    account.timeline = sampler->timeline;
    if (status == 0)
        status = account_init(&sampler->account, &sampler->tree, &sampler->modules, &account);
    sampler->account.fold.gaps = &sampler->gaps;
    return status;
}

int sampler_init(struct sampler *sampler, const struct sampler_options *options, struct threads *threads,
                 const struct label_table *labels, uint64_t start_ns, uint64_t seed)
{
    sampler->threads = threads;
    sampler->start_ns = start_ns;
    sampler->target = sampler->modules.target = options->target;
    if (options->target)
        sampler->view = THREAD_STAT_VIEW_OURS;
    int status = init_parts(sampler, options, labels, seed);
    if (status < 0) {
        sampler_deinit(sampler);
        return status;
    }
    sampler->observer.by_signal_only = options->by_signal_only;
    sampler->observer.target = options->target;
    sampler->waits.has_other_ids = options->target && options->target->has_other_ids;
    uint64_t period_ns = sampler->account.fold.period_ns;
    random_init(&sampler->random, seed);
    sampler->admitted_ns = start_ns;
    tick_init(&sampler->tick, period_ns, start_ns, &sampler->random);
    overhead_limit_init(&sampler->overhead_limit, options->overhead_ppm, period_ns, SCHEDULE_LENGTH_MAX);
    if (options->overhead_ppm == 0)
        sampler->schedule.quiet_per_tick = options->threads_per_tick * SCHEDULE_ONE_SAMPLE;
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
    interp_deinit(&sampler->interp);
    waits_deinit(&sampler->waits);
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
    gap_watch_drop(&sampler->gap_watch);
    observe_drop_descriptors(&sampler->observer);
}

/* ---- the sampler thread ---- */

static void close_open(int fd)
{
    if (fd > 0)
        close(fd);
}

void sampler_close_descriptors(struct sampler *sampler)
{
    close_open(sampler->thread_scan.task_directory);
    close_open(sampler->gap_watch.fd);
    close_open(sampler->observer.remote.copy.mem_descriptor);
    sampler_drop_descriptors(sampler);
}

static void open_directory(struct sampler *sampler, bool has_own_descriptors)
{
    thread_scan_open(&sampler->thread_scan, sampler->target);
    gap_watch_enter(&sampler->gap_watch, has_own_descriptors);
    observe_enter(&sampler->observer, sampler->thread_scan.task_directory, has_own_descriptors,
                  &sampler->view);
}

int sampler_enter(struct sampler *sampler, bool has_own_descriptors)
{
    int status = modules_init(&sampler->modules, &sampler->arena);
    if (status < 0)
        return status;
    sampler_find_interp(sampler);
    open_directory(sampler, has_own_descriptors);
    sampler->has_quota = has_own_descriptors && !sampler->target; /* that of its cgroup is not looked at */
    if (sampler->has_quota)
        sampler->quota_before = cpu_quota_read();
    sampler_begin_arrived(sampler);
    while (thread_scan_start(&sampler->thread_scan, sampler->threads)) {
        sampler_begin_arrived(sampler);
        sampler_adopt_strangers(sampler);
    }
    if (!has_own_descriptors)
        sampler_close_descriptors(sampler);
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
        sampler_close_descriptors(sampler);
}

bool sampler_is_deserted(const struct sampler *sampler)
{
    return sampler->was_left_silently && sampler->threads->live_count == 0 &&
           sig_load_seq_cst(&sampler->threads->registered) == 0;
}
