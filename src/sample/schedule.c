/*
 * See schedule.h for the rules. Two successive samples of a thread are less than two longest stretches apart.
 * So one turn of the wheel holds every plan, and a slot keeps its tick's moment long enough.
 */
#include "schedule.h"
#include "base/arena.h"
#include "base/smaller.h"

#include <errno.h>
#include <string.h>

/* Lengths are computed in 1/256 tick, and rates in 1/65536 sample a tick, both before spreading. */
enum { ONE_TICK = 256, ONE_SAMPLE = 65536, IDLE_PART = 4, GROWTH = 2 };

static const uint64_t not_planned = UINT64_MAX;

int schedule_init(struct schedule *schedule, uint32_t samples_per_tick, struct random_state *random)
{
    *schedule = (struct schedule){
        .random = random, .samples_per_tick = samples_per_tick, .spread = SCHEDULE_SPREAD_ONE};
    schedule->slots = scratch_alloc(sizeof(*schedule->slots) * SCHEDULE_SLOTS);
    return schedule->slots ? 0 : -ENOMEM;
}

void schedule_deinit(struct schedule *schedule)
{
    scratch_free(schedule->slots, sizeof(*schedule->slots) * SCHEDULE_SLOTS);
    *schedule = (struct schedule){0};
}

/* ---- rings ---- */

static void append(struct schedule_thread **ring, struct schedule_thread *thread)
{
    struct schedule_thread *first = *ring ? *ring : thread, *last = *ring ? first->previous : thread;
    *ring = first;
    thread->next = first;
    thread->previous = last;
    last->next = first->previous = thread;
}

static void cut_out(struct schedule_thread **ring, struct schedule_thread *thread)
{
    if (*ring == thread)
        *ring = thread->next == thread ? NULL : thread->next;
    thread->previous->next = thread->next;
    thread->next->previous = thread->previous;
}

/* Moves all of a second ring to the end of the first. */
static void append_all(struct schedule_thread **ring, struct schedule_thread **more)
{
    struct schedule_thread *first = *ring, *second = *more;
    *more = NULL;
    if (!first || !second) {
        *ring = first ? first : second;
        return;
    }
    struct schedule_thread *last = second->previous;
    first->previous->next = second;
    second->previous = first->previous;
    last->next = first;
    first->previous = last;
}

static struct schedule_slot *slot_of(const struct schedule *schedule, uint64_t tick)
{
    return &schedule->slots[tick % SCHEDULE_SLOTS];
}

static struct schedule_thread **ring_of(struct schedule *schedule, const struct schedule_thread *thread)
{
    if (thread->due == not_planned)
        return &schedule->fresh;
    return thread->due > schedule->tick ? &slot_of(schedule, thread->due)->threads : &schedule->due;
}

/* The moment of a tick. If it is forgotten, as the thread's sample came very late: the oldest known one. */
static uint64_t time_of(const struct schedule *schedule, uint64_t tick)
{
    bool is_known = schedule->tick - tick < SCHEDULE_SLOTS;
    return slot_of(schedule, is_known ? tick : schedule->tick + 1)->time_ns;
}

/* ---- lengths ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t length_of_rate(uint64_t threads, uint64_t rate)
{
    return threads * ONE_TICK * ONE_SAMPLE / larger(rate, 1);
}

/* With half of all samples, or with what idle threads leave that are sampled IDLE_PART times more rarely. */
static uint64_t active_length(const struct schedule *schedule)
{
    uint64_t by_half = (uint64_t)schedule->active * 2 * ONE_TICK;
    uint64_t by_rest =
        (uint64_t)schedule->active * ONE_TICK + (uint64_t)schedule->idle * ONE_TICK / IDLE_PART;
    return larger(smaller(by_half, by_rest) / schedule->samples_per_tick, ONE_TICK);
}

/* The samples that are meant for idle threads. */
static uint64_t idle_rate(const struct schedule *schedule)
{
    uint64_t all = (uint64_t)schedule->samples_per_tick * ONE_SAMPLE;
    uint64_t active = (uint64_t)schedule->active * ONE_TICK * ONE_SAMPLE / active_length(schedule);
    return all - smaller(active, all);
}

/*
 * Of an idle thread, which is not counted at the moment. Its stretches grow until it is at rest. Then it
 * shares what all others leave, and at least half of what idle threads are meant to have.
 */
static uint64_t idle_length(const struct schedule *schedule, uint32_t last_length, bool *is_resting)
{
    uint64_t all = (uint64_t)schedule->samples_per_tick * ONE_SAMPLE, kept = idle_rate(schedule) / 2;
    uint64_t left = all - smaller(schedule->taken, all);
    uint64_t at_rest = length_of_rate(schedule->resting + 1, larger(left, kept));
    uint64_t grown = (uint64_t)last_length * GROWTH * ONE_TICK * SCHEDULE_SPREAD_ONE / schedule->spread;
    bool is_room = schedule->taken + length_of_rate(1, grown) + kept <= all;
    *is_resting = at_rest <= grown || !is_room;
    return larger(*is_resting ? at_rest : grown, active_length(schedule));
}

/* Rounds up or down at random, so that the mean is right. */
static uint32_t whole_length(struct schedule *schedule, uint64_t length)
{
    if (length >= SCHEDULE_LENGTH_MAX * ONE_TICK)
        return SCHEDULE_LENGTH_MAX;
    return (uint32_t)((length + random_below(schedule->random, ONE_TICK)) / ONE_TICK);
}

static void uncount(struct schedule *schedule, struct schedule_thread *thread)
{
    schedule->taken -= thread->rate;
    schedule->resting -= thread->is_resting;
    thread->rate = 0;
    thread->is_resting = false;
}

/* A thread's rate is one sample in the expected time until its next one. */
static void count(struct schedule *schedule, struct schedule_thread *thread, bool is_resting)
{
    uint64_t to_begin = thread->begin > schedule->tick ? thread->begin - schedule->tick : 0;
    thread->is_resting = is_resting;
    uint64_t sample = (uint64_t)ONE_SAMPLE * schedule->spread / SCHEDULE_SPREAD_ONE;
    thread->rate = is_resting ? 0 : (uint32_t)(2 * sample / (2 * to_begin + thread->length + 1));
    schedule->resting += thread->is_resting;
    schedule->taken += thread->rate;
}

/* Fixes the length of the stretch that begins at tick `begin`, and draws its sample. */
static void plan(struct schedule *schedule, struct schedule_thread *thread)
{
    bool is_resting = false;
    uncount(schedule, thread);
    uint64_t length =
        thread->is_active ? active_length(schedule) : idle_length(schedule, thread->length, &is_resting);
    thread->length = whole_length(schedule, length * schedule->spread / SCHEDULE_SPREAD_ONE);
    thread->due = thread->begin + 1 + random_below(schedule->random, thread->length);
    count(schedule, thread, is_resting);
    append(&slot_of(schedule, thread->due)->threads, thread);
}

/* ---- threads ---- */

void schedule_add(struct schedule *schedule, struct schedule_thread *thread)
{
    *thread = (struct schedule_thread){.begin = schedule->tick, .due = not_planned, .is_active = true};
    append(&schedule->fresh, thread);
    schedule->active++;
}

void schedule_remove(struct schedule *schedule, struct schedule_thread *thread)
{
    cut_out(ring_of(schedule, thread), thread);
    uncount(schedule, thread);
    schedule->active -= thread->is_active;
    schedule->idle -= !thread->is_active;
}

void schedule_seen(struct schedule *schedule, struct schedule_thread *thread, bool is_active)
{
    if (thread->is_active == is_active)
        return;
    thread->is_active = is_active;
    schedule->active += is_active ? 1 : -1U;
    schedule->idle += is_active ? -1U : 1;
    if (thread->due == not_planned || thread->begin < schedule->tick)
        return;
    cut_out(ring_of(schedule, thread), thread);
    plan(schedule, thread);
}

uint64_t schedule_stretch(const struct schedule_thread *thread, uint64_t *time_ns)
{
    if (*time_ns >= thread->sample_ns)
        return thread->goes_on ? UINT64_MAX : 0;
    if (*time_ns > thread->begin_ns)
        *time_ns = thread->begin_ns;
    return thread->begin_ns;
}

uint64_t schedule_stretch_tick(const struct schedule_thread *thread, uint64_t until_ns)
{
    bool is_stretch_before = until_ns != 0 && until_ns == thread->begin_ns;
    return is_stretch_before ? thread->begin_tick : thread->begin;
}

uint64_t schedule_until(const struct schedule *schedule, const struct schedule_thread *thread)
{
    return thread->begin <= schedule->tick ? time_of(schedule, thread->begin) : UINT64_MAX;
}

/* ---- ticks ---- */

/* New threads are planned after all of them have been counted. */
void schedule_tick(struct schedule *schedule, uint64_t now_ns)
{
    schedule->tick++;
    struct schedule_slot *slot = slot_of(schedule, schedule->tick);
    while (schedule->fresh) {
        struct schedule_thread *thread = schedule->fresh;
        cut_out(&schedule->fresh, thread);
        plan(schedule, thread);
    }
    append_all(&schedule->due, &slot->threads);
    slot->time_ns = now_ns;
    schedule->samples_left = schedule->samples_per_tick * SCHEDULE_BURST;
}

struct schedule_thread *schedule_next(struct schedule *schedule, uint64_t now_ns)
{
    struct schedule_thread *thread = schedule->due;
    if (!thread || schedule->samples_left == 0)
        return NULL;
    schedule->samples_left--;
    cut_out(&schedule->due, thread);
    thread->begin_ns = time_of(schedule, thread->begin);
    thread->begin_tick = thread->begin;
    thread->sample_ns = now_ns;
    thread->begin = larger(thread->begin + thread->length, schedule->tick);
    thread->goes_on = thread->begin > schedule->tick;
    plan(schedule, thread);
    return thread;
}

uint32_t schedule_empty_ticks(const struct schedule *schedule, uint32_t most)
{
    uint32_t count = 0;
    if (schedule->due || schedule->fresh)
        return 0;
    while (count < most && !slot_of(schedule, schedule->tick + count + 1)->threads)
        count++;
    return count;
}

uint32_t schedule_samples_per_tick(const struct schedule *schedule)
{
    uint32_t threads = schedule->active + schedule->idle;
    return threads < schedule->samples_per_tick ? threads : schedule->samples_per_tick;
}
