/*
 * Which threads' trees are one in the output: those whose samples would carry equal labels.
 *
 * Equal stacks with equal labels must be one sample (docs/formats.md), so the trees of such threads are
 * merged before they are written. Usually a group is a single thread, and then its own tree is used as it is.
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
    uint32_t process;                   /* number; in a merged recording the spare root is of none */
};

struct thread_groups {
    struct thread_group_member *members; /* scratch; members of one group stand together */
    size_t count, capacity;
};

/* All roots of the profile in order of their labels. 0 or -ENOMEM. */
int thread_groups_init(struct thread_groups *groups, const struct profile *profile);
void thread_groups_deinit(struct thread_groups *groups);

/* How many members the group that begins at `first` has. */
size_t thread_group_size(const struct thread_groups *groups, const struct profile *profile, size_t first);

/*
 * One tree of the members [first, first + size): in `merged`, whose arena is made for it. Its locations are
 * the profile's. 0 or -ENOMEM.
 */
int thread_group_merge(const struct thread_groups *groups, const struct profile *profile, size_t first,
                       size_t size, struct arena *arena, struct tree *merged, arena_ref *ret_root);

#endif
