/*
 * Who is sampled when: threads that run often, threads that wait rarely, and every thread's time as true as
 * if all had been sampled alike.
 *
 * The estimator. A thread's time is cut into stretches of n ticks, from one tick's moment to that of the n-th
 * tick after it. Each stretch has one sample, at one of its n ticks, all equally likely; and what that sample
 * sees stands for the whole stretch: for the time before the sample and for the time after it. Stretches
 * tile the thread's life, so its time adds up exactly.
 *
 * Why that is unbiased. When a stretch begins, its n is settled, by what earlier samples saw and by the
 * number of threads; the sample's place is drawn then, and nothing in the thread's future knows of it. So
 * whatever the thread does, a function it is in at k of the n ticks gets k/n of the stretch's time on
 * average, and ticks come at moments that are independent of the program (tick.h). This holds for every
 * stretch given all before it, hence for the sum, however the lengths follow what was seen.
 *
 * (Where between two ticks a function begins or ends is evened out by the ticks' jitter, as at any rate.)
 *
 * Giving a sample the time since the last sample, with lengths that follow what was seen, would not do. A
 * thread that waits is sampled rarely; the sample that finds it running takes the long wait before it along,
 * and from then on samples are frequent, so that nothing makes up for it: time asleep becomes time at work.
 * Here the stretch in which a wait gives way to work goes to either by chance, with the right odds, and the
 * frequent samples begin only after it.
 *
 * The rates. A thread is active when it was running at its last sample or had run since the sample before,
 * else idle; new ones are active. Active ones are sampled in every tick if half of all samples
 * (`samples_per_tick`) suffices for that, or more if the idle ones leave it: those share the samples that
 * remain, and are meant to have a quarter of the samples that an active one has, at least. A thread that has
 * become idle is likely to go on like that for as long again as it has: as long as there are samples for it,
 * its stretches double from sample to sample until they are as long as those of all threads at rest. A thread
 * that changes its ways is found out at its next sample, and sampled in the new rate once that stretch is
 * over.
 *
 * So at most samples_per_tick threads have a sample in every tick each. 4 busy and 200 blocked threads with 8
 * samples, 100 times a second: each busy one has a sample in every tick, each blocked one two a second. (8
 * out of 204 drawn at random would be 4 samples a second for each.)
 *
 * Restraint (overhead_limit.h) makes all lengths longer alike, each from a thread's next stretch on. Ticks
 * stay as far apart as they were, or a tick would not be worth the same share of its stretch as any other.
 *
 * Replies that come late, or not at all. A sample whose reply is outstanding at the next sample has the
 * same reply: the thread has executed nothing of its own since, so it stands there at both, and the
 * reply stands for both stretches. A sample that brings no observation (no signal could be sent, the thread
 * is silent and left alone, its reply came just before it) stands for nothing: its stretch is accounted for
 * by the next observation, whatever that is. Of a thread that replies at all this is rare, and does not
 * depend on what it is doing.
 *
 * Bounds. The samples of a tick are samples_per_tick on average, or a little less; more with more than
 * SCHEDULE_LENGTH_MAX / 2 threads to each of them, lengths being limited to that maximum. Above 4 times that
 * number the rest waits for the next tick, in order. A sample that comes late in this way lengthens its
 * stretch when it would lie after it. Work per tick does not depend on the number of threads but for those
 * that are new.
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
    SCHEDULE_BURST = 4, /* samples in one tick, in samples_per_tick */
    SCHEDULE_SPREAD_ONE = 256,
};

/* A thread's part. Ticks are numbered from 1; a stretch (a, b] has the ticks a + 1 to b. */
struct schedule_thread {
    struct schedule_thread *previous, *next; /* in its list, a ring */
    uint64_t due;                            /* the tick of its next sample */
    uint64_t begin;                          /* the next sample's stretch is (begin, begin + length] */
    uint32_t length;
    uint32_t rate; /* until its next sample, in 1/65536 sample a tick, before it is spread; 0 at rest */
    bool is_active;
    bool is_resting;     /* idle, and sampled as rarely as that allows */
    bool goes_on;        /* the last sample's stretch goes on after it, up to the moment of tick `begin` */
    uint64_t begin_ns;   /* moment at which the last sample's stretch began */
    uint64_t begin_tick; /* and the tick whose moment that is */
    uint64_t sample_ns;  /* when the last sample was */
};

struct schedule {
    struct random_state *random; /* not owned */
    uint32_t samples_per_tick;
    uint32_t spread;               /* how much longer stretches are, in units of SCHEDULE_SPREAD_ONE */
    uint32_t active, idle;         /* how many threads of each kind there are */
    uint32_t resting;              /* how many of the idle ones are at rest */
    uint64_t taken;                /* the rates of all threads that are not at rest */
    uint64_t tick;                 /* the last that has come */
    uint32_t samples_left;         /* in this tick */
    struct schedule_thread *fresh; /* added, not yet planned */
    struct schedule_thread *due;   /* to be sampled now, or as soon as there are samples left */
    struct schedule_slot {
        struct schedule_thread *threads; /* whose next sample is at the coming tick of this slot */
        uint64_t time_ns;                /* moment of the last tick of this slot */
    } * slots;                           /* of tick t: t % SCHEDULE_SLOTS */
};

/* 0 or -ENOMEM. */
int schedule_init(struct schedule *schedule, uint32_t samples_per_tick, struct random_state *random);
void schedule_deinit(struct schedule *schedule);

/* A thread that has begun since the last tick, and one that has ended. O(1). */
void schedule_add(struct schedule *schedule, struct schedule_thread *thread);
void schedule_remove(struct schedule *schedule, struct schedule_thread *thread);

/* The next tick has come, at now_ns. */
void schedule_tick(struct schedule *schedule, uint64_t now_ns);

/* How many of the coming ticks have no sample, as far as is known, up to `most` (less than SCHEDULE_SLOTS).
 */
uint32_t schedule_empty_ticks(const struct schedule *schedule, uint32_t most);

/* How many samples a tick would have on average if spread were SCHEDULE_SPREAD_ONE. */
uint32_t schedule_samples_per_tick(const struct schedule *schedule);

/*
 * The next thread to be sampled in this tick, NULL after the last. now_ns: when it is sampled. Its
 * begin_ns, goes_on and sample_ns are those of this sample, and its next sample is planned.
 */
struct schedule_thread *schedule_next(struct schedule *schedule, uint64_t now_ns);

/*
 * What a sample has shown. Changes the plan for the stretch after the sample's, unless that has begun: a
 * thread that replies late keeps the rate it had, since by then the future is not the future any more.
 */
void schedule_seen(struct schedule *schedule, struct schedule_thread *thread, bool is_active);

/*
 * Until when an observation stands for what follows it: UINT64_MAX when its stretch goes on. *time_ns is the
 * moment it is for, that of the last sample or one after it. An earlier one is of a reply that came just
 * before that sample: it is of the sample before, so it stands for that one's stretch, and *time_ns is kept
 * within it. The last sample then has no observation, and its stretch is accounted for by the next one.
 */
uint64_t schedule_stretch(const struct schedule_thread *thread, uint64_t *time_ns);

/* The tick with which that stretch ends, whose end schedule_stretch has told. */
uint64_t schedule_stretch_tick(const struct schedule_thread *thread, uint64_t until_ns);

/* When the stretch of a thread's last sample ended; UINT64_MAX while it goes on. */
uint64_t schedule_until(const struct schedule *schedule, const struct schedule_thread *thread);

#endif
