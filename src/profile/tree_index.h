/*
 * The tables through which a tree finds its nodes and its locations: open addressing, in scratch memory.
 *
 * Called from: tree.c and tree_reuse.c only.
 */
#ifndef WALLPROF_TREE_INDEX_H
#define WALLPROF_TREE_INDEX_H

#include "tree.h"

enum { TREE_INDEX_FIRST_CAPACITY = 1024 };

/* The hash of a record that is, or will be, in the index. */
typedef uint64_t tree_index_hash_fn(const struct tree *tree, arena_ref ref);

/* 0 or -ENOMEM. */
int tree_index_init(struct tree_index *index, uint32_t capacity);
void tree_index_deinit(struct tree_index *index);

/* Empties the index. Without memory for a small one the large one is kept. */
void tree_index_clear(struct tree_index *index);

/* Space for one more; false without memory. At most half of the slots are in use, so a probe is short and
 * always ends. */
bool tree_index_reserve(const struct tree *tree, struct tree_index *index, tree_index_hash_fn *hash_of);

/* After tree_index_reserve. */
void tree_index_place(struct tree_index *index, uint64_t hash, arena_ref ref);

/* Takes out a record that is there. */
void tree_index_remove(const struct tree *tree, struct tree_index *index, tree_index_hash_fn *hash_of,
                       arena_ref ref);

#endif
