/*
 * What has happened between two readings of one recording that goes on: the values of each node then, so that
 * every report can be made of them.
 *
 * Nodes are the same where their paths are. What a reading says of a thread is scaled to the thread's clocks
 * (settle_claims.h), each time anew, so a node may have more or less than before and yet nothing may have
 * happened there. A node without a new sample therefore has nothing, but for one of each thread: that where
 * the thread was seen last before, whose stretch goes on into the interval. What a thread has in an interval
 * is exact: its nodes together have what its clocks say, in each part of its time.
 *
 * Left out is a thread into whose tree others have been merged meanwhile, for lack of memory (merge_ended.h).
 *
 * Called from: live_source.c. Malloc.
 */
#ifndef WALLPROF_LIVE_INTERVAL_H
#define WALLPROF_LIVE_INTERVAL_H

#include "profile/profile.h"

/*
 * *ret: the values by tree_node_index, as many as the tree of `now` has nodes; owned by the caller, who frees
 * them. before: an earlier reading of the same recording, with the indexes of its tree; NULL: all that `now`
 * has is of the interval. 0 or -ENOMEM.
 */
int live_interval_make(const struct profile *now, const struct profile *before, struct values **ret);

/* Exchanges the values of the tree with these: once, and the tree has those of the interval; again, and it
 * has its own. */
void live_interval_swap(const struct tree *tree, struct values *values);

#endif
