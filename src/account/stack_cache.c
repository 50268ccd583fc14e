#include "stack_cache.h"

struct stack_cache *stack_cache_create(struct stack_caches *caches, uint32_t depth)
{
    uint32_t frames = 4 * STACK_CACHE_LEAST_FRAMES;
    while (frames < 2 * (size_t)depth)
        frames *= 2;
    size_t walk_bytes = sizeof(struct sig_stack_cache) + sizeof(struct sig_stack_cache_frame) * 2 * frames;
    size_t bytes = sizeof(struct stack_cache) + walk_bytes + sizeof(arena_ref) * frames;
    struct stack_cache *cache = bytes <= caches->bytes_max - caches->bytes ? scratch_alloc(bytes) : NULL;
    if (!cache)
        return NULL;
    caches->bytes += bytes;
    cache->bytes = bytes;
    cache->frames = frames;
    cache->walk = (struct sig_stack_cache *)(void *)(cache + 1);
    cache->walk->capacity = 2 * frames;
    cache->nodes = (arena_ref *)(void *)((char *)cache->walk + walk_bytes);
    return cache;
}

void stack_cache_destroy(struct stack_caches *caches, struct stack_cache *cache)
{
    if (!cache)
        return;
    caches->bytes -= cache->bytes;
    scratch_free(cache, cache->bytes);
}

arena_ref stack_cache_base(const struct stack_cache *cache, uint32_t labels)
{
    bool is_next = cache->walks != 0 && cache->walk->walks == cache->walks + 1 && cache->labels == labels;
    return is_next && cache->walk->shared > 0 ? cache->nodes[cache->walk->shared - 1] : 0;
}

size_t stack_cache_whole(const struct stack_cache *cache, uint64_t *addresses, size_t count, size_t capacity)
{
    for (uint32_t i = cache->walk->shared; i-- > 0 && count < capacity;)
        addresses[count++] = cache->walk->frames[i].address;
    return count;
}

void stack_cache_keep(struct stack_cache *cache, const struct tree *tree, arena_ref node,
                      const uint32_t *inner, size_t fresh, uint32_t labels)
{
    uint32_t count = cache->walk->count, up = 0;
    cache->walks = 0;
    if (count == 0 || count > cache->frames || fresh > count)
        return;
    for (size_t i = 0; i < fresh; i++) {
        for (; up < inner[i]; up++)
            node = tree_node(tree, node)->parent;
        cache->nodes[count - 1 - i] = node;
    }
    cache->walks = cache->walk->walks;
    cache->labels = labels;
}
