/*
 * What a thread waits for, as nodes below its stack.
 *
 * Called from: fold.c, blames.c and account.c, in the sampler thread.
 */
#ifndef WALLPROF_FOLD_WAITS_H
#define WALLPROF_FOLD_WAITS_H

#include "fold.h"

/* The node for what is waited for at a node, made if new. Where there is no room it is that node, or the
 * lock's.
 */
arena_ref fold_node_of_wait(struct tree *tree, arena_ref node, const struct wait_locations *wait);

/* Whether there is room for nodes of waits, beside stacks. */
bool fold_waits_have_room(const struct tree *tree);

#endif
