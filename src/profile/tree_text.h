/*
 * Locations that are text: labels, and functions of scripts. Each is found by its text, and is there once.
 *
 * Called from: tree.c, which has the index of all locations.
 */
#ifndef WALLPROF_TREE_TEXT_H
#define WALLPROF_TREE_TEXT_H

#include "tree.h"

#include <stdbool.h>
#include <stdint.h>

/* Finalizer of MurmurHash3 (Appleby): every input bit reaches every output bit. */
static inline uint64_t tree_hash_mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdU;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53U;
    return x ^ (x >> 33);
}

/* The hash of a location that is found by its text; false if it is found by its address. */
bool tree_text_hash(const struct tree *tree, const struct location *location, uint64_t *ret);

/* tree.c: links a new location, and puts it into the index. 0 without memory. */
arena_ref tree_add_indexed_location(struct tree *tree, const struct location *what);

#endif
