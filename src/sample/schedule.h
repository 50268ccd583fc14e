/*
 * Who is looked at when: threads that run often, threads that wait rarely, and every thread's time as true as
 * if all had been looked at alike.
 *
 * The estimator. A thread's time is cut into stretches of n ticks, from one tick's moment to that of the n-th
 * tick after it. Each stretch has one look, at one of its n ticks, all equally likely; and what that look
 * sees stands for the whole stretch: for the time before the look and for the time behind it. Stretches tile
 * the thread's life, so its time adds up exactly.
 *
 * Why that is unbiased. When a stretch begins, its n is settled, by what earlier looks saw and by the number
 * of threads; the look's place is drawn then, and nothing in the thread's future knows of it. So whatever the
 * thread does, a function it is in at k of the n ticks gets k/n of the stretch's time on average, and ticks
 * come at moments that are independent of the program (tick.h). This holds for every stretch given all before
 * it, hence for the sum, however the lengths follow what was seen.
 *
 * (Where between two ticks a function begins or ends is evened out by the ticks' jitter, as at any rate.)
 *
 * Giving a look the time since the last look, with lengths that follow what was seen, would not do. A thread
 * that waits is looked at rarely; the look that finds it running takes the long wait before it along, and
 * from then on looks are frequent, so that nothing makes up for it: time asleep becomes time at work. Here
 * the stretch in which a wait gives way to work goes to either by chance, with the right odds, and the
 * frequent looks begin only behind it.
 *
 * The rates. A thread is active when it was running at its last look or had run since the look before, else
 * idle; new ones are active. Active ones are looked at in every tick if half of all looks (`looks_per_tick`)
 * suffices for that, or more if the idle ones leave it: those share the looks that remain, and are meant to
 * have a quarter of the looks that an active one has, at least. A thread that has become idle is likely to go
 * on like that for as long again as it has: as long as there are looks for it, its stretches double from look
 * to look until they are as long as those of all threads at rest. A thread that changes its ways is found out
 * at its next look, and looked at in the new rate once that stretch is over.
 *
 * So at most looks_per_tick threads have a look in every tick each. 4 busy and 200 blocked threads with 8
 * looks, 100 times a second: each busy one has a look in every tick, each blocked one two a second. (8 out of
 * 204 drawn at random would be 4 looks a second for each.)
 *
 * Restraint (restraint.h) makes all lengths longer alike, each from a thread's next stretch on. Ticks stay as
 * far apart as they were, or a tick would not be worth the same share of its stretch as any other.
 *
 * Answers that come late, or not at all. A look whose answer is outstanding at the next look is answered by
 * the same words: the thread has executed nothing of its own since, so it stands there at both, and the
 * answer stands for both stretches. A look that brings no observation (no signal could be sent, the thread is
 * silent and left alone, its answer came just before it) stands for nothing: its stretch is accounted for by
 * the next observation, whatever that is. Of a thread that answers at all this is rare, and does not depend
 * on what it is doing.
 *
 * Bounds. The looks of a tick are looks_per_tick on average, or a little less; more with more than
 * SCHEDULE_LENGTH_MAX / 2 threads to each of them, lengths being limited to that maximum. Above 4 times that
 * number the rest waits for the next tick, in order. A look that comes late in this way lengthens its stretch
 * when it would lie behind it. Work per tick does not depend on the number of threads but for those that are
 * new.
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
    SCHEDULE_BURST = 4, /* looks in one tick, in looks_per_tick */
    SCHEDULE_SPREAD_ONE = 256,
};

/* A thread's part. Ticks are numbered from 1; a stretch (a, b] has the ticks a + 1 to b. */
struct schedule_thread {
    struct schedule_thread *previous, *next; /* in its list, a ring */
    uint64_t due;                            /* the tick of its next look */
    uint64_t begin;                          /* the next look's stretch is (begin, begin + length] */
    uint32_t length;
    uint32_t rate; /* until its next look, in 1/65536 look a tick, before it is spread; 0 at rest */
    bool is_active;
    bool is_resting;     /* idle, and looked at as rarely as that allows */
    bool goes_on;        /* the last look's stretch goes on behind it, up to the moment of tick `begin` */
    uint64_t begin_ns;   /* moment at which the last look's stretch began */
    uint64_t begin_tick; /* and the tick whose moment that is */
    uint64_t look_ns;    /* when the last look was */
};

struct wp_schedule {
    struct wp_random *random; /* not owned */
    uint32_t looks_per_tick;
    uint32_t spread;               /* how much longer stretches are, in units of SCHEDULE_SPREAD_ONE */
    uint32_t active, idle;         /* how many threads of each kind there are */
    uint32_t resting;              /* how many of the idle ones are at rest */
    uint64_t taken;                /* the rates of all threads that are not at rest */
    uint64_t tick;                 /* the last that has come */
    uint32_t looks_left;           /* in this tick */
    struct schedule_thread *fresh; /* added, not yet planned */
    struct schedule_thread *due;   /* to be looked at now, or as soon as there are looks left */
    struct schedule_slot {
        struct schedule_thread *threads; /* whose next look is at the coming tick of this slot */
        uint64_t time_ns;                /* moment of the last tick of this slot */
    } * slots;                           /* of tick t: t % SCHEDULE_SLOTS */
};

/* 0 or -ENOMEM. */
int schedule_init(struct wp_schedule *schedule, uint32_t looks_per_tick, struct wp_random *random);
void schedule_deinit(struct wp_schedule *schedule);

/* A thread that has begun since the last tick, and one that has ended. O(1). */
void schedule_add(struct wp_schedule *schedule, struct schedule_thread *thread);
void schedule_remove(struct wp_schedule *schedule, struct schedule_thread *thread);

/* The next tick has come, at now_ns. */
void schedule_tick(struct wp_schedule *schedule, uint64_t now_ns);

/* How many of the coming ticks have no look, as far as is known, up to `most` (less than SCHEDULE_SLOTS). */
uint32_t schedule_empty_ticks(const struct wp_schedule *schedule, uint32_t most);

/* How many looks a tick would have on average if spread were SCHEDULE_SPREAD_ONE. */
uint32_t schedule_looks_per_tick(const struct wp_schedule *schedule);

/*
 * The next thread to be looked at in this tick, NULL after the last. now_ns: when it is looked at. Its
 * begin_ns, goes_on and look_ns are those of this look, and its next look is planned.
 */
struct schedule_thread *schedule_next(struct wp_schedule *schedule, uint64_t now_ns);

/*
 * What a look has shown. Changes the plan for the stretch after the look's, unless that has begun: a thread
 * that answers late keeps the rate it had, since by then the future is not the future any more.
 */
void schedule_seen(struct wp_schedule *schedule, struct schedule_thread *thread, bool is_active);

/*
 * Until when an observation stands for what follows it: UINT64_MAX when its stretch goes on. *time_ns is the
 * moment it is for, that of the last look or one behind it. An earlier one is of an answer that came just
 * before that look: it answers the look before, so it stands for that one's stretch, and *time_ns is kept
 * within it. The last look then has no observation, and its stretch is accounted for by the next one.
 */
uint64_t schedule_stretch(const struct schedule_thread *thread, uint64_t *time_ns);

/* The tick with which that stretch ends, whose end schedule_stretch has told. */
uint64_t schedule_stretch_tick(const struct schedule_thread *thread, uint64_t until_ns);

/* When the stretch of a thread's last look ended; UINT64_MAX while it goes on. */
uint64_t schedule_until(const struct wp_schedule *schedule, const struct schedule_thread *thread);

#endif
