/*
 * The part of a function that a compiler has laid elsewhere because it is seldom run (parse.cold).
 *
 * It has unwind information of its own, and no name in a stripped file. It is known by the jumps that lead
 * from the function into it: a jump into the middle of another function does not go anywhere else.
 *
 * Called from: the sampler thread. The code is read through the kernel, all of it once.
 */
#ifndef WALLPROF_COLD_PART_H
#define WALLPROF_COLD_PART_H

#include "modules/modules.h"

#include <stdint.h>

/* Where the cold part of the function in [low, high) starts; 0 if there is none. */
uint64_t cold_part_of(const struct modules *modules, arena_ref module, uint64_t low, uint64_t high);

#endif
