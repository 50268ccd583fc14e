#include "tree.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>

static arena_ref merged_location(const struct tree_merging *merging, arena_ref location)
{
    return merging->location_of ? merging->location_of[tree_location_at(merging->from, location)->index]
                                : location;
}

void tree_finish_move(const struct tree *tree, struct tree_move *move)
{
    struct tree_node *from = tree_node(tree, move->from), *to = tree_node(tree, move->to);
    to->self = move->sum;
    to->calls = move->calls;
    to->changes = move->changes;
    from->self = (struct values){0};
    from->calls = 0;
    from->changes = (struct changes){0};
    sig_keep_order();
    move->to = 0;
}

/* The sum is noted first: a process that is killed in between leaves what its reader can finish. */
static void move_values(struct tree *tree, arena_ref node, arena_ref twin)
{
    struct tree_move *move = arena_at(tree->arena, tree->move);
    if (!tree_has_weight(&tree_node(tree, node)->self) && !tree_node(tree, node)->calls)
        return;
    *move = (struct tree_move){.from = node,
                               .calls = tree_node(tree, node)->calls + tree_node(tree, twin)->calls,
                               .sum = tree_node(tree, node)->self,
                               .changes = tree_node(tree, node)->changes};
    tree_add_values(&move->sum, &tree_node(tree, twin)->self);
    tree_add_changes(&move->changes, &tree_node(tree, twin)->changes);
    sig_keep_order();
    move->to = twin;
    sig_keep_order();
    tree_finish_move(tree, move);
}

static void merge_node(const struct tree_merging *merging, arena_ref node, arena_ref twin)
{
    const struct tree_node *from = tree_node(merging->from, node);
    struct tree_node *into = tree_node(merging->into, twin);
    if (merging->is_move)
        move_values(merging->into, node, twin);
    else {
        tree_add_values(&into->self, &from->self);
        tree_add_changes(&into->changes, &from->changes);
        into->calls += from->calls;
    }
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
