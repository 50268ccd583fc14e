/*
 * What the timeline gets of a thread's observations.
 *
 * Called from: fold.c, in the sampler thread, if there is a timeline.
 */
#ifndef WALLPROF_FOLD_TIMELINE_H
#define WALLPROF_FOLD_TIMELINE_H

#include "fold.h"
#include "passed.h"

/* goes_on: the stretch of the last observation goes on. all: what has passed since it; own: the part of that
 * that this one stands for. */
void fold_show_observation(const struct fold *fold, struct fold_thread *thread,
                           const struct fold_observation *observation, bool goes_on, struct passed all,
                           struct passed own);

/* The time up to the thread's end, or so far. own: what no observation stands for, which goes to `node`. */
void fold_show_rest(const struct fold *fold, struct fold_thread *thread, arena_ref node, enum fold_rest rest,
                    struct passed all, struct passed own);

#endif
