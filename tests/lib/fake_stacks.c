#include "fake_stacks.h"

#include <string.h>

static uint64_t fake_function_start(char letter)
{
    return (uint64_t)letter << 8;
}

size_t fake_depth(const char *stack)
{
    size_t depth = 0;
    for (; *stack; stack++)
        depth += *stack > '9';
    return depth;
}

uint64_t fake_frame(const char **stack)
{
    uint64_t address = fake_function_start(*(*stack)++);
    if (**stack >= '0' && **stack <= '9')
        address += (uint64_t)(*(*stack)++ - '0');
    return address;
}

struct fake_path fake_path(struct tree *tree, const char *stack)
{
    struct fake_path path = {.depth = fake_depth(stack)};
    for (size_t i = path.depth; i-- > 0;) {
        uint64_t address = fake_frame(&stack);
        path.locations[i] = tree_location(tree, FAKE_MODULE, address, address & ~UINT64_C(0xff));
    }
    return path;
}

arena_ref fake_child(const struct tree *tree, arena_ref parent, arena_ref location)
{
    arena_ref child = tree_node(tree, parent)->first_child;
    while (child && tree_node(tree, child)->location != location)
        child = tree_node(tree, child)->next_sibling;
    return child;
}

arena_ref fake_find(const struct tree *tree, arena_ref root, const char *stack)
{
    arena_ref node = root;
    while (node && *stack)
        node = fake_child(tree, node, tree_find_location(tree, FAKE_MODULE, fake_frame(&stack)));
    return node;
}

arena_ref fake_pseudo_child(const struct tree *tree, arena_ref parent, enum pseudo_frame pseudo)
{
    arena_ref location =
        pseudo < PSEUDO_COUNT ? tree->pseudo[pseudo] : tree_find_location(tree, 0, (uint64_t)pseudo + 1);
    return location ? fake_child(tree, parent, location) : 0;
}

void fake_add_values(struct values *sum, const struct values *values)
{
    sum->samples += values->samples;
    sum->cpu_ns += values->cpu_ns;
    sum->rundelay_ns += values->rundelay_ns;
    sum->blocked_ns += values->blocked_ns;
}

arena_ref fake_next(const struct tree *tree, arena_ref root, arena_ref node)
{
    arena_ref next = tree_node(tree, node)->first_child;
    while (!next && node != root) {
        next = tree_node(tree, node)->next_sibling;
        node = tree_node(tree, node)->parent;
    }
    return next;
}

struct values fake_sum(const struct tree *tree, arena_ref root)
{
    struct values sum = {0};
    for (arena_ref node = root; node; node = fake_next(tree, root, node))
        fake_add_values(&sum, &tree_node(tree, node)->self);
    return sum;
}

uint64_t fake_wall_ns(const struct tree *tree, arena_ref root)
{
    const struct values sum = fake_sum(tree, root);
    return tree_wall_ns(&sum);
}

void fake_assert_values(const struct tree *tree, arena_ref node, struct values expected)
{
    assert_int_not_equal(node, 0);
    const struct values *self = &tree_node(tree, node)->self;
    assert_int_equal(self->samples, expected.samples);
    assert_int_equal(self->cpu_ns, expected.cpu_ns);
    assert_int_equal(self->rundelay_ns, expected.rundelay_ns);
    assert_int_equal(self->blocked_ns, expected.blocked_ns);
}
