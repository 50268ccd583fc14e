/*
 * See schedule.h for the rules. Two successive samples of a thread are less than two longest stretches apart.
 * So one turn of the wheel holds every plan, and a slot keeps its tick's moment long enough.
 */
#include "schedule.h"
#include "schedule_batch.h"
#include "schedule_ring.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/smaller.h"

#include <errno.h>
#include <string.h>

/* Lengths are computed in 1/256 tick, and rates in 1/65536 sample a tick, both before spreading. */
enum { ONE_TICK = 256, ONE_SAMPLE = 65536, IDLE_PART = 4, GROWTH = 2 };

/* In a quiet thread's stretch. */
enum { BATCHES_MIN = 4 };

static const uint64_t not_planned = UINT64_MAX;

static const uint64_t first_stretch_ns = NS_PER_S / 2;

/* Of new threads beyond those that make the program larger: at 30 us each 0.25 % of a core. */
enum { NEW_PER_S = 80 };

/* Until the overhead limit knows better: a tenth of 1 % of a core, at 2 us each. */
static const uint64_t quiet_interval_ns = 2 * NS_PER_MS;

static uint32_t per_tick(uint64_t period_ns, uint64_t interval_ns)
{
    uint64_t samples = period_ns * SCHEDULE_ONE_SAMPLE / interval_ns;
    return samples ? (uint32_t)smaller(samples, UINT32_MAX) : 1;
}

int schedule_init(struct schedule *schedule, uint32_t samples_per_tick, uint64_t period_ns,
                  struct random_state *random)
{
    *schedule =
        (struct schedule){.random = random,
                          .samples_per_tick = samples_per_tick,
                          .spread = SCHEDULE_SPREAD_ONE,
                          .quiet_per_tick = per_tick(period_ns, quiet_interval_ns),
                          .first_most = (uint32_t)smaller(first_stretch_ns / period_ns, SCHEDULE_LENGTH_MAX),
                          .credit_per_tick = per_tick(period_ns, NS_PER_S / NEW_PER_S)};
    schedule->slots = scratch_alloc(sizeof(*schedule->slots) * SCHEDULE_SLOTS);
    return schedule->slots ? 0 : -ENOMEM;
}

void schedule_deinit(struct schedule *schedule)
{
    scratch_free(schedule->slots, sizeof(*schedule->slots) * SCHEDULE_SLOTS);
    *schedule = (struct schedule){0};
}

/* ---- rings ---- */

static struct schedule_slot *slot_of(const struct schedule *schedule, uint64_t tick)
{
    return &schedule->slots[tick % SCHEDULE_SLOTS];
}

/* Active and idle threads share one. */
static struct schedule_thread **due_ring(struct schedule *schedule, const struct schedule_thread *thread)
{
    return &schedule->due[thread->planned == SCHEDULE_IDLE ? SCHEDULE_ACTIVE : thread->planned];
}

static struct schedule_thread **ring_of(struct schedule *schedule, const struct schedule_thread *thread)
{
    if (thread->due == not_planned)
        return &schedule->fresh;
    bool is_due = thread->due <= schedule->tick;
    return is_due ? due_ring(schedule, thread) : &slot_of(schedule, thread->due)->threads;
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
    uint64_t active = schedule->count[SCHEDULE_ACTIVE], idle = schedule->count[SCHEDULE_IDLE];
    uint64_t by_half = active * 2 * ONE_TICK;
    uint64_t by_rest = active * ONE_TICK + idle * ONE_TICK / IDLE_PART;
    return larger(smaller(by_half, by_rest) / schedule->samples_per_tick, ONE_TICK);
}

/* The samples that are meant for idle threads. */
static uint64_t idle_rate(const struct schedule *schedule)
{
    uint64_t all = (uint64_t)schedule->samples_per_tick * ONE_SAMPLE;
    uint64_t active =
        (uint64_t)schedule->count[SCHEDULE_ACTIVE] * ONE_TICK * ONE_SAMPLE / active_length(schedule);
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

/* Of a quiet thread: as far as its stretches have grown, but not beyond its share. Most new ones will be
 * quiet. */
static uint64_t quiet_length(const struct schedule *schedule, uint32_t last_length, bool was_new)
{
    uint64_t threads = schedule->count[SCHEDULE_QUIET] + schedule->count[SCHEDULE_NEW];
    uint64_t grown = was_new ? UINT64_MAX : (uint64_t)last_length * GROWTH * ONE_TICK;
    uint64_t share = ONE_TICK;
    if (schedule_is_crowded(schedule))
        share = threads * ONE_TICK * SCHEDULE_ONE_SAMPLE / schedule->quiet_per_tick;
    return larger(smaller(grown, share), active_length(schedule) * schedule->spread / SCHEDULE_SPREAD_ONE);
}

static uint64_t new_length(const struct schedule *schedule)
{
    uint64_t threads = schedule->count[SCHEDULE_ACTIVE] + schedule->count[SCHEDULE_NEW];
    uint64_t length = larger(threads * ONE_TICK / schedule->samples_per_tick, ONE_TICK);
    return smaller(length, larger((uint64_t)schedule->first_most * ONE_TICK, ONE_TICK));
}

/* Rounds up or down at random, so that the mean is right. */
static uint32_t whole_length(struct schedule *schedule, uint64_t length)
{
    if (length >= (SCHEDULE_LENGTH_MAX - SCHEDULE_BATCH_MAX) * ONE_TICK)
        return SCHEDULE_LENGTH_MAX - SCHEDULE_BATCH_MAX; /* its end may be moved to that of a batch */
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
    if (thread->kind != SCHEDULE_ACTIVE && thread->kind != SCHEDULE_IDLE)
        return;
    thread->is_resting = is_resting;
    uint64_t sample = (uint64_t)ONE_SAMPLE * schedule->spread / SCHEDULE_SPREAD_ONE;
    thread->rate = is_resting ? 0 : (uint32_t)(2 * sample / (2 * to_begin + thread->length + 1));
    schedule->resting += thread->is_resting;
    schedule->taken += thread->rate;
}

static uint64_t length_of(struct schedule *schedule, const struct schedule_thread *thread, bool *is_resting)
{
    if (thread->kind == SCHEDULE_NEW)
        return new_length(schedule);
    if (thread->kind == SCHEDULE_QUIET)
        return quiet_length(schedule, thread->length, thread->sampled == SCHEDULE_NEW);
    uint64_t length = thread->kind == SCHEDULE_ACTIVE ? active_length(schedule)
                                                      : idle_length(schedule, thread->length, is_resting);
    return length * schedule->spread / SCHEDULE_SPREAD_ONE;
}

/*
 * Of the batches that a thread is sampled in: a power of two. Where stretches are spread, ticks without a
 * sample are what saves time, so one tick of that many has those of all threads. Quiet ones of a crowd wait
 * longer for theirs.
 */
static uint32_t batch_length(const struct schedule *schedule, const struct schedule_thread *thread)
{
    uint32_t most = schedule->spread / SCHEDULE_SPREAD_ONE, ticks = 1;
    if (thread->kind == SCHEDULE_QUIET && schedule_is_crowded(schedule))
        most = (uint32_t)larger(thread->length / BATCHES_MIN, most);
    most = (uint32_t)smaller(smaller(most, SCHEDULE_BATCH_MAX),
                             thread->kind == SCHEDULE_NEW ? 1 : thread->length);
    while (ticks * 2 <= most)
        ticks *= 2;
    return ticks;
}

/*
 * Draws the tick of a stretch's sample. The stretch is made to end with a batch, by chance so that its mean
 * is right. Where the tick drawn is in a whole batch, it is moved to that batch's tick, which is as likely to
 * be any of them.
 */
static uint64_t draw(struct schedule *schedule, struct schedule_thread *thread)
{
    uint32_t ticks = batch_length(schedule, thread);
    uint64_t end = thread->begin + thread->length + random_below(schedule->random, ticks);
    thread->length = (uint32_t)(end / ticks * ticks - thread->begin);
    uint64_t due = thread->begin + 1 + random_below(schedule->random, thread->length);
    uint64_t batch = (due - 1) / ticks * ticks;
    return batch < thread->begin ? due : schedule_batch_tick(schedule->batch_seed, batch, ticks);
}

/* Fixes the length of the stretch that begins at tick `begin`, and draws its sample. */
static void plan(struct schedule *schedule, struct schedule_thread *thread)
{
    bool is_resting = false;
    uncount(schedule, thread);
    thread->length = whole_length(schedule, length_of(schedule, thread, &is_resting));
    thread->planned = thread->kind;
    thread->due = larger(draw(schedule, thread), schedule->tick);
    count(schedule, thread, is_resting);
    schedule_ring_append(&slot_of(schedule, thread->due)->threads, thread);
}

/* ---- threads ---- */

static enum schedule_kind kind_at_birth(struct schedule *schedule)
{
    uint32_t threads = schedule_threads(schedule) + 1;
    if (threads > schedule->most_threads) {
        schedule->most_threads = threads;
        return SCHEDULE_NEW;
    }
    if (schedule->credit < SCHEDULE_ONE_SAMPLE)
        return SCHEDULE_ACTIVE;
    schedule->credit -= SCHEDULE_ONE_SAMPLE;
    return SCHEDULE_NEW;
}

void schedule_add(struct schedule *schedule, struct schedule_thread *thread)
{
    *thread = (struct schedule_thread){
        .begin = schedule->tick, .due = not_planned, .kind = kind_at_birth(schedule)};
    schedule_ring_append(&schedule->fresh, thread);
    schedule->count[thread->kind]++;
}

void schedule_remove(struct schedule *schedule, struct schedule_thread *thread)
{
    schedule_ring_cut_out(ring_of(schedule, thread), thread);
    uncount(schedule, thread);
    schedule->count[thread->kind]--;
}

void schedule_begin_anew(struct schedule *schedule)
{
    schedule->most_threads = schedule->credit = 0;
}

static void set_kind(struct schedule *schedule, struct schedule_thread *thread, enum schedule_kind kind)
{
    schedule->count[thread->kind]--;
    schedule->count[kind]++;
    thread->kind = kind;
}

void schedule_seen(struct schedule *schedule, struct schedule_thread *thread, enum schedule_kind kind)
{
    if (thread->kind == kind)
        return;
    set_kind(schedule, thread, kind);
    if (thread->due == not_planned || thread->begin < schedule->tick)
        return;
    schedule_ring_cut_out(ring_of(schedule, thread), thread);
    plan(schedule, thread);
}

uint64_t schedule_until(const struct schedule *schedule, const struct schedule_thread *thread)
{
    return thread->begin <= schedule->tick ? time_of(schedule, thread->begin) : UINT64_MAX;
}

/* ---- ticks ---- */

static void allow_samples(struct schedule *schedule)
{
    schedule->left[SCHEDULE_ACTIVE] = schedule->samples_per_tick * SCHEDULE_BURST;
    schedule->left[SCHEDULE_NEW] = SCHEDULE_NEW_MAX;
    schedule->left[SCHEDULE_QUIET] = SCHEDULE_QUIET_MAX;
    schedule->credit = (uint32_t)smaller((uint64_t)schedule->credit + schedule->credit_per_tick,
                                         (uint64_t)schedule->most_threads * SCHEDULE_ONE_SAMPLE);
}

/* Threads that were added are planned after all of them have been counted. */
static void plan_fresh(struct schedule *schedule)
{
    while (schedule->fresh) {
        struct schedule_thread *thread = schedule->fresh;
        schedule_ring_cut_out(&schedule->fresh, thread);
        plan(schedule, thread);
    }
}

void schedule_tick(struct schedule *schedule, uint64_t now_ns)
{
    schedule->tick++;
    struct schedule_slot *slot = slot_of(schedule, schedule->tick);
    plan_fresh(schedule);
    while (slot->threads) {
        struct schedule_thread *thread = slot->threads;
        schedule_ring_cut_out(&slot->threads, thread);
        schedule_ring_append(due_ring(schedule, thread), thread);
    }
    slot->time_ns = now_ns;
    allow_samples(schedule);
}

void schedule_admit(struct schedule *schedule, uint64_t begin)
{
    struct schedule_slot *slot = slot_of(schedule, schedule->tick);
    for (struct schedule_thread *thread = schedule->fresh; thread;
         thread = thread->next == schedule->fresh ? NULL : thread->next)
        thread->begin = begin;
    plan_fresh(schedule);
    while (slot->threads) {
        struct schedule_thread *thread = slot->threads->previous, **ring = due_ring(schedule, thread);
        schedule_ring_cut_out(&slot->threads, thread);
        schedule_ring_append(ring, thread);
        *ring = thread; /* before the others */
    }
}

static struct schedule_thread *take(struct schedule *schedule, enum schedule_kind kind)
{
    struct schedule_thread *thread = schedule->due[kind];
    if (!thread || schedule->left[kind] == 0)
        return NULL;
    schedule->left[kind]--;
    schedule_ring_cut_out(&schedule->due[kind], thread);
    return thread;
}

/* Threads that were added since the last tick are the last of their ring. */
static struct schedule_thread *take_due(struct schedule *schedule, enum schedule_turn turn)
{
    const struct schedule_thread *first = schedule->due[SCHEDULE_ACTIVE];
    if (turn == SCHEDULE_TURN_KNOWN)
        return first && first->sample_ns != 0 ? take(schedule, SCHEDULE_ACTIVE) : NULL;
    if (turn == SCHEDULE_TURN_QUIET)
        return take(schedule, SCHEDULE_QUIET);
    struct schedule_thread *thread = take(schedule, SCHEDULE_ACTIVE);
    return thread ? thread : take(schedule, SCHEDULE_NEW);
}

/* One that has just been sampled for the first time, and is not seen at once, is probably running. */
struct schedule_thread *schedule_next(struct schedule *schedule, enum schedule_turn turn, uint64_t now_ns)
{
    struct schedule_thread *thread = take_due(schedule, turn);
    if (!thread)
        return NULL;
    thread->begin_ns = time_of(schedule, thread->begin);
    thread->begin_tick = thread->begin;
    thread->sample_ns = now_ns;
    thread->begin = larger(thread->begin + thread->length, schedule->tick);
    thread->goes_on = thread->begin > schedule->tick;
    thread->sampled = thread->planned;
    if (thread->kind == SCHEDULE_NEW)
        set_kind(schedule, thread, SCHEDULE_ACTIVE);
    plan(schedule, thread);
    return thread;
}

uint32_t schedule_empty_ticks(const struct schedule *schedule, uint32_t most)
{
    uint32_t count = 0;
    if (schedule->due[SCHEDULE_ACTIVE] || schedule->due[SCHEDULE_NEW] || schedule->due[SCHEDULE_QUIET] ||
        schedule->fresh)
        return 0;
    while (count < most && !slot_of(schedule, schedule->tick + count + 1)->threads)
        count++;
    return count;
}

uint32_t schedule_samples_per_tick(const struct schedule *schedule)
{
    uint32_t threads = schedule->count[SCHEDULE_ACTIVE] + schedule->count[SCHEDULE_IDLE];
    if (!schedule_is_crowded(schedule))
        threads += schedule->count[SCHEDULE_QUIET];
    return (uint32_t)larger(smaller(threads, schedule->samples_per_tick), 1);
}
