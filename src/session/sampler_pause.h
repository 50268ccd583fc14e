/*
 * Pausing the sampler: around fork, so that the child's copy of our memory is consistent, and around exec, so
 * that no signal of ours is on its way to the new program.
 *
 * The sampler works for microseconds at a time, between sampler_pause_work and sampler_pause_rest. Threads of
 * the program hold it; holds nest and add up. A thread waits until the sampler rests, and the sampler until
 * all holds are released.
 */
#ifndef WALLPROF_SAMPLER_PAUSE_H
#define WALLPROF_SAMPLER_PAUSE_H

#include <stdint.h>

struct sampler_pause {
    uint64_t rests_until_ns; /* atomic: sampler_pause_rest_until */
    uint32_t holds;          /* atomic, futex: threads that want the sampler to rest */
    uint32_t busy;           /* atomic, futex: the sampler is at work */
};

/*
 * Any thread: ask holds the sampler until the matching release. await returns when the sampler rests, or at
 * the deadline (CLOCK_MONOTONIC, 0: none). After that the sampler still rests as soon as its work is done.
 */
void sampler_pause_ask(struct sampler_pause *pause);
void sampler_pause_await(struct sampler_pause *pause, uint64_t deadline_ns);
void sampler_pause_release(struct sampler_pause *pause);

/* Any thread that holds the sampler: it rests until this moment (CLOCK_MONOTONIC) after the release too. 0:
 * not any longer, which a thread may say at any time. */
void sampler_pause_rest_until(struct sampler_pause *pause, uint64_t moment_ns);

/* The sampler: waits until nobody holds it, then works until sampler_pause_rest. */
void sampler_pause_work(struct sampler_pause *pause);
void sampler_pause_rest(struct sampler_pause *pause);

#endif
