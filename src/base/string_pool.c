/* Blocks are filled from the front and never used again. A string longer than a block gets its own. */
#include "string_pool.h"

#include "arena.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct string_block {
    struct string_block *older;
    size_t size_bytes, used_bytes; /* header included */
};

static struct string_block *block_with_room(struct string_pool *pool, size_t bytes)
{
    struct string_block *block = pool->newest;
    if (block && block->size_bytes - block->used_bytes >= bytes)
        return block;
    size_t size_bytes = sizeof *block + bytes;
    if (size_bytes < BLOCK_BYTES)
        size_bytes = BLOCK_BYTES;
    block = scratch_alloc(size_bytes);
    if (!block)
        return NULL;
    *block = (struct string_block){pool->newest, size_bytes, sizeof *block};
    pool->newest = block;
    return block;
}

const char *string_pool_join(struct string_pool *pool, const char *string, size_t bytes, const char *suffix)
{
    size_t suffix_bytes = strlen(suffix);
    if (bytes > SIZE_MAX / 4)
        return NULL;
    struct string_block *block = block_with_room(pool, bytes + suffix_bytes + 1);
    if (!block)
        return NULL;
    char *copy = (char *)block + block->used_bytes;
    memcpy(copy, string, bytes);
    memcpy(copy + bytes, suffix, suffix_bytes + 1);
    block->used_bytes += bytes + suffix_bytes + 1;
    return copy;
}

const char *string_pool_add(struct string_pool *pool, const char *string, size_t bytes)
{
    return string_pool_join(pool, string, bytes, "");
}

void string_pool_deinit(struct string_pool *pool)
{
    while (pool->newest) {
        struct string_block *block = pool->newest;
        pool->newest = block->older;
        scratch_free(block, block->size_bytes);
    }
}
