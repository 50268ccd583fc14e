#include "wait_nodes.h"

/* Each pair of a lock and a holder below each stack is a node or two. So that they leave room for stacks, new
 * ones are made only while so large a part of the memory is free, beside what is kept for other ends. */
enum { FREE_FOR_WAITS_PARTS = 4 };

bool wait_nodes_have_room(const struct tree *tree)
{
    return tree_nodes_left(tree) > tree->arena->size_bytes / FREE_FOR_WAITS_PARTS / sizeof(struct tree_node);
}

arena_ref wait_node_below(struct tree *tree, arena_ref node, const struct wait_locations *wait)
{
    const arena_ref labels[] = {wait->on, wait->holder};
    for (size_t i = 0; i < sizeof labels / sizeof *labels && labels[i]; i++) {
        arena_ref child = wait_nodes_have_room(tree) ? tree_child(tree, node, labels[i])
                                                     : tree_find_child(tree, node, labels[i]);
        if (!child)
            break;
        node = child;
    }
    return node;
}
