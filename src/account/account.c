#include "account.h"
#include "base/arena.h"
#include "profile/wait_nodes.h"
#include "interp_stack.h"

#include <errno.h>
#include <string.h>

int account_init(struct account *account, struct tree *tree, const struct modules *modules,
                 const struct account_options *options)
{
    account->path_capacity = (size_t)options->depth + 1 + LABELS_DEPTH_MAX;
    account->labels = options->labels;
    account->stack_caches.bytes_max = options->cache_bytes;
    account->fold =
        (struct fold){.tree = tree, .period_ns = options->period_ns, .timeline = options->timeline};
    account->interp = options->interp;
    locate_init(&account->locate, tree, modules);
    account->locate.interp = options->interp;
    account->path = scratch_alloc(sizeof(arena_ref) * account->path_capacity);
    account->inner = scratch_alloc(sizeof(uint32_t) * account->path_capacity);
    account->whole = scratch_alloc(sizeof(uint64_t) * account->path_capacity);
    return account->path && account->inner && account->whole ? 0 : -ENOMEM;
}

void account_deinit(struct account *account)
{
    interp_stack_deinit(account);
    scratch_free(account->path, sizeof(arena_ref) * account->path_capacity);
    scratch_free(account->inner, sizeof(uint32_t) * account->path_capacity);
    scratch_free(account->whole, sizeof(uint64_t) * account->path_capacity);
}

/* Adds the shared frames when the node to fold from is not known. */
static void complete_stack(struct account *account, const struct stack_cache *cache,
                           struct locate_stack *stack)
{
    memcpy(account->whole, stack->addresses, sizeof(uint64_t) * stack->depth);
    stack->depth =
        stack_cache_whole(cache, account->whole, stack->depth, account->path_capacity - 1 - LABELS_DEPTH_MAX);
    stack->addresses = account->whole;
}

/* A thread gets a cache once it was found deep, and a larger one once it was found deeper. */
static void provide_cache(struct account *account, struct stack_cache **cache, uint32_t depth)
{
    if (depth < STACK_CACHE_LEAST_FRAMES || (*cache && depth <= (*cache)->frames))
        return;
    stack_cache_destroy(&account->stack_caches, *cache);
    *cache = stack_cache_create(&account->stack_caches, depth);
}

/* Adds the thread's labels as the outermost frames of its stack. The path of a base has them already. */
static void add_labels(struct account *account, uint32_t stack, arena_ref *path,
                       struct fold_observation *observation)
{
    const struct label_table *labels = account->labels;
    uint32_t set[LABELS_DEPTH_MAX];
    size_t count = labels_of_stack(labels, stack, set);
    for (size_t i = observation->base ? 0 : count; i-- > 0;)
        path[observation->depth++] =
            tree_label(account->fold.tree, labels_key(labels, set[i]), labels_value(labels, set[i]));
    observation->label_count = (uint32_t)count;
}

/* Folds from the root. Frames of an interpreter may differ where native ones do not, so that the stack cache
 * knows no node of such a stack. */
static void fold_interp_stack(struct account *account, struct fold_thread *thread, struct stack_cache *cache,
                              const struct account_stack *seen, struct locate_stack *stack,
                              struct fold_observation *observation)
{
    arena_ref *path = account->path;
    if (seen->is_cached)
        complete_stack(account, cache, stack);
    observation->base = 0;
    observation->depth = interp_stack_path(account, stack, seen->interp, &path);
    if (observation->depth == 0)
        observation->depth = locate_path(&account->locate, stack, path);
    observation->path = path;
    add_labels(account, seen->labels, path, observation);
    fold_observe(&account->fold, thread, observation);
    if (cache)
        stack_cache_forget(cache);
}

/* Folds from the last node that the stack shares with the one before, or from the root. */
static void fold_native_stack(struct account *account, struct fold_thread *thread, struct stack_cache *cache,
                              const struct account_stack *seen, struct locate_stack *stack,
                              struct fold_observation *observation)
{
    uint64_t overflows = account->fold.tree->overflows;
    observation->base = cache ? stack_cache_base(cache, seen->labels) : 0;
    if (cache && !observation->base)
        complete_stack(account, cache, stack);
    observation->depth = locate_path(&account->locate, stack, account->path);
    add_labels(account, seen->labels, account->path, observation);
    fold_observe(&account->fold, thread, observation);
    if (cache && overflows == account->fold.tree->overflows)
        stack_cache_keep(cache, account->fold.tree, thread->node, account->inner, stack->depth, seen->labels);
}

static struct locate_stack to_locate(const struct account *account, const struct account_stack *seen)
{
    return (struct locate_stack){.addresses = seen->addresses,
                                 .depth = seen->depth,
                                 .is_truncated = seen->is_truncated,
                                 .moment = seen->moment,
                                 .inner = account->inner};
}

static void fold_stack(struct account *account, struct fold_thread *thread, struct stack_cache **of_thread,
                       const struct account_stack *seen, struct fold_observation *observation)
{
    struct stack_cache *cache = seen->is_cached ? *of_thread : NULL;
    struct locate_stack stack = to_locate(account, seen);
    if (seen->interp)
        fold_interp_stack(account, thread, cache, seen, &stack, observation);
    else
        fold_native_stack(account, thread, cache, seen, &stack, observation);
    provide_cache(account, of_thread, cache ? cache->walk->count : seen->depth);
}

void account_sample(struct account *account, struct fold_thread *thread, struct stack_cache **cache,
                    const struct account_stack *stack, struct fold_observation *observation)
{
    observation->path = account->path;
    if (fold_has_stack(observation))
        fold_stack(account, thread, cache, stack, observation);
    else
        fold_observe(&account->fold, thread, observation);
}

arena_ref account_find_node(struct account *account, const struct fold_thread *thread,
                            const struct account_stack *stack)
{
    struct locate_stack addresses = to_locate(account, stack);
    struct fold_observation seen = {0};
    arena_ref *path = account->path;
    if (!wait_nodes_have_room(account->fold.tree))
        return 0;
    if (stack->interp)
        seen.depth = interp_stack_path(account, &addresses, stack->interp, &path);
    if (seen.depth == 0)
        seen.depth = locate_path(&account->locate, &addresses, path);
    add_labels(account, stack->labels, path, &seen);
    return tree_path(account->fold.tree, thread->root, path, seen.depth);
}

/* ---- events on the timeline ---- */

/* One event for each library, not for each of its segments. */
static void note_module(struct timeline *timeline, const struct modules *modules,
                        const struct modules_entry *entry, enum timeline_event_kind kind, uint64_t now_ns)
{
    if (!entry->record || !entry->is_first_segment)
        return;
    const struct module *module = arena_at(modules->list.arena, entry->record);
    const struct timeline_event event = {
        .begin_ns = now_ns, .end_ns = now_ns, .name = module->path, .kind = kind};
    timeline_event(timeline, &event);
}

/* Events for what has changed since the last snapshot; none for the first one, at the program's start.
 * Both snapshots list segments by their address. A record is one segment of one loading of a library. */
static void note_modules(struct timeline *timeline, const struct modules *modules, uint64_t now_ns)
{
    const struct modules_snapshot *before = &modules->before, *now = &modules->now;
    uint32_t old = 0, new = 0;
    while (before->number > 0 && (old < before->count || new < now->count)) {
        const struct modules_entry *a = old < before->count ? &before->entries[old] : NULL;
        const struct modules_entry *b = new < now->count ? &now->entries[new] : NULL;
        if (a && b && a->record == b->record) {
            old++;
            new ++;
        } else if (a && (!b || a->start_pc <= b->start_pc)) {
            note_module(timeline, modules, a, EVENT_UNLOADED, now_ns);
            old++;
        } else {
            note_module(timeline, modules, b, EVENT_LOADED, now_ns);
            new ++;
        }
    }
}

void account_modules_changed(struct account *account, uint64_t now_ns)
{
    locate_forget(&account->locate);
    if (account->fold.timeline)
        note_modules(account->fold.timeline, account->locate.modules, now_ns);
}

void account_note_late(struct account *account, uint64_t late_ticks, uint64_t now_ns)
{
    struct timeline *timeline = account->fold.timeline;
    if (!timeline || late_ticks == timeline->late_ticks)
        return;
    uint64_t missed = late_ticks - timeline->late_ticks, span_ns = missed * account->fold.period_ns;
    timeline->late_ticks = late_ticks;
    const struct timeline_event event = {
        .begin_ns = span_ns < now_ns ? now_ns - span_ns : 0,
        .end_ns = now_ns,
        .number = missed,
        .kind = EVENT_LATE,
    };
    timeline_event(timeline, &event);
}
