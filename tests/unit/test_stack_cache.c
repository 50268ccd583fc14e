/*
 * Folding from the last shared node on gives the tree that folding every stack whole gives.
 */
#include "lib/unit.h"
#include "account/fold.h"
#include "account/stack_cache.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 120, ROUNDS = 3000 };

static struct arena arena;
static struct tree tree;
static struct stack_caches caches;

static int setup(void **state)
{
    caches = (struct stack_caches){.bytes_max = 1 << 20};
    return arena_init(&arena, 64 << 20) || tree_init(&tree, &arena);
}

static int teardown(void **state)
{
    tree_deinit(&tree);
    arena_deinit(&arena);
    return 0;
}

/* Every seventh address is a frame of ours. */
static bool is_own(uint64_t address)
{
    return address % 7 == 0;
}

/* Locations of addresses, innermost first, as locate_path gives them. */
static size_t locate(const uint64_t *addresses, size_t depth, arena_ref *path, uint32_t *inner)
{
    size_t count = 0;
    for (size_t i = 0; i < depth; i++) {
        inner[i] = (uint32_t)count;
        if (!is_own(addresses[i]))
            path[count++] = tree_location(&tree, 1, addresses[i], addresses[i]);
    }
    return count;
}

/* What the walk does: `stack` is outermost first. */
static void walk(struct sig_stack_cache *cache, const uint64_t *stack, uint32_t depth, uint32_t shared)
{
    for (uint32_t i = 0; i < depth; i++)
        cache->frames[i].address = stack[i];
    cache->count = depth;
    cache->shared = shared;
    cache->walks++;
}

static void fold_path(struct fold_thread *thread, arena_ref base, const arena_ref *path, size_t depth)
{
    struct fold fold = {.tree = &tree, .period_ns = 1000};
    struct fold_observation seen = {
        .time_ns = thread->time_ns + 10, .base = base, .path = path, .depth = depth};
    fold_observe(&fold, thread, &seen);
}

/* Folds a stack by cache, and whole for another thread below the same root;
 * both must come to the same node. */
static void fold_both(struct stack_cache *cache, struct fold_thread *with, struct fold_thread *without,
                      const uint64_t *stack, uint32_t depth)
{
    uint64_t addresses[DEPTH_MAX];
    arena_ref path[DEPTH_MAX];
    uint32_t inner[DEPTH_MAX];
    for (uint32_t i = 0; i < depth; i++)
        addresses[i] = stack[depth - 1 - i];
    size_t fresh = depth - cache->walk->shared;
    arena_ref base = stack_cache_base(cache, 0);
    if (!base)
        fresh = stack_cache_whole(cache, addresses, fresh, DEPTH_MAX);
    size_t count = locate(addresses, fresh, path, inner);
    fold_path(with, base, path, count);
    stack_cache_keep(cache, &tree, with->node, inner, fresh, 0);
    uint32_t ignored[DEPTH_MAX];
    count = locate(addresses, depth, path, ignored);
    fold_path(without, 0, path, count);
    assert_int_equal(with->node, without->node);
}

static void shared_frames_are_folded_once(void **state)
{
    struct stack_cache *cache = stack_cache_create(&caches, DEPTH_MAX / 2);
    struct fold_thread with, without;
    uint64_t stack[DEPTH_MAX];
    uint32_t depth = 0;
    size_t based = 0;
    fold_thread_begin(&with, tree_root(&tree, 1), &(struct fold_clocks){0, 0, FOLD_NO_DELAY});
    fold_thread_begin(&without, with.root, &(struct fold_clocks){0, 0, FOLD_NO_DELAY});
    srand(5);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t shared = depth ? (uint32_t)rand() % depth : 0;
        depth = shared;
        do
            stack[depth++] = 1 + (uint64_t)rand() % 30;
        while (depth < DEPTH_MAX && rand() % 10);
        walk(cache->walk, stack, depth, round ? shared : 0);
        if (rand() % 20 == 0) {
            walk(cache->walk, stack, depth, depth - 1); /* a reply that nobody has folded */
        }
        based += stack_cache_base(cache, 0) != 0;
        fold_both(cache, &with, &without, stack, depth);
    }
    assert_true(based > ROUNDS / 2);
    stack_cache_destroy(&caches, cache);
    assert_int_equal(caches.bytes, 0);
}

static void memory_is_bounded(void **state)
{
    struct stack_cache *all[1000];
    size_t count = 0;
    while (count < 1000 && (all[count] = stack_cache_create(&caches, 20)))
        count++;
    assert_in_range(count, 10, 999);
    assert_true(caches.bytes <= caches.bytes_max);
    stack_cache_destroy(&caches, all[--count]);
    assert_non_null(all[count] = stack_cache_create(&caches, 20));
    for (size_t i = 0; i <= count; i++)
        stack_cache_destroy(&caches, all[i]);
    stack_cache_destroy(&caches, NULL);
    assert_int_equal(caches.bytes, 0);
}

/* After a walk that nothing was kept of, nothing is known. */
static void what_was_not_folded_is_not_gone_on_from(void **state)
{
    struct stack_cache *cache = stack_cache_create(&caches, 20);
    uint64_t stack[] = {1, 2, 3};
    uint32_t inner[] = {0, 1, 2};
    arena_ref root = tree_root(&tree, 1), node = root;
    assert_int_equal(stack_cache_base(cache, 0), 0);
    walk(cache->walk, stack, 3, 0);
    for (int i = 0; i < 3; i++)
        node = tree_child(&tree, node, tree_location(&tree, 1, stack[i], stack[i]));
    stack_cache_keep(cache, &tree, node, inner, 3, 0);
    walk(cache->walk, stack, 3, 2);
    assert_int_equal(stack_cache_base(cache, 0), tree_node(&tree, node)->parent);
    assert_int_equal(stack_cache_base(cache, 7), 0); /* other labels, other nodes */
    walk(cache->walk, stack, 3, 2);
    assert_int_equal(stack_cache_base(cache, 0), 0);
    cache->walk->count = 0; /* a walk that did not reach the root */
    stack_cache_keep(cache, &tree, node, inner, 3, 0);
    walk(cache->walk, stack, 3, 2);
    assert_int_equal(stack_cache_base(cache, 0), 0);
    stack_cache_destroy(&caches, cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shared_frames_are_folded_once, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_not_folded_is_not_gone_on_from, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
