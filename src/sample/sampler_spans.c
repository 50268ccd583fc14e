/* Spans of a recording: it is settled, stopped, goes on, begins anew and ends. */
#include "sampler_internal.h"
#include "account/short_lives.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"
#include "proc/proc_tasks.h"

#include <errno.h>
#include <string.h>

/* ---- settled ---- */

/* What a recording's end needs of a living thread. */
struct last_sample {
    uint64_t cpu_ns, delay_ns;
    enum fold_rest rest;
};

static struct last_sample sample_live(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    char name[THREAD_NAME_BYTES];
    struct last_sample last = {.cpu_ns = observe_cpu_clock(&sampler->observer, thread),
                               .delay_ns = sampler_delay_of(sampler, thread)};
    proc_tasks_name(sampler->thread_scan.task_directory, thread->tid, name, sizeof(name));
    if (thread_annotations_name(&thread->annotations, name) || *name)
        memcpy(thread->end_name, name, sizeof(name));
    bool is_where_it_was = observe_has_not_run(&sampler->observer, thread);
    last.rest = is_where_it_was ? FOLD_REST_UNCHANGED : sampler_rest_of(thread, now_ns);
    return last;
}

/* Which cgroup the process is in is known from its start, if descriptors could be used then. */
static void read_quota(struct sampler *sampler)
{
    sampler->throttled = cpu_quota_since(&sampler->quota_before);
    if (mapped_store_is_kept(&sampler->mapped_store)) {
        sampler->mapped_store.header->throttled_count = sampler->throttled.throttled_count;
        sampler->mapped_store.header->throttled_ns = sampler->throttled.throttled_ns;
    }
}

static void settle_live(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    uint64_t end_ns = sig_load_acquire(&thread->end_ns); /* partner: the release in threads_leave */
    if (end_ns != 0 && end_ns < now_ns)
        now_ns = end_ns; /* it has left just now */
    struct last_sample last = sample_live(sampler, thread, now_ns);
    uint64_t stretch_end_ns = schedule_until(&sampler->schedule, &thread->schedule);
    const struct fold_clocks now = {now_ns, last.cpu_ns, last.delay_ns};
    thread->fold.group = claims_group(thread->end_name);
    fold_thread_settle(&sampler->account.fold, &thread->fold, stretch_end_ns, &now, last.rest);
    sampler_record_end(sampler, thread, now_ns);
    sampler_show_thread(sampler, thread, now_ns);
}

/* Opens /proc for the threads' names. Returns whether it was open already. */
static bool open_for_names(struct sampler *sampler)
{
    bool was_open = sampler->thread_scan.task_directory >= 0;
    if (!was_open)
        sampler->thread_scan.task_directory =
            proc_tasks_open(sampler->target ? sampler->target->directory : -1);
    return was_open;
}

/* A mapped store's header must know all lists, as merge_ended.h demands. */
static void settle_lives(struct sampler *sampler, uint64_t now_ns)
{
    const struct merge_ended_recording recording = {&sampler->tree, &sampler->records, sampler->timeline};
    sampler_show(sampler, now_ns);
    sampler_void_blame(sampler);
    if (merge_ended_for_lives(&sampler->merge_ended, &recording))
        sampler->account.fold.pool = (struct claims_pool){0};
    short_lives_settle(&sampler->tree, sampler->records.newest, sampler_knows_delay(sampler));
}

void sampler_settle(struct sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_refresh_modules(sampler);
    bool was_open = open_for_names(sampler);
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        settle_live(sampler, sampler->threads->live[i], now_ns);
    settle_lives(sampler, now_ns);
    if (sampler->has_quota)
        read_quota(sampler);
    if (!was_open)
        sampler_close_descriptors(sampler);
    sampler_count_up(sampler);
}

/* ---- stopped ---- */

void sampler_stop(struct sampler *sampler, uint64_t now_ns)
{
    tick_count_due(&sampler->tick, now_ns);
    sampler_settle(sampler, now_ns);
    for (uint32_t i = 0; i < sampler->threads->live_count; i++) {
        struct thread *thread = sampler->threads->live[i];
        if (sampler->timeline)
            timeline_end(sampler->timeline, &thread->fold.timeline);
        schedule_remove(&sampler->schedule, &thread->schedule);
    }
    schedule_begin_anew(&sampler->schedule);
    observe_cancel(&sampler->observer);
    sampler_end_looks(sampler);
    sampler->skipped = 0;
    sampler->is_stopped = true;
    sampler->stop_ns = now_ns;
    sampler_show(sampler, now_ns);
    mapped_store_stop(&sampler->mapped_store);
}

void sampler_idle(struct sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_scan_threads(sampler, now_ns);
}

/* ---- going on ---- */

/* Its CPU clock; if it has just left, as it read it then. */
static uint64_t cpu_clock_of(struct sampler *sampler, struct thread *thread)
{
    uint64_t cpu_ns = observe_cpu_clock(&sampler->observer, thread);
    if (cpu_ns == 0 && sig_load_acquire(&thread->end_ns) != 0) /* partner: the release in threads_leave */
        cpu_ns = thread->end_cpu_ns;
    return cpu_ns;
}

static void resume_thread(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    const struct fold_clocks now = {now_ns, cpu_clock_of(sampler, thread), sampler_delay_of(sampler, thread)};
    if (thread->fold.root) {
        fold_thread_skip(&thread->fold, &now);
        sampler_show_thread(sampler, thread, now_ns);
        sampler_schedule(sampler, thread, now_ns);
        return;
    }
    thread->recorded_number = 0;
    sampler_record(sampler, thread, &now);
}

void sampler_start(struct sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler->start_ns = sampler->admitted_ns = now_ns;
    sampler->is_stopped = false;
    mapped_store_skip(&sampler->mapped_store, now_ns - sampler->stop_ns);
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        resume_thread(sampler, sampler->threads->live[i], now_ns);
    tick_restart(&sampler->tick, now_ns, &sampler->random);
}

/* ---- anew ---- */

bool sampler_let_go(struct sampler *sampler)
{
    sampler_publish_modules(sampler);
    if (sampler->pending_table)
        return false;
    if (!sampler->modules.has_no_search_tables) {
        modules_drop_search_tables(&sampler->modules);
        sampler->modules_changed = true;
        sampler_publish_modules(sampler);
    }
    return !sampler->pending_table && !sampler->modules_changed;
}

static void count_anew(struct sampler *sampler, uint64_t now_ns)
{
    const struct counters *counters = &sampler->counters;
    struct counters *before = &sampler->counted_before;
    before->late_ticks += counters->late_ticks;
    before->stopped_ns += counters->stopped_ns;
    before->unobserved_ns += counters->unobserved_ns;
    before->stray += counters->stray;
    before->handler_cpu_ns += counters->handler_cpu_ns;
    before->sampler_cpu_ns += counters->sampler_cpu_ns;
    sampler->counters = (struct counters){0};
    sampler->account.fold.samples = 0;
    sampler->interp.counts = (struct interp_counts){0};
    sampler->account.fold.pool = (struct claims_pool){0};
    memset(&sampler->observer.made, 0, sizeof(sampler->observer.made));
    overhead_limit_describe_from(&sampler->overhead_limit, now_ns);
}

/* No reference into the arena is left. Nor is it known where the thread was seen last. */
static void forget_thread(struct thread *thread)
{
    thread->remote.is_reference = false;
    thread->record = 0;
    thread->holder.label = 0;
    thread->fold.root = thread->fold.node = thread->fold.credited = thread->fold.waiting = 0;
    thread->fold.changes = (struct changes_thread){.last = {.node = 0}};
    thread->fold.blame = (struct fold_blame){.node = 0};
    thread->look.memory.is_reference = false;
    thread->look.node = 0;
    if (thread->stack_cache)
        thread->stack_cache->walks = 0;
}

static void begin_thread_anew(struct sampler *sampler, struct thread *thread)
{
    const struct fold_thread *fold = &thread->fold;
    const struct fold_clocks now = {fold->time_ns, fold->cpu_clock_ns, fold->delay_clock_ns};
    forget_thread(thread);
    if (sampler->is_stopped)
        return;
    thread->recorded_number = 0;
    sampler_record(sampler, thread, &now);
}

static void schedule_anew(struct sampler *sampler)
{
    for (uint32_t i = 0; !sampler->is_stopped && i < sampler->threads->live_count; i++)
        schedule_remove(&sampler->schedule, &sampler->threads->live[i]->schedule);
    schedule_begin_anew(&sampler->schedule);
}

int sampler_begin_anew(struct sampler *sampler, uint64_t now_ns)
{
    struct modules_saved kept;
    if (mapped_store_is_kept(&sampler->mapped_store)) /* the arena is the file, which must stay whole */
        return -EBUSY;
    int status = modules_save_records(&sampler->modules, &kept);
    if (status < 0)
        return status;
    observe_cancel(&sampler->observer);
    locate_forget(&sampler->account.locate);
    interp_forget(&sampler->interp);
    waits_forget(&sampler->waits);
    sampler->blames.count = 0;
    sampler->deadlock_notes = 0;
    arena_clear(&sampler->arena);
    tree_clear(&sampler->tree);
    modules_restore_records(&sampler->modules, &kept);
    sampler_find_interp(sampler);
    sampler->modules_changed = true; /* so that handlers get search tables again */
    if (sampler->timeline)
        timeline_clear(sampler->timeline, now_ns);
    sampler->records = (struct thread_records){0};
    sampler->merge_ended = (struct merge_ended){0};
    sampler->free_state = 0;
    count_anew(sampler, now_ns);
    if (!sampler->is_stopped)
        sampler->start_ns = now_ns;
    schedule_anew(sampler);
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        begin_thread_anew(sampler, sampler->threads->live[i]);
    sampler_publish_modules(sampler);
    return 0;
}

/* ---- the end ---- */

static void close_live(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    if (!sampler->is_stopped) /* else it was settled then */
        settle_live(sampler, thread, now_ns);
    sampler_end_settled(sampler, thread, now_ns);
}

void sampler_close(struct sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_refresh_modules(sampler);
    overhead_group_leave(&sampler->overhead_group);
    sampler_sample_last(sampler, now_ns);
    if (!sampler->is_stopped)
        tick_count_due(&sampler->tick, now_ns);
    open_for_names(sampler);
    while (sampler->threads->live_count > 0)
        close_live(sampler, sampler->threads->live[sampler->threads->live_count - 1], now_ns);
    settle_lives(sampler, now_ns);
    if (sampler->has_quota)
        read_quota(sampler);
    sampler_close_descriptors(sampler); /* under a small limit of open files the writers need their numbers */
    sampler_count_up(sampler);
}
