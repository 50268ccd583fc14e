/*
 * What a profile's nodes were given, shared out over the records of its timeline: samples that say when.
 *
 * A node's values are exact, a record's are what it was seen to be: its part is in proportion to that, and
 * the parts add up. What no record of a node is left for stays with the node.
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
    const struct wp_profile *profile; /* not owned; it has a timeline */
    struct timeline_index index;
    struct timed_node *nodes; /* by where a node lies */
};

/* 0 or -ENOMEM. */
int timed_samples_init(struct timed_samples *samples, const struct wp_profile *profile);
void timed_samples_deinit(struct timed_samples *samples);

/*
 * The records of a group's members, each given to `emit` with its node in the profile's tree, its part of
 * what that has, and when it was seen last (UTC). Those parts are taken from the merged tree, which is
 * label_group_merge's for this group.
 */
typedef void timed_samples_emit_fn(void *context, arena_ref node, const struct wp_values *values,
                                   uint64_t end_utc_ns);
void timed_samples_each(struct timed_samples *samples, const struct label_group_member *members, size_t count,
                        struct wp_tree *merged, arena_ref merged_root, timed_samples_emit_fn *emit,
                        void *context);

#endif
