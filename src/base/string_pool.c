/* Blocks are filled from the front and never reused; a name too long for a block gets one of its own size. */
#include "string_pool.h"

#include "arena.h"

#include <stdint.h>
#include <string.h>

enum { NAME_BLOCK_BYTES = 64 * 1024 };

struct name_block {
    struct name_block *older;
    size_t size_bytes, used_bytes; /* header included */
};

static struct name_block *block_with_room(struct name_store *store, size_t bytes)
{
    struct name_block *block = store->newest;
    if (block && block->size_bytes - block->used_bytes >= bytes)
        return block;
    size_t size_bytes = sizeof *block + bytes;
    if (size_bytes < NAME_BLOCK_BYTES)
        size_bytes = NAME_BLOCK_BYTES;
    block = scratch_alloc(size_bytes);
    if (!block)
        return NULL;
    *block = (struct name_block){store->newest, size_bytes, sizeof *block};
    store->newest = block;
    return block;
}

const char *name_store_join(struct name_store *store, const char *name, size_t bytes, const char *suffix)
{
    size_t suffix_bytes = strlen(suffix);
    if (bytes > SIZE_MAX / 4)
        return NULL;
    struct name_block *block = block_with_room(store, bytes + suffix_bytes + 1);
    if (!block)
        return NULL;
    char *copy = (char *)block + block->used_bytes;
    memcpy(copy, name, bytes);
    memcpy(copy + bytes, suffix, suffix_bytes + 1);
    block->used_bytes += bytes + suffix_bytes + 1;
    return copy;
}

const char *name_store_add(struct name_store *store, const char *name, size_t bytes)
{
    return name_store_join(store, name, bytes, "");
}

void name_store_deinit(struct name_store *store)
{
    while (store->newest) {
        struct name_block *block = store->newest;
        store->newest = block->older;
        scratch_free(block, block->size_bytes);
    }
}
