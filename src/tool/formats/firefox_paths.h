/*
 * The paths of a Firefox profile: the distinct stacks of functions of all threads, and what the time of each
 * is spent on, callees included.
 *
 * Readers draw one node for a path, whatever addresses and threads it has. Where its stacks have several
 * categories they draw it grey. So all stacks of a path get the category that most of its time has.
 *
 * Called from: firefox_tables.c and firefox_stacks.c. Scratch memory: four bytes for each node of the
 * profile, and about 160 for each path.
 */
#ifndef WALLPROF_FIREFOX_PATHS_H
#define WALLPROF_FIREFOX_PATHS_H

#include "base/intern_table.h"
#include "firefox_categories.h"
#include "profile/profile.h"
#include "tool/meaning/meaning.h"

struct firefox_paths {
    struct intern_table table; /* struct firefox_path */
    uint32_t *of_node;         /* by tree_node_index: 1 + the path of its innermost frame; 0 for a root */
    size_t bytes;
};

struct firefox_path {
    struct {
        uint32_t parent; /* 1 + the path around it, 0 without */
        uint32_t function;
    } key;
    uint64_t spent_ns[CATEGORY_COUNT];
    uint32_t category;
};

/* 0 or -ENOMEM; deinit in any case. */
int firefox_paths_init(struct firefox_paths *paths, const struct profile *profile,
                       const struct meaning *meaning);
void firefox_paths_deinit(struct firefox_paths *paths);

/* The path of the innermost frame of a node that is no root. */
static inline const struct firefox_path *firefox_path_of(const struct firefox_paths *paths, arena_ref node)
{
    return intern_table_at(&paths->table, paths->of_node[tree_node_index(node)] - 1);
}

/* The path around one that has one. */
static inline const struct firefox_path *firefox_path_around(const struct firefox_paths *paths,
                                                             const struct firefox_path *path)
{
    return intern_table_at(&paths->table, path->key.parent - 1);
}

#endif
