/*
 * Stacks written as text, and a tree to fold them into.
 *
 * "ab1c" is a called by nobody, its callee b interrupted at call site 1, and c below it: outermost first, a
 * letter per function, with an optional digit for the call site in it. Every letter is a function of its own.
 */
#ifndef WALLPROF_FAKE_STACKS_H
#define WALLPROF_FAKE_STACKS_H

#include "profile/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { FAKE_MODULE = 1, FAKE_DEPTH_MAX = 64 };

struct fake_path {
    arena_ref locations[FAKE_DEPTH_MAX]; /* innermost first */
    size_t depth;
};

static inline uint64_t fake_function_start(char letter)
{
    return (uint64_t)letter << 8;
}

static inline size_t fake_depth(const char *stack)
{
    size_t depth = 0;
    for (; *stack; stack++)
        depth += *stack > '9';
    return depth;
}

/* Reads one frame's address and moves on. */
static inline uint64_t fake_frame(const char **stack)
{
    uint64_t address = fake_function_start(*(*stack)++);
    if (**stack >= '0' && **stack <= '9')
        address += (uint64_t)(*(*stack)++ - '0');
    return address;
}

/* Locations that find no room are 0, as locate_path has it. */
static inline struct fake_path fake_path(struct wp_tree *tree, const char *stack)
{
    struct fake_path path = {.depth = fake_depth(stack)};
    for (size_t i = path.depth; i-- > 0;) {
        uint64_t address = fake_frame(&stack);
        path.locations[i] = tree_location(tree, FAKE_MODULE, address, address & ~UINT64_C(0xff));
    }
    return path;
}

/* The child for a location by walking the list of children, so that the tree's index has no say; 0 without.
 */
static inline arena_ref fake_child(const struct wp_tree *tree, arena_ref parent, arena_ref location)
{
    arena_ref child = tree_node(tree, parent)->first_child;
    while (child && tree_node(tree, child)->location != location)
        child = tree_node(tree, child)->next_sibling;
    return child;
}

/* The existing node of a stack below a root, or 0. */
static inline arena_ref fake_find(const struct wp_tree *tree, arena_ref root, const char *stack)
{
    arena_ref node = root;
    while (node && *stack)
        node = fake_child(tree, node, tree_find_location(tree, FAKE_MODULE, fake_frame(&stack)));
    return node;
}

static inline arena_ref fake_pseudo_child(const struct wp_tree *tree, arena_ref parent, enum wp_pseudo pseudo)
{
    return fake_child(tree, parent, tree->pseudo[pseudo]);
}

static inline void fake_add_values(struct wp_values *sum, const struct wp_values *values)
{
    sum->samples += values->samples;
    sum->cpu_ns += values->cpu_ns;
    sum->offcpu_ns += values->offcpu_ns;
    sum->wall_ns += values->wall_ns;
}

/* The next node of a root's tree in depth-first order, 0 after the last. */
static inline arena_ref fake_next(const struct wp_tree *tree, arena_ref root, arena_ref node)
{
    arena_ref next = tree_node(tree, node)->first_child;
    while (!next && node != root) {
        next = tree_node(tree, node)->next_sibling;
        node = tree_node(tree, node)->parent;
    }
    return next;
}

static inline struct wp_values fake_sum(const struct wp_tree *tree, arena_ref root)
{
    struct wp_values sum = {0};
    for (arena_ref node = root; node; node = fake_next(tree, root, node))
        fake_add_values(&sum, &tree_node(tree, node)->self);
    return sum;
}

static inline void fake_assert_values(const struct wp_tree *tree, arena_ref node, struct wp_values expected)
{
    assert_int_not_equal(node, 0);
    const struct wp_values *self = &tree_node(tree, node)->self;
    assert_int_equal(self->samples, expected.samples);
    assert_int_equal(self->cpu_ns, expected.cpu_ns);
    assert_int_equal(self->offcpu_ns, expected.offcpu_ns);
    assert_int_equal(self->wall_ns, expected.wall_ns);
}

#endif
