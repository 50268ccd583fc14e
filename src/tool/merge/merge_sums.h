/*
 * What is added up of recordings that become one.
 *
 * Called from: merge.c. Plain functions of their arguments.
 */
#ifndef WALLPROF_MERGE_SUMS_H
#define WALLPROF_MERGE_SUMS_H

#include "profile/profile.h"

/* The values of all nodes of a tree. */
struct values merge_sums_of(const struct tree *tree);

void merge_sums_add_counters(struct counters *to, const struct counters *from);

#endif
