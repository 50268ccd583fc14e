/* Threads that come and go: their records, and those that no hook has seen. */
#include "sampler_internal.h"
#include "base/clock.h"
#include "base/smaller.h"
#include "sig/sys/sig_atomic.h"
#include "proc/proc_tasks.h"

#include <string.h>

static void add_record(struct sampler *sampler, const struct thread *thread, arena_ref root,
                       uint64_t start_ns)
{
    struct thread_record *record = sampler_record_of(sampler, thread);
    if (!record)
        return;
    record->root = root;
    record->tid = thread->tid;
    record->start_ns = start_ns;
    thread_records_link(&sampler->records, &sampler->arena, thread->record);
}

void sampler_record_end(struct sampler *sampler, const struct thread *thread, uint64_t end_ns)
{
    struct thread_record *record = sampler_record_of(sampler, thread);
    if (!record)
        return;
    record->end_ns = end_ns;
    memcpy(record->name, thread->end_name, sizeof(record->name));
}

static void count_ended(struct sampler *sampler, const struct thread *thread)
{
    struct thread_record *record = sampler_record_of(sampler, thread);
    const struct fold_thread *fold = &thread->fold;
    if (record)
        thread_records_end(&sampler->records, record, fold->time_ns - fold->begin_ns,
                           fold->cpu_clock_ns - fold->begin_cpu_clock_ns);
}

/* When the last sample's stretch has ended, or will end: ticks are a period apart on average. */
static uint64_t stretch_end(const struct sampler *sampler, const struct thread *thread)
{
    const struct schedule *schedule = &sampler->schedule;
    uint64_t until_ns = schedule_until(schedule, &thread->schedule);
    if (until_ns != UINT64_MAX)
        return until_ns;
    uint64_t ticks = thread->schedule.begin - schedule->tick;
    return sampler->next_tick_ns + (ticks - 1) * sampler->account.fold.period_ns;
}

static void end_life(struct sampler *sampler, struct thread *thread, const struct fold_clocks *end,
                     enum fold_rest rest)
{
    struct thread_record *record = sampler_record_of(sampler, thread);
    thread->fold.group = claims_group(thread->end_name);
    fold_stretch_ended(&thread->fold, stretch_end(sampler, thread));
    struct values unsettled = fold_life_end(&sampler->account.fold, &thread->fold, end, rest);
    if (record)
        record->unsettled = unsettled;
}

void sampler_end_settled(struct sampler *sampler, struct thread *thread, uint64_t end_ns)
{
    sampler_end_blame(sampler, thread);
    thread_scan_forget(&sampler->thread_scan, thread, end_ns);
    observe_forget(&sampler->observer, thread);
    if (!sampler->is_stopped) {
        schedule_remove(&sampler->schedule, &thread->schedule);
        if (sampler->timeline)
            timeline_end(sampler->timeline, &thread->fold.timeline);
    }
    sampler_show_end(sampler, thread);
    sampler_record_end(sampler, thread, end_ns);
    count_ended(sampler, thread);
    threads_remove(sampler->threads, thread);
    threads_release(sampler->threads, thread);
}

static void end_thread(struct sampler *sampler, struct thread *thread, const struct fold_clocks *end,
                       enum fold_rest rest)
{
    if (thread->live_index == THREAD_NOT_LIVE) {
        thread_scan_forget(&sampler->thread_scan, thread, end->time_ns);
        threads_release(sampler->threads, thread);
        return;
    }
    if (!sampler->is_stopped)
        end_life(sampler, thread, end, rest);
    sampler_end_settled(sampler, thread, end->time_ns);
}

/* No hook has reported its end. It was alive at the last sample. */
static void end_gone(struct sampler *sampler, struct thread *thread, uint64_t end_ns)
{
    if (!thread->is_foreign)
        threads_uncount(sampler->threads, thread);
    sampler->was_left_silently |= !thread->is_foreign;
    const struct fold_clocks end = {end_ns, thread->fold.cpu_clock_ns, FOLD_NO_DELAY};
    end_thread(sampler, thread, &end, FOLD_REST_UNSAMPLED);
}

void sampler_schedule(struct sampler *sampler, struct thread *thread, uint64_t start_ns)
{
    schedule_add(&sampler->schedule, &thread->schedule);
    for (uint32_t i = 0; i < sampler->skipped; i++)
        thread->schedule.begin += sampler->skipped_ns[i] > start_ns;
    timeline_begin(&thread->fold.timeline, thread->recorded_number, thread->schedule.begin);
}

void sampler_record(struct sampler *sampler, struct thread *thread, const struct fold_clocks *start)
{
    thread->record = thread_records_take(&sampler->records, &sampler->arena, &thread->recorded_number);
    arena_ref root = tree_root(&sampler->tree, thread->recorded_number);
    add_record(sampler, thread, root, start->time_ns);
    fold_thread_begin(&thread->fold, root, start);
    sampler_schedule(sampler, thread, start->time_ns);
    sampler_show_thread(sampler, thread, start->time_ns);
}

uint64_t sampler_delay_of(struct sampler *sampler, struct thread *thread)
{
    return remote_sample_delay(&sampler->observer.remote, thread->tid, &thread->stat);
}

/* ---- threads that begin ---- */

/* When the first stretch of a thread begins that has begun since the last tick (schedule.h). */
static uint64_t first_stretch_ns(const struct sampler *sampler, uint64_t start_ns)
{
    uint64_t seen_ns = sampler->next_tick_ns;
    for (uint32_t i = sampler->skipped; i-- > 0 && sampler->skipped_ns[i] > start_ns;)
        seen_ns = sampler->skipped_ns[i];
    return sampler->admitted_ns + since(seen_ns, sampler->next_tick_ns);
}

/* A tid that has another one's lowest bits only counts as shared too. */
static bool take_tid(struct sampler *sampler, pid_t tid)
{
    const uint32_t bit = (uint32_t)tid % SAMPLER_TIDS_KEPT;
    uint8_t *byte = &sampler->tids_used[bit / 8], mask = (uint8_t)(1 << bit % 8);
    const bool was_used = *byte & mask;
    *byte |= mask;
    return was_used;
}

static void begin_thread(struct sampler *sampler, struct thread *thread)
{
    thread->holder.shares_tid = take_tid(sampler, thread->tid);
    bool has_left = sampler->is_stopped &&
                    sig_load_acquire(&thread->end_ns) != 0; /* partner: the release in threads_leave */
    if (has_left || threads_add(sampler->threads, thread) < 0) {
        thread->live_index =
            THREAD_NOT_LIVE; /* it has left, or there is no memory for the array: not recorded */
        return;
    }
    observe_begin(&sampler->observer, thread);
    if (thread->start_ns < sampler->start_ns)
        thread->start_ns = sampler->start_ns;
    if (sampler->is_stopped)
        return;
    /* One that has used CPU time before has also waited before. */
    uint64_t delay_ns = thread->start_cpu_ns ? sampler_delay_of(sampler, thread) : 0;
    sampler_record(sampler, thread, &(struct fold_clocks){thread->start_ns, thread->start_cpu_ns, delay_ns});
    if (thread->start_ns > sampler->start_ns)
        fold_first_stretch(&thread->fold, first_stretch_ns(sampler, thread->start_ns));
}

/* Numbers a list of threads, newest first, in the order of registration. The newest get numbers that serve
 * again, when they are recorded. */
static void number_arrived(struct sampler *sampler, struct thread *newest)
{
    struct thread_records *records = &sampler->records;
    uint32_t count = 0;
    for (struct thread *thread = newest; thread; thread = thread->next_arrived)
        count++;
    uint32_t fresh = thread_records_new_numbers(records, count);
    records->number_count += fresh;
    for (uint32_t number = records->number_count + count - fresh; newest;
         newest = newest->next_arrived, number--)
        newest->recorded_number = number <= records->number_count ? number : 0;
}

/* Two threads cannot have one tid at once: the earlier one has ended without a hook. The list begins with the
 * last to arrive; an earlier thread in it with the same tid may have left meanwhile. */
void sampler_begin_arrived(struct sampler *sampler)
{
    struct thread *thread = threads_take_arrived(sampler->threads), *next;
    if (!thread)
        return;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!sampler->is_stopped)
        number_arrived(sampler, thread);
    for (; thread; thread = next) {
        next = thread->next_arrived;
        struct thread *former = threads_find(sampler->threads, thread->tid);
        if (former && former->start_ns < thread->start_ns)
            end_gone(sampler, former, thread->start_ns);
        begin_thread(sampler, thread);
    }
    sampler->upkeep_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

enum fold_rest sampler_rest_of(const struct thread *thread, uint64_t end_ns)
{
    return observe_is_overdue(thread, end_ns) ? FOLD_REST_NOT_RESPONDING : FOLD_REST_UNSAMPLED;
}

void sampler_end_left(struct sampler *sampler, struct thread *left)
{
    if (!left)
        return;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    for (struct thread *thread = left, *next; thread; thread = next) {
        next = thread->next_left;
        uint64_t end_ns = sig_load_acquire(&thread->end_ns); /* partner: the release in threads_leave */
        const struct fold_clocks end = {end_ns, thread->end_cpu_ns, FOLD_NO_DELAY};
        end_thread(sampler, thread, &end, sampler_rest_of(thread, end_ns));
    }
    sampler->upkeep_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

/* ---- threads no hook has seen ---- */

static void adopt_thread(struct sampler *sampler, const struct thread_scan_task *stranger)
{
    struct thread *thread = threads_acquire(sampler->threads);
    if (!thread)
        return;
    bool is_older = stranger->time_ns < sampler->start_ns;
    threads_uncount(sampler->threads, thread);
    if (thread_scan_adopt(&sampler->thread_scan, thread, stranger) < 0) {
        threads_release(sampler->threads, thread);
        return;
    }
    thread->tid = stranger->tid;
    thread->number = sig_add_relaxed(&sampler->threads->next_number, 1) + 1;
    thread->recorded_number = 0;
    thread->start_ns = is_older ? sampler->start_ns : stranger->time_ns;
    thread->start_cpu_ns = is_older ? observe_cpu_clock(&sampler->observer, thread) : 0;
    begin_thread(sampler, thread);
    proc_tasks_name(sampler->thread_scan.task_directory, stranger->tid, thread->end_name,
                    sizeof(thread->end_name));
}

void sampler_adopt_strangers(struct sampler *sampler)
{
    struct thread_scan_task stranger;
    while (thread_scan_next_stranger(&sampler->thread_scan, sampler->threads, &stranger))
        adopt_thread(sampler, &stranger);
}

void sampler_scan_threads(struct sampler *sampler, uint64_t now_ns)
{
    struct thread *gone;
    if (now_ns < sampler->thread_scan.next_ns)
        return;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!thread_scan_begin(&sampler->thread_scan, sampler->threads, now_ns))
        return;
    uint64_t counted_ns = sampler->upkeep_cpu_ns;
    sampler_begin_arrived(sampler);
    while ((gone = thread_scan_next_gone(&sampler->thread_scan, sampler->threads)) != NULL)
        end_gone(sampler, gone, now_ns);
    sampler_adopt_strangers(sampler);
    sampler->upkeep_cpu_ns = counted_ns + clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}
