/* A path is made after the one around it, so sums go outwards from the newest to the oldest. */
#include "firefox_paths.h"
#include "base/arena.h"
#include "profile/wait_labels.h"

#include <errno.h>

static size_t nodes_bytes(const struct profile *profile)
{
    return sizeof(uint32_t) * tree_node_index_count(profile->arena);
}

/* 1 + the path of a node's innermost frame; a wait label has that of its leaf. */
static uint32_t make_path(struct firefox_paths *paths, const struct profile *profile, arena_ref node)
{
    const struct symbols *symbols = profile->symbols;
    const struct tree_node *at = tree_node(profile->tree, node);
    uint32_t count, path = paths->of_node[tree_node_index(at->parent)];
    if (path && wait_label_is(profile->tree, tree_location_at(profile->tree, at->location)))
        return path;
    const struct symbol_frame *frames =
        symbols_frames(symbols, tree_location_at(profile->tree, at->location)->index, &count);
    for (uint32_t i = count; i-- > 0;) {
        const struct firefox_path key = {.key = {path, frames[i].function}};
        path = 1 + intern_table_intern(&paths->table, &key.key);
    }
    return path;
}

static void add_spent(struct firefox_path *path, const struct tree *tree, const struct meaning *meaning,
                      arena_ref node)
{
    const struct values *self = &tree_node(tree, node)->self;
    const arena_ref leaf = wait_label_leaf(tree, tree, node);
    const struct location *location = tree_location_at(tree, tree_node(tree, leaf)->location);
    if (location->pseudo) {
        path->spent_ns[CATEGORY_OTHER] += tree_wall_ns(self);
        return;
    }
    path->spent_ns[CATEGORY_RUNNING] += self->cpu_ns;
    path->spent_ns[CATEGORY_WAITS + WAIT_CPU] += self->rundelay_ns;
    path->spent_ns[CATEGORY_WAITS + meaning->nodes[tree_node_index(node)].wait] += self->blocked_ns;
}

static uint32_t most_spent(const struct firefox_path *path)
{
    uint32_t most = CATEGORY_RUNNING;
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        most = path->spent_ns[i] > path->spent_ns[most] ? i : most;
    return most;
}

static void choose_categories(struct firefox_paths *paths)
{
    for (uint32_t i = paths->table.count; i-- > 0;) {
        struct firefox_path *path = intern_table_at(&paths->table, i);
        path->category = most_spent(path);
        struct firefox_path *around =
            path->key.parent ? intern_table_at(&paths->table, path->key.parent - 1) : NULL;
        for (int j = 0; around && j < CATEGORY_COUNT; j++)
            around->spent_ns[j] += path->spent_ns[j];
    }
}

int firefox_paths_init(struct firefox_paths *paths, const struct profile *profile,
                       const struct meaning *meaning)
{
    const struct tree *tree = profile->tree;
    *paths = (struct firefox_paths){.bytes = nodes_bytes(profile)};
    int status =
        intern_table_init(&paths->table, sizeof(struct firefox_path), sizeof((struct firefox_path){0}.key));
    paths->of_node = scratch_alloc(paths->bytes);
    if (status < 0 || !paths->of_node)
        return -ENOMEM;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node)) {
            uint32_t path = make_path(paths, profile, node);
            paths->of_node[tree_node_index(node)] = path;
            add_spent(intern_table_at(&paths->table, path - 1), tree, meaning, node);
        }
    }
    choose_categories(paths);
    return paths->table.failed ? -ENOMEM : 0;
}

void firefox_paths_deinit(struct firefox_paths *paths)
{
    intern_table_deinit(&paths->table);
    scratch_free(paths->of_node, paths->bytes);
    paths->of_node = NULL;
}
