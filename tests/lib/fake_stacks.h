/*
 * Stacks written as text, and a tree to fold them into.
 *
 * "ab1c" is a, the outermost, its callee b interrupted at call site 1, and c below it: outermost first, a
 * letter per function, with an optional digit for the call site in it. Every letter is a function of its own.
 */
#ifndef WALLPROF_FAKE_STACKS_H
#define WALLPROF_FAKE_STACKS_H

#include "unit.h"
#include "profile/tree.h"

enum { FAKE_MODULE = 1, FAKE_DEPTH_MAX = 64 };

struct fake_path {
    arena_ref locations[FAKE_DEPTH_MAX]; /* innermost first */
    size_t depth;
};

size_t fake_depth(const char *stack);

/* Reads one frame's address and moves on. */
uint64_t fake_frame(const char **stack);

/* Locations that find no room are 0, as locate_path has it. */
struct fake_path fake_path(struct tree *tree, const char *stack);

/* The child for a location by walking the list of children,
 * so that the tree's index has no say; 0 without. */
arena_ref fake_child(const struct tree *tree, arena_ref parent, arena_ref location);

/* The existing node of a stack below a root, or 0. */
arena_ref fake_find(const struct tree *tree, arena_ref root, const char *stack);
arena_ref fake_pseudo_child(const struct tree *tree, arena_ref parent, enum pseudo_frame pseudo);
void fake_add_values(struct values *sum, const struct values *values);

/* The next node of a root's tree in depth-first order, 0 after the last. */
arena_ref fake_next(const struct tree *tree, arena_ref root, arena_ref node);
struct values fake_sum(const struct tree *tree, arena_ref root);
uint64_t fake_wall_ns(const struct tree *tree, arena_ref root);
void fake_assert_values(const struct tree *tree, arena_ref node, struct values expected);

#endif
