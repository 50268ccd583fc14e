#include "stack_cache.h"

struct wp_memo *memo_create(struct wp_memos *memos, uint32_t depth)
{
    uint32_t frames = 4 * MEMO_LEAST_FRAMES;
    while (frames < 2 * (size_t)depth)
        frames *= 2;
    size_t walk_bytes = sizeof(struct sig_memo) + sizeof(struct sig_memo_frame) * 2 * frames;
    size_t bytes = sizeof(struct wp_memo) + walk_bytes + sizeof(arena_ref) * frames;
    struct wp_memo *memo = bytes <= memos->bytes_max - memos->bytes ? scratch_alloc(bytes) : NULL;
    if (!memo)
        return NULL;
    memos->bytes += bytes;
    memo->bytes = bytes;
    memo->frames = frames;
    memo->walk = (struct sig_memo *)(void *)(memo + 1);
    memo->walk->capacity = 2 * frames;
    memo->nodes = (arena_ref *)(void *)((char *)memo->walk + walk_bytes);
    return memo;
}

void memo_destroy(struct wp_memos *memos, struct wp_memo *memo)
{
    if (!memo)
        return;
    memos->bytes -= memo->bytes;
    scratch_free(memo, memo->bytes);
}

arena_ref memo_base(const struct wp_memo *memo, uint32_t labels)
{
    bool is_next = memo->walks != 0 && memo->walk->walks == memo->walks + 1 && memo->labels == labels;
    return is_next && memo->walk->shared > 0 ? memo->nodes[memo->walk->shared - 1] : 0;
}

size_t memo_whole(const struct wp_memo *memo, uint64_t *addresses, size_t count, size_t capacity)
{
    for (uint32_t i = memo->walk->shared; i-- > 0 && count < capacity;)
        addresses[count++] = memo->walk->frames[i].address;
    return count;
}

void memo_keep(struct wp_memo *memo, const struct wp_tree *tree, arena_ref node, const uint32_t *inner,
               size_t fresh, uint32_t labels)
{
    uint32_t count = memo->walk->count, up = 0;
    memo->walks = 0;
    if (count == 0 || count > memo->frames || fresh > count)
        return;
    for (size_t i = 0; i < fresh; i++) {
        for (; up < inner[i]; up++)
            node = tree_node(tree, node)->parent;
        memo->nodes[count - 1 - i] = node;
    }
    memo->walks = memo->walk->walks;
    memo->labels = labels;
}
