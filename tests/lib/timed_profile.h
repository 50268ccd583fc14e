/*
 * A profile of 2.4 s with a timeline, made by hand: three threads, each of which does one thing in each half.
 *
 * app computes, then sleeps. worker waits for a lock, then computes, and for a file in the last 10 ms. pool
 * waits for work all the time. Of two processes the pool is the second one.
 */
#ifndef WALLPROF_TIMED_PROFILE_H
#define WALLPROF_TIMED_PROFILE_H

#include "fake_profile.h"

enum { TIMED_PROFILE_STRETCHES = 6 };

struct timed_profile {
    struct fake_profile fake; /* the caller releases it */
    struct timeline timeline;
    struct timeline_record records[TIMED_PROFILE_STRETCHES];
};

/* processes: 1 or 2. slowness: all takes so many times as long. It must not be moved, as the profile refers
 * to the timeline. */
void timed_profile_init(struct timed_profile *timed, uint32_t processes, uint32_t slowness);

#endif
