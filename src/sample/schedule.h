/*
 * Which thread is sampled when: threads that run often, threads that wait rarely, and every thread's time as
 * true as if all were sampled alike.
 *
 * The estimator. A thread's time is cut into stretches of n ticks, each from one tick's moment to that of the
 * n-th tick after it. Each stretch has one sample, at one of its n ticks, all equally likely. What the sample
 * sees stands for the whole stretch: for the time before the sample and for the time after it. Stretches
 * cover the thread's life without a gap, so its time adds up exactly.
 *
 * Why it is unbiased. When a stretch begins, its n is fixed, by what earlier samples saw and by the number of
 * threads, and its sample is drawn. Neither depends on the thread's future. So a function that the thread is
 * in at k of the n ticks gets k/n of the stretch's time on average. Ticks come at moments that are
 * independent of the program (tick.h). This holds for every stretch given all before it, hence for the sum.
 * (The jitter of ticks evens out where between two ticks a function begins or ends.)
 *
 * A sample must not take the time since the sample before. A waiting thread is sampled rarely: the sample
 * that finds it running would take the long wait before it along. The samples after that are frequent, so
 * nothing makes up for it, and time asleep becomes time at work. Here the stretch in which a wait gives way
 * to work goes to either by chance, with the right odds, and the frequent samples begin only after it.
 *
 * The rates. There are four kinds of threads, by their last sample:
 *
 *  - active: running then, or had run since the sample before. Active threads are sampled in every tick if
 *    half of all samples (`samples_per_tick`) suffices for that, or more if the idle ones leave it.
 *  - idle: waiting then, after it had run a little, or seen by a signal. Idle threads share the other
 * samples; each is meant to have at least a quarter of the samples of an active one. A thread that has become
 * idle will probably stay idle for as long again as it has been. While there are samples for it, its
 * stretches double from sample to sample, until they are as long as those of all threads at rest.
 *  - quiet: waiting then, and had not run since the sample before. While it does not run, a sample needs no
 *    walk, and costs a twentieth of another one. Where not all threads can be sampled in every tick, quiet
 * ones take no samples from the others. They have an amount of their own, `quiet_per_tick`. A small part of
 * the overhead limit pays for it. So the others keep their rate, however many threads wait.
 *  - new: not sampled yet. Its first stretch is half a second at most. So thousands of threads that begin at
 *    once are sorted into kinds within that time, and those of them that run have their rate from then on.
 *    Each thread up to the largest number there has been at once is new for one stretch, and a few more a
 *    second (`credit`). A thread that takes the place of one that has ended begins as an active one, or
 *    threads that come and go would have more samples than others.
 *
 * A change is found at the next sample, and counts from the end of that stretch.
 *
 * So up to samples_per_tick threads have a sample in every tick each. Of 4 busy and 200 idle threads with
 * 8 samples, 100 times a second, each busy one has a sample in every tick, and each idle one two a second.
 * (8 of 204 drawn at random would be 4 samples a second for each.)
 *
 * Births. What a tick shows must not depend on how old a thread is, or short lives would come out wrong
 * (account/short_lives.h).
 *
 *  - The first stretch begins before the thread: at the last tick before its birth.
 *  - Where ticks were skipped since, as no thread was due, only the next one can show it, and at the age that
 *    it has then. Older threads are seen at that age too, at other ticks. So the more ticks were skipped
 * since its birth, the less it stands for: its first stretch begins as many ticks later.
 *  - A tick takes as long as its samples. Threads that are sampled for the first time come after those that
 *    were sampled before, the newest first, and those that have begun up to then take part. So each is seen
 *    late by the samples of those that are younger, and all ages become larger by the same factor. (In the
 *    reverse order nobody would be seen that is younger than these samples take.)
 *
 * The overhead limit (overhead_limit.h) makes lengths longer, from each thread's next stretch on: those of
 * active and idle threads all alike, and no quiet one is sampled more often than an active one. Ticks stay as
 * far apart as they were: a tick must be worth the same share of its stretch as any other.
 *
 * Batches (schedule_batch.h). Where stretches are spread, and of quiet threads in a crowd, samples come in
 * batches: of several ticks one has the samples of all threads, and the sampler sleeps through the others. A
 * sample's tick is drawn among all of its stretch, which decides on the batch, and then moved to the batch's
 * own tick. That is as likely to be any of the batch's, so each tick of the stretch is as likely as before.
 *
 * Late and missing replies. If a reply is outstanding at the thread's next sample, it is the reply to both
 * and stands for both stretches: the thread has executed nothing of its own since. A sample without an
 * observation (no signal could be sent, the thread is silent and left alone, its reply came just before)
 * stands for nothing: the next observation accounts for its stretch. That is rare for a thread that replies
 * at all, and does not depend on what it is doing.
 *
 * Bounds. A tick has samples_per_tick samples of active and idle threads on average, or slightly fewer; more
 * with more than SCHEDULE_LENGTH_MAX / 2 threads to each of them, as lengths are bounded. Past SCHEDULE_BURST
 * times that number the rest waits for the next tick, in order. If a sample would then come after its
 * stretch, the stretch becomes longer. Quiet and new threads wait only for their own kind. Work per tick does
 * not depend on the number of threads, except for new ones.
 *
 * Called from: the sampler thread only. Times: CLOCK_MONOTONIC.
 * Data structure: Varghese, Lauck, "Hashed and hierarchical timing wheels" (SOSP 1987), scheme 4.
 * Estimator: one unit at random from each stratum, each standing for its stratum (Cochran, "Sampling
 * Techniques", 3rd ed., chapter 5), the strata being drawn up one after the other.
 */
#ifndef WALLPROF_SCHEDULE_H
#define WALLPROF_SCHEDULE_H

#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SCHEDULE_LENGTH_MAX = 4096, /* ticks */
    SCHEDULE_SLOTS = 2 * SCHEDULE_LENGTH_MAX,
    SCHEDULE_BURST = 4, /* most samples in one tick, in samples_per_tick */
    SCHEDULE_SPREAD_ONE = 256,
    SCHEDULE_ONE_SAMPLE = 256, /* the unit of quiet_per_tick and credit */
    SCHEDULE_QUIET_MAX = 4096, /* most samples of quiet threads in one tick */
    SCHEDULE_NEW_MAX = 256,    /* most samples of new threads in one tick */
};

/* A tick's samples in their order: of active and idle threads that were sampled before, of threads that were
 * not, and of quiet ones. */
enum schedule_turn { SCHEDULE_TURN_KNOWN, SCHEDULE_TURN_FIRST, SCHEDULE_TURN_QUIET };

enum schedule_kind { SCHEDULE_ACTIVE, SCHEDULE_IDLE, SCHEDULE_QUIET, SCHEDULE_NEW, SCHEDULE_KINDS };

/* A thread's part. Ticks are numbered from 1; a stretch (a, b] has the ticks a + 1 to b. */
struct schedule_thread {
    struct schedule_thread *previous, *next; /* in its ring */
    uint64_t due;                            /* the tick of its next sample */
    uint64_t begin;                          /* the next sample's stretch is (begin, begin + length] */
    uint32_t length;
    uint32_t rate; /* until its next sample, in 1/65536 sample a tick, before spreading; 0 at rest */
    enum schedule_kind kind;
    enum schedule_kind planned; /* its kind when its next sample was planned: the ring that it is due in */
    enum schedule_kind sampled; /* the same of its last sample */
    bool is_resting;            /* idle, and its stretches do not grow any more */
    bool goes_on;        /* the last sample's stretch goes on after it, up to the moment of tick `begin` */
    uint64_t begin_ns;   /* when the last sample's stretch began */
    uint64_t begin_tick; /* the tick whose moment that is */
    uint64_t sample_ns;  /* when the last sample was taken */
};

struct schedule {
    struct random_state *random; /* not owned */
    uint64_t batch_seed;
    uint32_t samples_per_tick;
    uint32_t spread;                  /* how much longer stretches are, in units of SCHEDULE_SPREAD_ONE */
    uint32_t quiet_per_tick;          /* samples of quiet threads, in 1/SCHEDULE_ONE_SAMPLE; not 0 */
    uint32_t first_most;              /* the longest stretch of a new thread, ticks */
    uint32_t most_threads;            /* the largest number there has been */
    uint32_t credit, credit_per_tick; /* how many threads may be new, in 1/SCHEDULE_ONE_SAMPLE */
    uint32_t count[SCHEDULE_KINDS];   /* how many threads of each kind there are */
    uint32_t resting;                 /* how many of the idle ones are at rest */
    uint64_t taken;                   /* the rates of active threads, and of idle ones that are not at rest */
    uint64_t tick;                    /* the last one */
    uint32_t left[SCHEDULE_KINDS];    /* samples left in this tick; [SCHEDULE_ACTIVE] is for idle ones too */
    struct schedule_thread *fresh;    /* added, not yet planned */
    struct schedule_thread *due[SCHEDULE_KINDS]; /* to be sampled in this tick, or in the next ones */
    struct schedule_slot {
        struct schedule_thread *threads; /* to be sampled at the next tick of this slot */
        uint64_t time_ns;                /* moment of the last tick of this slot */
    } * slots;                           /* of tick t: t % SCHEDULE_SLOTS */
};

/* period_ns: between ticks. 0 or -ENOMEM. */
int schedule_init(struct schedule *schedule, uint32_t samples_per_tick, uint64_t period_ns,
                  struct random_state *random);
void schedule_deinit(struct schedule *schedule);

/* Adds a thread that has begun since the last tick; removes one that has ended. O(1). */
void schedule_add(struct schedule *schedule, struct schedule_thread *thread);
void schedule_remove(struct schedule *schedule, struct schedule_thread *thread);

/* After all threads have been removed: those that are added now are all new. */
void schedule_begin_anew(struct schedule *schedule);

/* The next tick has come, at now_ns. */
void schedule_tick(struct schedule *schedule, uint64_t now_ns);

/* Threads that were added since schedule_tick take part in this tick too, as if they had been added after
 * tick `begin`, the newest first. After SCHEDULE_TURN_KNOWN. */
void schedule_admit(struct schedule *schedule, uint64_t begin);

/* How many of the next ticks have no sample so far, up to `most` (less than SCHEDULE_SLOTS). */
uint32_t schedule_empty_ticks(const struct schedule *schedule, uint32_t most);

/* How many threads there are. */
static inline uint32_t schedule_threads(const struct schedule *schedule)
{
    uint32_t sum = 0;
    for (int kind = 0; kind < SCHEDULE_KINDS; kind++)
        sum += schedule->count[kind];
    return sum;
}

/* Whether there are too many threads for a sample in every tick: then quiet ones have quiet_per_tick. */
static inline bool schedule_is_crowded(const struct schedule *schedule)
{
    return schedule_threads(schedule) > schedule->samples_per_tick;
}

/* How many samples a tick would have on average if spread were SCHEDULE_SPREAD_ONE, 1 at least: of active and
 * idle threads, and of quiet ones unless it is crowded. */
uint32_t schedule_samples_per_tick(const struct schedule *schedule);

/*
 * The next thread to be sampled in a turn of this tick, NULL after the last one. now_ns: when it is sampled.
 * Sets begin_ns, goes_on and sample_ns for this sample, and plans the next one.
 */
struct schedule_thread *schedule_next(struct schedule *schedule, enum schedule_turn turn, uint64_t now_ns);

/*
 * What a sample has shown. Plans the stretch after the sample's anew, unless that has begun: of a thread that
 * replies late, a part of it is not the future any more.
 */
void schedule_seen(struct schedule *schedule, struct schedule_thread *thread, enum schedule_kind kind);

/*
 * The end of an observation's stretch: 0 if it has ended, UINT64_MAX if it goes on. *time_ns is the
 * observation's moment, that of the last sample or a later one. An earlier moment is of a reply that came
 * just before the last sample. It belongs to the stretch before: *time_ns is kept within that, whose end is
 * returned. Then the next observation accounts for the last sample's stretch.
 */
static inline uint64_t schedule_stretch(const struct schedule_thread *thread, uint64_t *time_ns)
{
    if (*time_ns >= thread->sample_ns)
        return thread->goes_on ? UINT64_MAX : 0;
    if (*time_ns > thread->begin_ns)
        *time_ns = thread->begin_ns;
    return thread->begin_ns;
}

/* The last tick of that stretch. until_ns: what schedule_stretch has returned. */
static inline uint64_t schedule_stretch_tick(const struct schedule_thread *thread, uint64_t until_ns)
{
    bool is_stretch_before = until_ns != 0 && until_ns == thread->begin_ns;
    return is_stretch_before ? thread->begin_tick : thread->begin;
}

/* When the stretch of the last sample ended; UINT64_MAX while it goes on. */
uint64_t schedule_until(const struct schedule *schedule, const struct schedule_thread *thread);

#endif
