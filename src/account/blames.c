#include "blames.h"
#include "profile/wait_nodes.h"

/* The node for a wait below a stack, 0 without room: the holder's own time is not to be mixed with blame. */
static arena_ref node_of_blame(struct tree *tree, const struct wait_locations *wait, arena_ref stack)
{
    if (!stack || !tree_node(tree, stack)->parent ||
        tree_is_label(tree_location_at(tree, tree_node(tree, stack)->location)))
        return 0;
    arena_ref node = wait_node_below(tree, stack, wait);
    return node != stack ? node : 0;
}

void blames_drop(struct blames *blames, uint32_t index)
{
    struct blame *entry = &blames->entries[index];
    if (entry->waiter)
        entry->waiter->blame.is_awaited = false;
    *entry = blames->entries[--blames->count];
}

void blames_end_stretch(struct blames *blames, struct fold_thread *waiter)
{
    for (uint32_t i = 0; waiter->blame.is_awaited && i < blames->count; i++) {
        struct blame *entry = &blames->entries[i];
        if (entry->waiter == waiter) {
            entry->ns = waiter->blame.awaiting_ns;
            entry->waiter = NULL;
        }
    }
    waiter->blame = (struct fold_blame){.before_ns = waiter->blame.before_ns};
}

static void give(const struct fold *fold, struct fold_blame *blame, arena_ref node, arena_ref root,
                 uint64_t ns)
{
    if (!node)
        return;
    blame->node = node;
    blame->root = root;
    tree_node(fold->tree, node)->blame_ns += ns;
}

void blames_give(const struct fold *fold, struct fold_thread *waiter, const struct wait_locations *wait,
                 struct blamed blamed)
{
    give(fold, &waiter->blame, node_of_blame(fold->tree, wait, blamed.node), blamed.root,
         waiter->blame.before_ns);
}

void blames_await(struct blames *blames, struct fold_thread *waiter, const struct wait_locations *wait,
                  const struct fold_thread *holder, const void *link)
{
    if (blames->count == BLAMES_MAX)
        return;
    blames->entries[blames->count++] =
        (struct blame){.holder = holder, .waiter = waiter, .wait = *wait, .link = link};
    waiter->blame.is_awaited = true;
    waiter->blame.awaiting_ns = waiter->blame.before_ns;
}

void blames_reply(struct blames *blames, const struct fold *fold, const struct fold_thread *holder,
                  arena_ref node)
{
    for (uint32_t i = blames->count; i-- > 0;) {
        const struct blame entry = blames->entries[i];
        struct fold_blame ended = {0};
        if (entry.holder != holder)
            continue;
        blames_drop(blames, i);
        give(fold, entry.waiter ? &entry.waiter->blame : &ended, node_of_blame(fold->tree, &entry.wait, node),
             holder->root, entry.waiter ? entry.waiter->blame.awaiting_ns : entry.ns);
    }
}

void blames_forget(struct blames *blames, struct fold_thread *thread)
{
    blames_end_stretch(blames, thread);
    for (uint32_t i = blames->count; i-- > 0;) {
        if (blames->entries[i].holder == thread)
            blames_drop(blames, i);
    }
}
