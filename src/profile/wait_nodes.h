/*
 * What a thread waits for, as nodes below its stack.
 *
 * Called from: src/account, in the sampler thread.
 */
#ifndef WALLPROF_WAIT_NODES_H
#define WALLPROF_WAIT_NODES_H

#include "tree.h"
#include "wait_labels.h"

/* The node for what is waited for at a node, made if new. Where there is no room it is that node, or the
 * lock's.
 */
arena_ref wait_node_below(struct tree *tree, arena_ref node, const struct wait_locations *wait);

/* Whether there is room for nodes of waits, beside stacks. */
bool wait_nodes_have_room(const struct tree *tree);

#endif
