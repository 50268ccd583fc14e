/*
 * The stack of a node of the tree: its path from the root, without the labels that it begins with.
 *
 * Called from: fold.c, in the sampler thread.
 */
#ifndef WALLPROF_FOLDED_STACK_H
#define WALLPROF_FOLDED_STACK_H

#include "profile/tree.h"

#include <stdint.h>

struct folded_stack {
    arena_ref node;
    uint32_t label_depth; /* how many labels the path begins with */
};

/* How many frames it has. */
uint32_t folded_stack_depth(const struct tree *tree, struct folded_stack stack);

/* Counts the calls that a thread has made from one stack to the next, at the frames of the new one. */
void folded_stack_count_calls(struct tree *tree, struct folded_stack before, struct folded_stack now);

#endif
