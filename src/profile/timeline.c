/*
 * A thread's last record is found by its index, or by its id if records have been moved since. Ids ascend,
 * and thinning keeps their order.
 *
 * Thinning makes at most one pass over the older half for each level of detail, and frees a sixteenth of all.
 */
#include "timeline.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"

#include <string.h>

enum {
    EVENTS_SHARE = 32,
    THINNED_SHARE = 16,
    PENDING_BITS = 14,
    PENDING_COUNT = 1 << PENDING_BITS,
    LEVEL_MAX = 63
};

/* Late ticks that are closer together are one event. */
static const uint64_t late_apart_ns = 100 * NS_PER_MS;

static size_t record_bytes(const struct timeline *timeline)
{
    return sizeof(struct timeline_record) * timeline->capacity;
}

static size_t event_bytes(const struct timeline *timeline)
{
    return sizeof(struct timeline_event) * timeline->event_capacity;
}

struct timeline *timeline_create(size_t bytes, uint64_t start_ns, uint64_t seed)
{
    struct timeline *timeline = scratch_alloc(sizeof(*timeline));
    if (!timeline)
        return NULL;
    timeline->start_ns = start_ns;
    timeline->capacity = (uint32_t)(bytes / sizeof(struct timeline_record));
    timeline->event_capacity = (uint32_t)(bytes / EVENTS_SHARE / sizeof(struct timeline_event));
    random_init(&timeline->random, seed);
    timeline->records = scratch_alloc(record_bytes(timeline));
    timeline->events = scratch_alloc(event_bytes(timeline));
    timeline->pending = scratch_alloc(sizeof(uint32_t) * PENDING_COUNT);
    if (timeline->records && timeline->events && timeline->pending)
        return timeline;
    timeline_destroy(timeline);
    return NULL;
}

void timeline_destroy(struct timeline *timeline)
{
    if (!timeline)
        return;
    scratch_free(timeline->records, record_bytes(timeline));
    scratch_free(timeline->events, event_bytes(timeline));
    scratch_free(timeline->pending, sizeof(uint32_t) * PENDING_COUNT);
    scratch_free(timeline, sizeof(*timeline));
}

void timeline_clear(struct timeline *timeline, uint64_t start_ns)
{
    timeline->start_ns = start_ns;
    timeline->count = timeline->event_count = 0;
    timeline->thinned = timeline->dropped = timeline->dropped_events = 0;
    timeline->refused = 0;
    timeline->generation++;
}

void timeline_begin(struct timeline_thread *thread, uint32_t number, uint64_t tick)
{
    *thread = (struct timeline_thread){.number = number, .tick = tick};
}

/* ---- thinning ---- */

/* The number is multiplied by 2^32 over the golden ratio, so that neighbours lie far apart. */
static uint32_t *pending_of(const struct timeline *timeline, uint32_t thread)
{
    return &timeline->pending[(uint32_t)(thread * 2654435769U) >> (32 - PENDING_BITS)];
}

/* Draws whether the second of two records is kept. */
static bool draw_second(struct random_state *random, const struct timeline_record *a,
                        const struct timeline_record *b)
{
    uint64_t all = (uint64_t)a->ticks + b->ticks;
    return all > 0 && random_next(random) % all >= a->ticks;
}

/* Two records of one level make one of the next level. A finer record makes the coarser one larger by 1/2,
 * 1/4 and so on, and the level rises with that probability. */
static unsigned draw_level(struct timeline *timeline, const struct timeline_record *a,
                           const struct timeline_record *b)
{
    unsigned level = a->level > b->level ? a->level : b->level, apart = 2 * level - a->level - b->level;
    bool is_more = random_next(&timeline->random) >> (63 - apart) <= 1;
    return level + (is_more && level < LEVEL_MAX);
}

/* Merges two records of a thread that follow each other into the first. */
static void merge_records(struct timeline *timeline, struct timeline_record *a,
                          const struct timeline_record *b)
{
    if (draw_second(&timeline->random, a, b)) {
        a->node = b->node;
        a->state = b->state;
    }
    a->level = draw_level(timeline, a, b);
    a->last_ns = b->last_ns > a->last_ns ? b->last_ns : a->last_ns; /* it may be of several threads */
    a->later_cpu_ns += b->cpu_ns + b->later_cpu_ns;
    a->wall_ns += b->wall_ns;
    a->observations += b->observations;
    a->ticks += b->ticks;
    timeline->thinned++;
}

/* Merges the record into its partner. False if it has none. */
static bool merge_into_partner(struct timeline *timeline, const struct timeline_record *record,
                               uint32_t level)
{
    uint32_t *pending = pending_of(timeline, record->thread);
    struct timeline_record *partner = *pending ? &timeline->records[*pending - 1] : NULL;
    if (!partner || partner->thread != record->thread)
        return false;
    *pending = 0;
    if (record->is_open || record->level > level)
        return false;
    merge_records(timeline, partner, record);
    return true;
}

/* Merges pairs up to a level among the first `count` records. Returns how many are left. */
static uint32_t thin_level(struct timeline *timeline, uint32_t count, uint32_t level)
{
    uint32_t left = 0;
    memset(timeline->pending, 0, sizeof(uint32_t) * PENDING_COUNT);
    for (uint32_t i = 0; i < count; i++) {
        struct timeline_record record = timeline->records[i];
        if (merge_into_partner(timeline, &record, level))
            continue;
        timeline->records[left++] = record;
        if (!record.is_open && record.level <= level)
            *pending_of(timeline, record.thread) = left;
    }
    return left;
}

/* Drops about half of the first `count` records at random, but no open ones. Returns how many are left. */
static uint32_t drop_half(struct timeline *timeline, uint32_t count)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct timeline_record record = timeline->records[i];
        if (record.is_open || (random_next(&timeline->random) & 1))
            timeline->records[left++] = record;
    }
    timeline->dropped += count - left;
    return left;
}

static uint32_t highest_level(const struct timeline *timeline, uint32_t count)
{
    uint32_t level = 0;
    for (uint32_t i = 0; i < count; i++)
        level = timeline->records[i].level > level ? (uint32_t)timeline->records[i].level : level;
    return level;
}

/* Thins from the finest level up until enough is free: coarse records become coarser only if the finer ones
 * of the older half do not suffice. */
static void thin_older_half(struct timeline *timeline)
{
    if (timeline->is_moving)
        sig_store_relaxed(timeline->is_moving, 1);
    sig_keep_order();
    uint32_t old = timeline->count / 2, left = old, enough = timeline->capacity / THINNED_SHARE;
    uint32_t highest = highest_level(timeline, old);
    for (uint32_t level = 0; old - left < enough && level <= highest; level++)
        left = thin_level(timeline, left, level);
    if (old - left < enough)
        left = drop_half(timeline, left);
    memmove(timeline->records + left, timeline->records + old,
            sizeof(struct timeline_record) * (timeline->count - old));
    timeline->count -= old - left;
    timeline->generation++;
    timeline->refused = old == left;
}

/* ---- recording ---- */

static struct timeline_record *find_record(const struct timeline *timeline, uint64_t id)
{
    uint32_t low = 0, high = timeline->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (timeline->records[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < timeline->count && timeline->records[low].id == id ? &timeline->records[low] : NULL;
}

static struct timeline_record *last_of(const struct timeline *timeline, struct timeline_thread *thread)
{
    if (thread->last_id == 0)
        return NULL;
    if (thread->generation == timeline->generation)
        return &timeline->records[thread->last_index];
    struct timeline_record *last = find_record(timeline, thread->last_id);
    thread->generation = timeline->generation;
    thread->last_index = last ? (uint32_t)(last - timeline->records) : 0;
    return last;
}

/* Space for one more record, or NULL. If all records are open, nothing can be thinned. The next attempt comes
 * after as many records have been refused as a pass frees. */
static struct timeline_record *add_record(struct timeline *timeline)
{
    uint32_t pause = timeline->capacity / THINNED_SHARE;
    if (timeline->count == timeline->capacity && (timeline->refused == 0 || timeline->refused > pause))
        thin_older_half(timeline);
    if (timeline->count < timeline->capacity) {
        arena_back(timeline->record_backing, ((size_t)timeline->count + 1) * sizeof *timeline->records);
        return &timeline->records[timeline->count++];
    }
    timeline->refused++;
    timeline->dropped++;
    return NULL;
}

void timeline_end(struct timeline *timeline, struct timeline_thread *thread)
{
    struct timeline_record *last = last_of(timeline, thread);
    if (last)
        last->is_open = false;
    thread->last_id = 0;
}

/* Claims the ticks up to until_tick that have come and belong to no record yet. Returns how many. */
static uint32_t account_ticks(struct timeline_thread *thread, uint64_t until_tick, uint64_t tick)
{
    uint64_t to = until_tick < tick ? until_tick : tick;
    uint64_t ticks = to > thread->tick ? to - thread->tick : 0;
    thread->tick += ticks;
    return (uint32_t)ticks;
}

/* A range goes on only without CPU time: it has no more than that of its first observation. */
static bool continues_record(const struct timeline_record *last,
                             const struct timeline_observation *observation)
{
    return observation->node == last->node && observation->state == last->state && observation->cpu_ns == 0 &&
           (observation->is_unchanged || observation->state == TIMELINE_WAITING);
}

static void extend_record(struct timeline_record *last, const struct timeline_observation *observation,
                          uint32_t ticks)
{
    if (observation->time_ns > last->last_ns)
        last->last_ns = observation->time_ns;
    last->wall_ns += observation->wall_ns;
    last->ticks += ticks;
    last->observations += !observation->is_rest;
}

static void begin_record(struct timeline *timeline, struct timeline_thread *thread,
                         const struct timeline_observation *observation, uint32_t ticks)
{
    struct timeline_record *record = add_record(timeline);
    if (!record)
        return;
    *record = (struct timeline_record){
        .first_ns = observation->time_ns,
        .last_ns = observation->time_ns,
        .cpu_ns = observation->cpu_ns,
        .wall_ns = observation->wall_ns,
        .thread = thread->number,
        .node = observation->node,
        .observations = !observation->is_rest,
        .ticks = ticks,
        .id = ++timeline->newest_id,
        .state = observation->state,
        .is_open = true,
    };
    thread->last_id = record->id;
    thread->last_index = (uint32_t)(record - timeline->records);
    thread->generation = timeline->generation;
}

void timeline_observe(struct timeline *timeline, struct timeline_thread *thread,
                      const struct timeline_observation *observation)
{
    struct timeline_record *last = last_of(timeline, thread);
    uint32_t previous_ticks =
        observation->is_unchanged ? 0 : account_ticks(thread, thread->until_tick, timeline->tick);
    if (last) {
        last->wall_ns += observation->previous_wall_ns;
        last->ticks += previous_ticks;
    }
    uint32_t ticks = account_ticks(thread, observation->until_tick, timeline->tick);
    if (!observation->is_rest)
        thread->until_tick = observation->until_tick;
    bool is_nothing = observation->is_rest && observation->cpu_ns == 0 && observation->wall_ns == 0;
    if (last && continues_record(last, observation) && !is_nothing)
        extend_record(last, observation, ticks);
    else if (!is_nothing) {
        timeline_end(timeline, thread);
        begin_record(timeline, thread, observation, ticks);
    }
}

void timeline_event(struct timeline *timeline, const struct timeline_event *event)
{
    struct timeline_event *last =
        timeline->event_count > 0 ? &timeline->events[timeline->event_count - 1] : NULL;
    if (last && event->kind == EVENT_LATE && last->kind == EVENT_LATE &&
        event->begin_ns < last->end_ns + late_apart_ns) {
        last->end_ns = event->end_ns;
        last->number += event->number;
    } else if (timeline->event_count < timeline->event_capacity) {
        arena_back(timeline->event_backing, ((size_t)timeline->event_count + 1) * sizeof *timeline->events);
        timeline->events[timeline->event_count++] = *event;
    } else
        timeline->dropped_events++;
}
