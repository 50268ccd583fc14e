#include "thread_groups.h"
#include "base/sort.h"

#include <errno.h>
#include <string.h>

/* Processes differ in their labels. The spare root, and a spare thread, have no thread labels. */
static int compare_labels(const struct thread_group_member *x, const struct thread_group_member *y,
                          enum label_policy labels)
{
    const struct thread_record *a = x->thread, *b = y->thread;
    bool a_tells = a && !a->is_spare, b_tells = b && !b->is_spare;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (labels == LABELS_NONE || !a_tells || !b_tells)
        return labels == LABELS_NONE ? 0 : a_tells - b_tells;
    char name_a[THREAD_NAME_BYTES + 1], name_b[THREAD_NAME_BYTES + 1];
    profile_thread_name(a, name_a);
    profile_thread_name(b, name_b);
    int order = strcmp(name_a, name_b);
    if (order || labels == LABELS_NAME)
        return order;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

/* One comparison for each label policy: the sort takes no context. */
static int compare_by_process(const void *a, const void *b)
{
    return compare_labels(a, b, LABELS_NONE);
}

static int compare_by_name(const void *a, const void *b)
{
    return compare_labels(a, b, LABELS_NAME);
}

static int compare_by_id(const void *a, const void *b)
{
    return compare_labels(a, b, LABELS_ID);
}

int thread_groups_init(struct thread_groups *groups, const struct profile *profile)
{
    const struct tree *tree = profile->tree;
    *groups = (struct thread_groups){0};
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling)
        groups->count++;
    groups->members = scratch_alloc(sizeof(*groups->members) * groups->count);
    if (!groups->members)
        return -ENOMEM;
    struct thread_group_member *member = groups->members;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        const struct thread_record *thread = profile_thread(profile, tree_node(tree, root)->thread);
        uint32_t no_process = profile->is_merged ? UINT32_MAX : 0;
        *member++ = (struct thread_group_member){root, thread, thread ? thread->process : no_process};
    }
    if (profile->labels != LABELS_NONE || profile->is_merged)
        sort_records(groups->members, groups->count, sizeof(*groups->members),
                     profile->labels == LABELS_NONE   ? compare_by_process
                     : profile->labels == LABELS_NAME ? compare_by_name
                                                      : compare_by_id);
    return 0;
}

void thread_groups_deinit(struct thread_groups *groups)
{
    scratch_free(groups->members, sizeof(*groups->members) * groups->count);
    *groups = (struct thread_groups){0};
}

size_t thread_group_size(const struct thread_groups *groups, const struct profile *profile, size_t first)
{
    size_t size = 1;
    while (first + size < groups->count &&
           compare_labels(&groups->members[first], &groups->members[first + size], profile->labels) == 0)
        size++;
    return size;
}

/* A root's own values are written as [overflow], which one of the group's threads may have a node for.
 * Returns that node; 0 without memory. */
static arena_ref move_root_values(const struct tree *tree, struct tree *merged, arena_ref root)
{
    arena_ref child = tree_child(merged, root, tree->pseudo[PSEUDO_OVERFLOW]);
    if (child) {
        tree_add_values(&tree_node(merged, child)->self, &tree_node(merged, root)->self);
        tree_node(merged, root)->self = (struct values){0};
    }
    return child;
}

int thread_group_merge(const struct thread_groups *groups, const struct profile *profile, size_t first,
                       size_t size, struct arena *arena, struct tree *merged, arena_ref *ret_root,
                       arena_ref *node_of)
{
    /* Enough for all nodes, with the reserve and tree_init's own records on top: it cannot fill up. */
    size_t bytes = profile->arena->used_bytes + profile->arena->used_bytes / 8 + 65536;
    int status = arena_init(arena, bytes);
    if (status < 0)
        return status;
    status = tree_init(merged, arena);
    if (status == 0)
        *ret_root = tree_root(merged, 0);
    const struct tree_merging merging = {.from = profile->tree, .into = merged, .node_of = node_of};
    for (size_t i = 0; status == 0 && i < size; i++)
        status = tree_merge(&merging, groups->members[first + i].root, *ret_root);
    const arena_ref overflow = status == 0 ? move_root_values(profile->tree, merged, *ret_root) : 0;
    for (size_t i = 0; overflow && node_of && i < size; i++)
        node_of[tree_node_index(groups->members[first + i].root)] = overflow;
    return status < 0 ? status : overflow ? 0 : -ENOMEM;
}
