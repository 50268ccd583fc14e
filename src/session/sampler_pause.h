/*
 * Keeping the sampler still for a moment: around fork, so that the child's copy of our memory is whole, and
 * around exec, so that no signal of ours is on its way to the new program.
 *
 * The sampler works in stretches of microseconds between standstill_work and standstill_rest. Threads of the
 * program hold it; holds nest and add up. Nobody waits for longer than one stretch, or than the holders hold.
 */
#ifndef WALLPROF_STANDSTILL_H
#define WALLPROF_STANDSTILL_H

#include <stdint.h>

struct wp_standstill {
    uint32_t holds; /* atomic, futex: threads that want the sampler to stand still */
    uint32_t busy;  /* atomic, futex: the sampler is at work */
};

/*
 * Any thread: ask holds the sampler until the matching release. await returns when it stands still; or at the
 * deadline (CLOCK_MONOTONIC, 0 for none), and then the sampler stands still as soon as it is done with what
 * it is at.
 */
void standstill_ask(struct wp_standstill *standstill);
void standstill_await(struct wp_standstill *standstill, uint64_t deadline_ns);
void standstill_release(struct wp_standstill *standstill);

/* The sampler: waits until nobody holds it, then works until standstill_rest. */
void standstill_work(struct wp_standstill *standstill);
void standstill_rest(struct wp_standstill *standstill);

#endif
