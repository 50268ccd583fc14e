/*
 * What a sampler says of itself while its recording is kept in a file (live.h), so that the file can be read
 * without the process.
 *
 * Cost: after each observation a copy of ten words, and a comparison.
 */
#include "sampler.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"
#include "proc_tasks.h"

#include <string.h>

/* A thread's name is read when it is first seen, and again whenever its life has become twice as long. */
static const uint64_t name_min_ns = 50 * NS_PER_MS;

enum { EACH_BEATS_UP_TO = 4 };

static struct wp_thread_record *record_of(const struct wp_sampler *sampler, const struct wp_thread *thread)
{
    return thread->record ? arena_at(&sampler->arena, thread->record) : NULL;
}

/* ---- threads ---- */

static arena_ref take_state(struct wp_sampler *sampler)
{
    arena_ref ref = sampler->free_state;
    if (!ref)
        return arena_alloc_reserved(&sampler->arena, sizeof(struct wp_thread_state));
    sampler->free_state = ((struct wp_thread_state *)arena_at(&sampler->arena, ref))->next_free;
    return ref;
}

static void copy_state(const struct wp_thread *thread, struct wp_thread_state *state)
{
    const struct fold_thread *fold = &thread->fold;
    state->node = fold->node;
    state->credited = fold->credited;
    state->was_running = fold->was_running;
    state->time_ns = fold->time_ns;
    state->until_ns = fold->until_ns;
    state->cpu_clock_ns = fold->cpu_clock_ns;
    state->begin_ns = fold->begin_ns;
    state->begin_cpu_clock_ns = fold->begin_cpu_clock_ns;
    state->stretch_end_tick = thread->schedule.begin;
}

static void refresh_name(const struct wp_sampler *sampler, struct wp_thread *thread,
                         struct wp_thread_record *record, uint64_t now_ns)
{
    char name[THREAD_NAME_BYTES] = "";
    if (now_ns < thread->name_due_ns)
        return;
    uint64_t age_ns = now_ns > thread->start_ns ? now_ns - thread->start_ns : 0;
    thread->name_due_ns = now_ns + (age_ns > name_min_ns ? age_ns : name_min_ns);
    tasks_name(sampler->census.task_directory, thread->tid, name, sizeof(name));
    if (*name)
        memcpy(record->name, name, sizeof(name));
}

static struct store_tree lists_of(const struct wp_sampler *sampler)
{
    return store_describe_tree(&sampler->tree, &sampler->modules, sampler->newest_record,
                               sampler->thread_count);
}

static void show_lists(struct wp_sampler *sampler)
{
    const struct store_tree lists = lists_of(sampler);
    live_show(&sampler->live, &lists, sampler->arena.used_bytes);
}

void sampler_show_thread(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t now_ns)
{
    struct wp_thread_record *record = record_of(sampler, thread);
    if (!live_is_kept(&sampler->live) || !record)
        return;
    arena_ref state = record->state ? record->state : take_state(sampler);
    if (state)
        copy_state(thread, arena_at(&sampler->arena, state));
    if (!record->state) {
        sig_keep_order();
        record->state = state;
        thread->name_due_ns = 0;
    }
    refresh_name(sampler, thread, record, now_ns);
    if (live_is_behind(&sampler->live, sampler->arena.used_bytes))
        show_lists(sampler);
}

void sampler_show_end(struct wp_sampler *sampler, const struct wp_thread *thread)
{
    struct wp_thread_record *record = record_of(sampler, thread);
    if (!record || !record->state)
        return;
    struct wp_thread_state *state = arena_at(&sampler->arena, record->state);
    state->next_free = sampler->free_state;
    sampler->free_state = record->state;
    record->state = 0;
}

/* ---- all of it ---- */

void sampler_show(struct wp_sampler *sampler, uint64_t now_ns)
{
    if (!live_is_kept(&sampler->live))
        return;
    sampler_count_up(sampler);
    show_lists(sampler);
    const struct live_beat beat = {.now_ns = now_ns,
                                   .tick = sampler->schedule.tick,
                                   .counters = &sampler->counters,
                                   .timeline = sampler->timeline};
    live_beat(&sampler->live, &beat);
}

/* A beat that no look comes with is a wake-up, which is not free: of the processes of a build most only wait
 * for another one. */
uint64_t sampler_beat_period_ns(const struct wp_sampler *sampler)
{
    uint32_t processes = sampler->family_count;
    return sampler->fold.period_ns * (processes > EACH_BEATS_UP_TO ? processes : 1);
}

int sampler_keep(struct wp_sampler *sampler, int fd, struct store_header *header, uint64_t now_ns)
{
    struct wp_timeline *timeline = sampler->timeline;
    const size_t used[] = {timeline ? timeline->count : 0, timeline ? timeline->event_count : 0};
    struct arena_backing *none[2];
    const struct live_memory memory[LIVE_PART_COUNT] = {
        [LIVE_ARENA] = {sampler->arena.base, sampler->arena.size_bytes, sampler->arena.used_bytes,
                        &sampler->arena.backing},
        [LIVE_RECORDS] = {timeline ? timeline->records : NULL,
                          timeline ? timeline->capacity * sizeof(*timeline->records) : 0,
                          used[0] * sizeof(struct timeline_record),
                          timeline ? &timeline->record_backing : &none[0]},
        [LIVE_EVENTS] = {timeline ? timeline->events : NULL,
                         timeline ? timeline->event_capacity * sizeof(*timeline->events) : 0,
                         used[1] * sizeof(struct timeline_event),
                         timeline ? &timeline->event_backing : &none[1]},
    };
    store_describe_build(header);
    header->period_ns = sampler->fold.period_ns;
    header->threads_per_tick = sampler->schedule.looks_per_tick;
    header->live.state = STORE_LIVE;
    header->live.begin_ns = sampler->start_ns;
    header->live.beat_ns = now_ns;
    header->live.is_stopped = sampler->is_stopped;
    header->tree = lists_of(sampler);
    int status = live_begin(&sampler->live, fd, header, memory);
    if (status < 0)
        return status;
    if (timeline)
        timeline->is_moving = &sampler->live.header->live.timeline_is_moving;
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        sampler_show_thread(sampler, sampler->threads->live[i], now_ns);
    sampler_show(sampler, now_ns);
    return 0;
}
