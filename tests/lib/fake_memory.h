/*
 * The memory of a process with an interpreter, made by hand: one block, which is read through a callback that
 * refuses whatever is outside.
 */
#ifndef WALLPROF_FAKE_MEMORY_H
#define WALLPROF_FAKE_MEMORY_H

#include "sig/interp/sig_interp.h"

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_WORDS = 16384, FAKE_WORD_BYTES = 8 };

struct fake_memory {
    struct sig_interp_memory memory; /* first: the callback finds the rest by it */
    uint64_t words[FAKE_WORDS] __attribute__((aligned(4096)));
    uint32_t used; /* words */
    uint32_t reads;
    bool refuses_held; /* what only the thread can give back is not read */
};

/* Empty, and zeroed. */
void fake_memory_init(struct fake_memory *block);

/* So many words, zeroed; their address. */
uint64_t fake_alloc(struct fake_memory *block, uint32_t words);

/* The words at an address of the block. */
uint64_t *fake_at(struct fake_memory *block, uint64_t address);

/* Sets 8 bytes, or 4. */
void fake_set(struct fake_memory *block, uint64_t address, uint64_t value);
void fake_set_half(struct fake_memory *block, uint64_t address, uint32_t value);

#endif
