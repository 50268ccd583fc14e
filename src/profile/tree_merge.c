#include "tree.h"

#include <errno.h>

static arena_ref merged_location(const struct tree_merging *merging, arena_ref location)
{
    return merging->location_of ? merging->location_of[tree_location_at(merging->from, location)->index]
                                : location;
}

static void merge_node(const struct tree_merging *merging, arena_ref node, arena_ref twin)
{
    const struct tree_node *from = tree_node(merging->from, node);
    struct tree_node *into = tree_node(merging->into, twin);
    tree_add_values(&into->self, &from->self);
    tree_add_changes(&into->changes, &from->changes);
    into->calls += from->calls;
    if (merging->node_of)
        merging->node_of[tree_node_index(node)] = twin;
}

/* Visits the nodes in depth-first order, and in step the matching nodes of the other tree. */
int tree_merge(const struct tree_merging *merging, arena_ref root, arena_ref into_root)
{
    const struct tree *from = merging->from;
    arena_ref node = root, twin = into_root;
    for (;;) {
        merge_node(merging, node, twin);
        arena_ref next = tree_node(from, node)->first_child;
        while (!next) {
            if (node == root)
                return 0;
            next = tree_node(from, node)->next_sibling;
            node = tree_node(from, node)->parent;
            twin = tree_node(merging->into, twin)->parent;
        }
        node = next;
        twin = tree_child(merging->into, twin, merged_location(merging, tree_node(from, node)->location));
        if (!twin)
            return -ENOMEM;
    }
}
