/*
 * Children are found through one hash table over (parent, location) for the whole tree. A node costs 80 bytes
 * in the arena and 8 to 16 in the table. A lookup is one probe, whatever the number of siblings.
 */
#include "tree.h"
#include "tree_index.h"
#include "tree_text.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const pseudo_names[PSEUDO_KINDS] = {
    [PSEUDO_UNSAMPLED] = "[unsampled]", [PSEUDO_NOT_RESPONDING] = "[not responding]",
    [PSEUDO_TRUNCATED] = "[truncated]", [PSEUDO_OVERFLOW] = "[overflow]",
    [PSEUDO_UNLOADED] = "[unloaded]",   [PSEUDO_UNINTERESTING] = "[uninteresting]",
    [PSEUDO_STOPPED] = "[stopped]",     [PSEUDO_NOT_OBSERVED] = "[not observed]",
};

const char *tree_pseudo_name(enum pseudo_frame pseudo)
{
    return pseudo_names[pseudo];
}

static uint64_t node_hash(arena_ref parent, arena_ref location)
{
    return tree_hash_mix((uint64_t)parent << 32 | location);
}

static uint64_t location_hash(arena_ref module, uint64_t address)
{
    return tree_hash_mix(address ^ (uint64_t)module << 48 ^ module);
}

static uint64_t node_hash_of(const struct tree *tree, arena_ref ref)
{
    const struct tree_node *node = tree_node(tree, ref);
    return node_hash(node->parent, node->location);
}

static uint64_t location_hash_of(const struct tree *tree, arena_ref ref)
{
    const struct location *location = tree_location_at(tree, ref);
    uint64_t hash;
    return tree_text_hash(tree, location, &hash) ? hash : location_hash(location->module, location->address);
}

static int make_first_records(struct tree *tree)
{
    for (int i = 0; i < PSEUDO_COUNT; i++) {
        tree->pseudo[i] = tree_location(tree, 0, (uint64_t)i + 1, 0);
        if (!tree->pseudo[i])
            return -ENOMEM;
        tree_location_at(tree, tree->pseudo[i])->pseudo = 1 + (uint32_t)i;
    }
    tree->spare_root = tree_root(tree, 0);
    tree->move = arena_alloc_reserved(tree->arena, sizeof(struct tree_move));
    return tree->spare_root && tree->move ? 0 : -ENOMEM;
}

static int init_indexes(struct tree *tree)
{
    int status = tree_index_init(&tree->node_index, TREE_INDEX_FIRST_CAPACITY);
    return status == 0 ? tree_index_init(&tree->location_index, TREE_INDEX_FIRST_CAPACITY) : status;
}

int tree_init(struct tree *tree, struct arena *arena)
{
    *tree = (struct tree){.arena = arena};
    int status = init_indexes(tree);
    if (status == 0)
        status = make_first_records(tree);
    if (status < 0)
        tree_deinit(tree);
    return status;
}

static int index_one(struct tree *tree, struct tree_index *index, tree_index_hash_fn *hash_of, arena_ref ref)
{
    if (!tree_index_reserve(tree, index, hash_of))
        return -ENOMEM;
    tree_index_place(index, hash_of(tree, ref), ref);
    return 0;
}

int tree_index_all(struct tree *tree)
{
    int status = init_indexes(tree);
    for (arena_ref ref = tree->newest_location; ref && status == 0; ref = tree_location_at(tree, ref)->next)
        status = index_one(tree, &tree->location_index, location_hash_of, ref);
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node && status == 0;
             node = tree_next(tree, root, node))
            status = index_one(tree, &tree->node_index, node_hash_of, node);
    }
    return status;
}

void tree_deinit(struct tree *tree)
{
    tree_index_deinit(&tree->node_index);
    tree_index_deinit(&tree->location_index);
}

void tree_clear(struct tree *tree)
{
    struct tree_index node_index = tree->node_index, location_index = tree->location_index;
    tree_index_clear(&node_index);
    tree_index_clear(&location_index);
    *tree = (struct tree){.arena = tree->arena, .node_index = node_index, .location_index = location_index};
    make_first_records(tree); /* this fitted into the arena once before */
}

typedef arena_ref arena_alloc_fn(struct arena *arena, size_t bytes);

/* A zeroed node, if possible one that was dropped. 0 without memory. */
static arena_ref alloc_node(struct tree *tree, arena_alloc_fn *alloc)
{
    const arena_ref ref = tree->dropped;
    if (!ref)
        return alloc(tree->arena, sizeof(struct tree_node));
    tree->dropped = tree_node(tree, ref)->location;
    tree->dropped_count--;
    memset(tree_node(tree, ref), 0, sizeof(struct tree_node));
    return ref;
}

arena_ref tree_root(struct tree *tree, uint32_t thread_number)
{
    arena_ref ref = alloc_node(tree, arena_alloc_reserved);
    if (!ref) {
        tree->overflows++;
        return tree->spare_root;
    }
    struct tree_node *root = tree_node(tree, ref);
    root->thread = thread_number;
    root->next_sibling = tree->newest_root;
    sig_keep_order();
    tree->newest_root = ref;
    tree->node_count++;
    return ref;
}

arena_ref tree_find_location(const struct tree *tree, arena_ref module, uint64_t address)
{
    uint32_t mask = tree->location_index.capacity - 1;
    uint32_t at = (uint32_t)location_hash(module, address) & mask;
    for (; tree->location_index.slots[at]; at = (at + 1) & mask) {
        const struct location *location = tree_location_at(tree, tree->location_index.slots[at]);
        if (location->address == address && location->module == module)
            return tree->location_index.slots[at];
    }
    return 0;
}

/* The record is complete before it is linked: a mapped store may be left to its reader at any moment. It is
 * not yet in the index. 0 without memory. */
static arena_ref link_location(struct tree *tree, const struct location *what)
{
    arena_ref ref = arena_alloc(tree->arena, sizeof(struct location));
    if (!ref)
        return 0;
    struct location *location = tree_location_at(tree, ref);
    *location = *what;
    location->index = tree->location_count++;
    location->next = tree->newest_location;
    sig_keep_order();
    tree->newest_location = ref;
    return ref;
}

arena_ref tree_add_location(struct tree *tree, arena_ref module, uint64_t address, uint64_t function_start)
{
    return link_location(
        tree, &(struct location){.module = module, .address = address, .function_start = function_start});
}

arena_ref tree_add_indexed_location(struct tree *tree, const struct location *what)
{
    if (!tree_index_reserve(tree, &tree->location_index, location_hash_of))
        return 0;
    arena_ref ref = link_location(tree, what);
    if (ref)
        tree_index_place(&tree->location_index, location_hash_of(tree, ref), ref);
    return ref;
}

arena_ref tree_location(struct tree *tree, arena_ref module, uint64_t address, uint64_t function_start)
{
    arena_ref ref = tree_find_location(tree, module, address);
    return ref ? ref
               : tree_add_indexed_location(tree, &(struct location){.module = module,
                                                                    .address = address,
                                                                    .function_start = function_start});
}

arena_ref tree_find_child(const struct tree *tree, arena_ref parent, arena_ref location)
{
    uint32_t mask = tree->node_index.capacity - 1;
    uint32_t at = (uint32_t)node_hash(parent, location) & mask;
    for (; tree->node_index.slots[at]; at = (at + 1) & mask) {
        const struct tree_node *node = tree_node(tree, tree->node_index.slots[at]);
        if (node->parent == parent && node->location == location)
            return tree->node_index.slots[at];
    }
    return 0;
}

static arena_ref find_or_make_child(struct tree *tree, arena_ref parent, arena_ref location,
                                    arena_alloc_fn *alloc)
{
    arena_ref ref = tree_find_child(tree, parent, location);
    if (ref)
        return ref;
    if (!tree_index_reserve(tree, &tree->node_index, node_hash_of))
        return 0;
    ref = alloc_node(tree, alloc);
    if (!ref)
        return 0;
    struct tree_node *above = tree_node(tree, parent), *node = tree_node(tree, ref);
    node->parent = parent;
    node->location = location;
    node->depth = above->depth + 1;
    node->next_sibling = above->first_child;
    sig_keep_order();
    above->first_child = ref;
    tree->node_count++;
    tree_index_place(&tree->node_index, node_hash(parent, location), ref);
    return ref;
}

arena_ref tree_child(struct tree *tree, arena_ref parent, arena_ref location)
{
    return find_or_make_child(tree, parent, location, arena_alloc);
}

arena_ref tree_pseudo_location(struct tree *tree, enum pseudo_frame pseudo)
{
    if (pseudo < PSEUDO_COUNT)
        return tree->pseudo[pseudo];
    arena_ref ref = tree_find_location(tree, 0, (uint64_t)pseudo + 1);
    const struct location location = {.address = (uint64_t)pseudo + 1, .pseudo = 1 + (uint32_t)pseudo};
    return ref ? ref : tree_add_indexed_location(tree, &location);
}

arena_ref tree_pseudo_child(struct tree *tree, arena_ref parent, enum pseudo_frame pseudo)
{
    arena_ref location = tree_pseudo_location(tree, pseudo);
    arena_ref child = location ? find_or_make_child(tree, parent, location, arena_alloc_reserved) : 0;
    if (!child)
        child = tree_find_child(tree, parent, tree->pseudo[PSEUDO_OVERFLOW]);
    return child ? child : parent;
}

arena_ref tree_path(struct tree *tree, arena_ref root, const arena_ref *path, size_t depth)
{
    arena_ref node = root;
    for (size_t i = depth; i-- > 0;) {
        arena_ref child = path[i] ? tree_child(tree, node, path[i]) : 0;
        if (!child) {
            tree->overflows++;
            return tree_pseudo_child(tree, node, PSEUDO_OVERFLOW);
        }
        node = child;
    }
    return node;
}

bool tree_same_function(const struct tree *tree, arena_ref a, arena_ref b)
{
    const struct location *x = tree_location_at(tree, tree_node(tree, a)->location);
    const struct location *y = tree_location_at(tree, tree_node(tree, b)->location);
    return x == y ||
           (x->module == y->module && x->function_start != 0 && x->function_start == y->function_start);
}

arena_ref tree_ancestor_at(const struct tree *tree, arena_ref node, uint32_t depth)
{
    while (tree_node(tree, node)->depth > depth)
        node = tree_node(tree, node)->parent;
    return node;
}

arena_ref tree_next(const struct tree *tree, arena_ref root, arena_ref node)
{
    arena_ref next = tree_node(tree, node)->first_child;
    for (; !next && node != root; node = tree_node(tree, node)->parent)
        next = tree_node(tree, node)->next_sibling;
    return next;
}

void tree_unlink_root(struct tree *tree, arena_ref newer, arena_ref root)
{
    arena_ref at = newer ? newer : tree->newest_root;
    while (tree_node(tree, at)->next_sibling != root)
        at = tree_node(tree, at)->next_sibling;
    tree_node(tree, at)->next_sibling = tree_node(tree, root)->next_sibling;
}

/* Only the location is overwritten, which tree_next does not read. */
void tree_drop(struct tree *tree, arena_ref root)
{
    for (arena_ref ref = root, next; ref; ref = next) {
        next = tree_next(tree, root, ref);
        if (ref != root)
            tree_index_remove(tree, &tree->node_index, node_hash_of, ref);
        tree_node(tree, ref)->location = tree->dropped;
        tree->dropped = ref;
        tree->dropped_count++;
        tree->node_count--;
    }
}
