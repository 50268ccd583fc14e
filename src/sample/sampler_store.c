/*
 * What the sampler writes to the mapped store, so that it can be read without the process.
 *
 * Cost: after each observation a copy of ten words, and a comparison.
 */
#include "sampler_internal.h"
#include "base/clock.h"
#include "sig/signal/sig_request.h"
#include "sig/sys/sig_atomic.h"
#include "proc/proc_tasks.h"

#include <string.h>

/* A thread's name is read when it is first seen, and again whenever its age has doubled. */
static const uint64_t name_min_ns = 50 * NS_PER_MS;

enum { PROCESSES_THAT_EACH_BEAT = 4 };

/* ---- threads ---- */

static arena_ref take_state(struct sampler *sampler)
{
    arena_ref ref = sampler->free_state;
    if (!ref)
        return arena_alloc_reserved(&sampler->arena, sizeof(struct thread_state));
    sampler->free_state = ((struct thread_state *)arena_at(&sampler->arena, ref))->next_free;
    return ref;
}

static void copy_state(const struct thread *thread, struct thread_state *state)
{
    const struct fold_thread *fold = &thread->fold;
    state->node = fold->node;
    state->credited = fold->credited;
    state->found = (fold->was_running ? THREAD_FOUND_RUNNING : 0) |
                   (fold->was_queued ? THREAD_FOUND_QUEUED : 0) |
                   (fold->knows_delay ? THREAD_FOUND_DELAY_CLOCK : 0);
    state->time_ns = fold->time_ns;
    state->until_ns = fold->until_ns;
    state->cpu_clock_ns = fold->cpu_clock_ns;
    state->begin_ns = fold->begin_ns;
    state->begin_cpu_clock_ns = fold->begin_cpu_clock_ns;
    state->delay_clock_ns = fold->delay_clock_ns;
    state->begin_delay_clock_ns = fold->begin_delay_clock_ns;
    state->stretch_end_tick = thread->schedule.begin;
}

static void refresh_name(const struct sampler *sampler, struct thread *thread,
                         char ret_name[THREAD_NAME_BYTES], uint64_t now_ns)
{
    char name[THREAD_NAME_BYTES] = "";
    if (now_ns < thread->name_due_ns)
        return;
    uint64_t age_ns = now_ns > thread->start_ns ? now_ns - thread->start_ns : 0;
    thread->name_due_ns = now_ns + (age_ns > name_min_ns ? age_ns : name_min_ns);
    proc_tasks_name(sampler->thread_scan.task_directory, thread->tid, name, sizeof(name));
    if (*name)
        memcpy(ret_name, name, sizeof(name));
}

static struct store_tree lists_of(const struct sampler *sampler)
{
    return store_describe_tree(&sampler->tree, &sampler->modules.list, sampler->records.newest,
                               sampler->records.number_count);
}

static void show_lists(struct sampler *sampler)
{
    const struct store_tree lists = lists_of(sampler);
    mapped_store_show(&sampler->mapped_store, &lists, sampler->arena.used_bytes);
}

void sampler_show_thread(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    struct thread_record *record = sampler_record_of(sampler, thread);
    if (sampler->target) /* nobody says it at the thread's end */
        refresh_name(sampler, thread, thread->end_name, now_ns);
    if (!mapped_store_is_kept(&sampler->mapped_store) || !record)
        return;
    arena_ref state = record->state ? record->state : take_state(sampler);
    if (state)
        copy_state(thread, arena_at(&sampler->arena, state));
    if (!record->state) {
        sig_keep_order();
        record->state = state;
        thread->name_due_ns = 0;
    }
    refresh_name(sampler, thread, record->name, now_ns);
    if (mapped_store_is_behind(&sampler->mapped_store, sampler->arena.used_bytes, sampler->records.newest))
        show_lists(sampler);
}

void sampler_show_end(struct sampler *sampler, const struct thread *thread)
{
    struct thread_record *record = sampler_record_of(sampler, thread);
    if (!record || !record->state)
        return;
    struct thread_state *state = arena_at(&sampler->arena, record->state);
    state->next_free = sampler->free_state;
    sampler->free_state = record->state;
    record->state = 0;
}

/* ---- the whole recording ---- */

void sampler_count_up(struct sampler *sampler)
{
    sampler->counters.samples = sampler->account.fold.samples;
    const struct counters *before = &sampler->counted_before;
    sampler->counters.late_ticks = sampler->tick.late - before->late_ticks;
    sampler->counters.stopped_ns = sampler->gaps.total_ns[GAP_STOPPED] - before->stopped_ns;
    sampler->counters.unobserved_ns = sampler->gaps.total_ns[GAP_NOT_OBSERVED] - before->unobserved_ns;
    sampler->counters.unchanged = sampler->observer.made.unchanged;
    sampler->counters.walked = sampler->observer.made.walked;
    sampler->counters.replies = sampler->observer.made.replied;
    sampler->counters.missing_replies = sampler->observer.made.unreplied;
    sampler->counters.interp_stacks = sampler->interp.counts.stacks;
    sampler->counters.interp_misfits = sampler->interp.counts.misfits;
    sampler->counters.interp_nameless = sampler->interp.counts.nameless;
    sampler->counters.stray = sig_request_stray_count() - before->stray;
    sampler->counters.handler_cpu_ns = sampler->observer.replies_cpu_ns - before->handler_cpu_ns;
    sampler->counters.sampler_cpu_ns =
        sampler->former_cpu_ns + clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before->sampler_cpu_ns;
}

void sampler_show(struct sampler *sampler, uint64_t now_ns)
{
    if (!mapped_store_is_kept(&sampler->mapped_store))
        return;
    sampler_count_up(sampler);
    show_lists(sampler);
    sampler->mapped_store.header->has_rundelay = sampler_knows_delay(sampler);
    mapped_store_beat(&sampler->mapped_store, now_ns, sampler->schedule.tick, &sampler->counters,
                      sampler->timeline);
}

/* A beat without a sample costs a wake-up, and most processes of a build only wait for another one. */
uint64_t sampler_beat_period_ns(const struct sampler *sampler)
{
    uint32_t processes = sampler->overhead_group_count;
    return sampler->account.fold.period_ns * (processes > PROCESSES_THAT_EACH_BEAT ? processes : 1);
}

int sampler_keep(struct sampler *sampler, int fd, struct store_header *header, uint64_t now_ns)
{
    struct timeline *timeline = sampler->timeline;
    struct mapped_memory memory[MAPPED_PART_COUNT] = {
        [MAPPED_ARENA] = {sampler->arena.base, sampler->arena.size_bytes, sampler->arena.used_bytes,
                          &sampler->arena.backing}};
    if (timeline) {
        const size_t record_bytes = sizeof *timeline->records, event_bytes = sizeof *timeline->events;
        memory[MAPPED_RECORDS] =
            (struct mapped_memory){timeline->records, timeline->capacity * record_bytes,
                                   timeline->count * record_bytes, &timeline->record_backing};
        memory[MAPPED_EVENTS] =
            (struct mapped_memory){timeline->events, timeline->event_capacity * event_bytes,
                                   timeline->event_count * event_bytes, &timeline->event_backing};
    }
    store_describe_build(header);
    header->period_ns = sampler->account.fold.period_ns;
    header->threads_per_tick = sampler->schedule.samples_per_tick;
    header->live.state = STORE_LIVE;
    header->live.begin_ns = sampler->start_ns;
    header->live.beat_ns = now_ns;
    header->live.is_stopped = sampler->is_stopped;
    header->tree = lists_of(sampler);
    int status = mapped_store_begin(&sampler->mapped_store, fd, header, memory);
    if (status < 0)
        return status;
    if (timeline)
        timeline->is_moving = &sampler->mapped_store.header->live.timeline_is_moving;
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        sampler_show_thread(sampler, sampler->threads->live[i], now_ns);
    sampler_show(sampler, now_ns);
    return 0;
}
