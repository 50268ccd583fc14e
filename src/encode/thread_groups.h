/*
 * Groups of threads whose samples would have equal labels. Each group is one tree in the output.
 *
 * Equal stacks with equal labels must be one sample (docs/formats.md), so the trees of such threads are
 * merged before they are written. Usually a group is a single thread, whose own tree is written.
 *
 * Called from: the exporting thread.
 */
#ifndef WALLPROF_THREAD_GROUPS_H
#define WALLPROF_THREAD_GROUPS_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread_group_member {
    arena_ref root;
    const struct thread_record *thread; /* NULL for the spare root */
    uint32_t process;                   /* its number; UINT32_MAX: none, of a merged recording's spare root */
};

struct thread_groups {
    struct thread_group_member *members; /* scratch; members of a group are neighbours */
    size_t count;
};

/* All roots of the profile in order of their labels. 0 or -ENOMEM. */
int thread_groups_init(struct thread_groups *groups, const struct profile *profile);
void thread_groups_deinit(struct thread_groups *groups);

/* How many members the group that begins at `first` has. */
size_t thread_group_size(const struct thread_groups *groups, const struct profile *profile, size_t first);

/* Merges the trees of the members [first, first + size) into one, in `merged`, whose arena is made here. Its
 * locations are the profile's. node_of, if not NULL, gets the new node of each node of theirs, by
 * tree_node_index: of a root the one that has its own values. 0 or -ENOMEM; arena and merged are to be
 * released in both cases. */
int thread_group_merge(const struct thread_groups *groups, const struct profile *profile, size_t first,
                       size_t size, struct arena *arena, struct tree *merged, arena_ref *ret_root,
                       arena_ref *node_of);

#endif
