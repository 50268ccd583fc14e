/*
 * What error bars are made of (struct changes), in a pprof file: a field of each sample that only we read.
 *
 * The field has whole numbers as of sint64, packed, in hundredths of the squared period: flat_near, flat_far,
 * cum_near and cum_far of the sample's node. A node without values has no sample. Its cumulative changes
 * stand in the next sample, which is below it: three numbers for each, how many nodes above that sample it
 * is, cum_near and cum_far.
 */
#ifndef WALLPROF_PPROF_CHANGES_H
#define WALLPROF_PPROF_CHANGES_H

#include "base/protobuf_write.h"
#include "profile/tree.h"

#include <stdint.h>

/* Begins without nodes that are left to write: above = UINT32_MAX. */
struct pprof_changes {
    uint64_t period_ns;
    uint32_t above; /* the smallest depth of a node without values since the last sample */
};

/* A node without values is passed by, in depth-first order. */
static inline void pprof_changes_pass(struct pprof_changes *changes, const struct tree *tree, arena_ref node)
{
    uint32_t depth = tree_node(tree, node)->depth;
    changes->above = depth < changes->above ? depth : changes->above;
}

/* The numbers of the next sample; none if all are 0. */
void pprof_changes_write(struct pprof_changes *changes, const struct tree *tree, arena_ref node,
                         struct protobuf_writer *ret);

/* A number as it is written, and back; 0 for what a float cannot hold. */
uint64_t pprof_changes_encode(float squared_ns, uint64_t period_ns);
float pprof_changes_decode(uint64_t number, uint64_t period_ns);

#endif
