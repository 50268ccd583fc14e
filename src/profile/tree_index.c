#include "tree_index.h"

#include <errno.h>
#include <string.h>

void tree_index_place(struct tree_index *index, uint64_t hash, arena_ref ref)
{
    uint32_t mask = index->capacity - 1;
    uint32_t at = (uint32_t)hash & mask;
    while (index->slots[at])
        at = (at + 1) & mask;
    index->slots[at] = ref;
    index->used++;
}

int tree_index_init(struct tree_index *index, uint32_t capacity)
{
    *index = (struct tree_index){.capacity = capacity};
    index->slots = scratch_alloc(sizeof(arena_ref) * capacity);
    return index->slots ? 0 : -ENOMEM;
}

void tree_index_deinit(struct tree_index *index)
{
    scratch_free(index->slots, sizeof(arena_ref) * index->capacity);
    *index = (struct tree_index){0};
}

bool tree_index_reserve(const struct tree *tree, struct tree_index *index, tree_index_hash_fn *hash_of)
{
    if (index->used * 2 < index->capacity)
        return true;
    if (index->capacity >= UINT32_MAX / 2)
        return false;
    struct tree_index larger;
    if (tree_index_init(&larger, index->capacity * 2) < 0)
        return false;
    for (uint32_t i = 0; i < index->capacity; i++) {
        if (index->slots[i])
            tree_index_place(&larger, hash_of(tree, index->slots[i]), index->slots[i]);
    }
    tree_index_deinit(index);
    *index = larger;
    return true;
}

void tree_index_clear(struct tree_index *index)
{
    struct tree_index fresh;
    if (tree_index_init(&fresh, TREE_INDEX_FIRST_CAPACITY) == 0) {
        tree_index_deinit(index);
        *index = fresh;
        return;
    }
    memset(index->slots, 0, sizeof(arena_ref) * index->capacity);
    index->used = 0;
}

/* Deletion without marks (Knuth, TAOCP 3, 6.4, algorithm R): what a search would miss moves into the gap. */
void tree_index_remove(const struct tree *tree, struct tree_index *index, tree_index_hash_fn *hash_of,
                       arena_ref ref)
{
    const uint32_t mask = index->capacity - 1;
    uint32_t gap = (uint32_t)hash_of(tree, ref) & mask;
    while (index->slots[gap] != ref)
        gap = (gap + 1) & mask;
    for (uint32_t at = (gap + 1) & mask; index->slots[at]; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)hash_of(tree, index->slots[at]) & mask;
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            index->slots[gap] = index->slots[at];
            gap = at;
        }
    }
    index->slots[gap] = 0;
    index->used--;
}
