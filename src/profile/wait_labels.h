/*
 * What a thread waited for, in the tree: below the innermost frame of its stack stand nodes of labels
 * (tree.h) whose keys are these. First {on=mutex journal_mutex}, and below that, where it is known,
 * {holder=writer-2}. The time of the wait is at the lowest of them. The program's own labels cannot have
 * these keys.
 *
 * A node of a wait label is no frame: its function is that of the node above, its leaf.
 *
 * Blame. The time that a thread waits for a lock is also blamed on its holder: below the stack that the
 * holder had meanwhile stand the same two labels, and the lowest node has the blame. Where the holder waited
 * itself, for a lock with a holder, the blame is at the end of that chain: there {holder=} is another thread.
 * Blame is no time of the holder's: it is in none of a node's values.
 *
 * Called from: all that read trees. Plain functions of their arguments. Trees that were merged have the
 * locations of another one, so that one is an argument of its own.
 */
#ifndef WALLPROF_WAIT_LABELS_H
#define WALLPROF_WAIT_LABELS_H

#include "tree.h"

#include <string.h>

#define WAIT_LABEL_ON "on" /* the kind of a thing and its name: "mutex journal_mutex" */
#define WAIT_LABEL_HOLDER                                                                                    \
    "holder" /* a thread's name: "writer-2", or "writer-2 (pid 7)" of another process                        \
              */

static inline bool wait_label_is_key(const char *key)
{
    return strcmp(key, WAIT_LABEL_ON) == 0 || strcmp(key, WAIT_LABEL_HOLDER) == 0;
}

static inline bool wait_label_is(const struct tree *locations, const struct location *location)
{
    return tree_is_label(location) && wait_label_is_key(tree_label_key(locations->arena, location));
}

/* The node without the wait labels at its end: the innermost frame. Where there is none, a label stands right
 * below the root, and is its own leaf. */
static inline arena_ref wait_label_leaf(const struct tree *locations, const struct tree *tree, arena_ref node)
{
    while (tree_node(tree, node)->depth > 1 &&
           wait_label_is(locations, tree_location_at(locations, tree_node(tree, node)->location)))
        node = tree_node(tree, node)->parent;
    return node;
}

/* How long others waited for what the stack above a node was doing. */
static inline uint64_t wait_label_blame(const struct tree *locations, const struct tree *tree, arena_ref node)
{
    const struct tree_node *at = tree_node(tree, node);
    const bool is_label = at->parent && wait_label_is(locations, tree_location_at(locations, at->location));
    return is_label ? at->blame_ns : 0;
}

/* Locations of the two labels, the second one to stand below the first; 0: not known. */
struct wait_locations {
    arena_ref on, holder;
};

/* What is known of the wait at a node; NULL: not known. */
struct wait_labels {
    const char *on, *holder;
};

static inline struct wait_labels wait_labels_of(const struct tree *locations, const struct tree *tree,
                                                arena_ref node)
{
    struct wait_labels ret = {NULL, NULL};
    for (; tree_node(tree, node)->parent; node = tree_node(tree, node)->parent) {
        const struct location *location = tree_location_at(locations, tree_node(tree, node)->location);
        if (!wait_label_is(locations, location))
            break;
        const char *key = tree_label_key(locations->arena, location);
        *(strcmp(key, WAIT_LABEL_ON) == 0 ? &ret.on : &ret.holder) =
            tree_label_value(locations->arena, location);
    }
    return ret;
}

#endif
