/*
 * The profiler's own random numbers: xoshiro256** (Blackman, Vigna, "Scrambled linear pseudorandom number
 * generators", 2021). Not for secrets. The program's rand() is never touched.
 */
#ifndef WALLPROF_RANDOM_H
#define WALLPROF_RANDOM_H

#include <stdint.h>

struct random_state {
    uint64_t state[4];
};

/* Any seed is good, 0 included: it is spread by splitmix64. */
void random_init(struct random_state *random, uint64_t seed);

uint64_t random_next(struct random_state *random);

/* Uniform in 0..bound-1, without bias; bound > 0. */
uint32_t random_below(struct random_state *random, uint32_t bound);

#endif
