#include "folded_stack.h"

uint32_t folded_stack_depth(const struct tree *tree, struct folded_stack stack)
{
    uint32_t depth = tree_node(tree, stack.node)->depth;
    return depth > stack.label_depth ? depth - stack.label_depth : 0;
}

/*
 * Below the last common frame every frame of the new stack is a new call. The first of them is not if the old
 * stack had the same function there: the same call went on to another place in that function. Frames are
 * common while they have equal call sites at equal depths; below the same labels these are the same nodes.
 */
void folded_stack_count_calls(struct tree *tree, struct folded_stack before, struct folded_stack now)
{
    uint32_t depth = folded_stack_depth(tree, now), common = depth;
    if (folded_stack_depth(tree, before) < depth)
        common = folded_stack_depth(tree, before);
    arena_ref old = tree_ancestor_at(tree, before.node, common + before.label_depth);
    arena_ref new = tree_ancestor_at(tree, now.node, common + now.label_depth);
    bool goes_on = false;
    for (uint32_t at = common; at > 0 && old != new; at--) {
        if (tree_node(tree, old)->location != tree_node(tree, new)->location) {
            goes_on = tree_same_function(tree, old, new);
            common = at - 1;
        }
        old = tree_node(tree, old)->parent;
        new = tree_node(tree, new)->parent;
    }
    for (arena_ref node = now.node; depth > common; node = tree_node(tree, node)->parent, depth--) {
        bool is_first = depth == common + 1;
        if (!is_first || !goes_on)
            tree_node(tree, node)->calls++;
    }
}
