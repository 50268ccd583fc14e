/*
 * Samples with a time: what each node of a profile was given is divided among the node's records in the
 * timeline.
 *
 * The values of a node are exact; those of a record are estimates. A record gets its share of the node's
 * values in proportion to its own, and the shares add up. What no record is left for stays with the node.
 *
 * Called from: enc_pprof.c. Scratch memory: as much as the nodes take, and a little more.
 */
#ifndef WALLPROF_TIMED_SAMPLES_H
#define WALLPROF_TIMED_SAMPLES_H

#include "thread_groups.h"
#include "profile/profile.h"
#include "profile/timeline_index.h"

#include <stdint.h>

struct timed_samples {
    const struct profile *profile; /* not owned; it has a timeline */
    struct timeline_index index;
    struct timed_node *nodes; /* by where a node lies */
};

/* 0 or -ENOMEM. */
int timed_samples_init(struct timed_samples *samples, const struct profile *profile);
void timed_samples_deinit(struct timed_samples *samples);

/*
 * The records of a group's members, each given to `emit` with its node in the profile's tree, its part of
 * what that has, and when it was seen last (UTC). Those parts are taken from the merged tree, which is
 * thread_group_merge's for this group.
 */
typedef void timed_samples_emit_fn(void *context, arena_ref node, const struct values *values,
                                   uint64_t end_utc_ns);
void timed_samples_each(struct timed_samples *samples, const struct thread_group_member *members,
                        size_t count, struct tree *merged, arena_ref merged_root, timed_samples_emit_fn *emit,
                        void *context);

#endif
