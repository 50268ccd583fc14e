#include "locate.h"

#include <string.h>

void locate_init(struct locate *locate, struct tree *tree, const struct modules *modules)
{
    locate->tree = tree;
    locate->modules = modules;
}

void locate_forget(struct locate *locate)
{
    memset(locate->cache, 0, sizeof(locate->cache));
}

/* The location of an address in a module (0: in none), or that it is ours. */
static void resolve_in(struct locate *locate, uint64_t address, arena_ref module, struct locate_entry *ret)
{
    *ret = (struct locate_entry){.address = address};
    if (module) {
        struct module *record = arena_at(locate->tree->arena, module);
        ret->is_own = record->is_own;
        record->is_sampled = true;
    }
    if (ret->is_own)
        return;
    ret->location = tree_find_location(locate->tree, module, address);
    if (!ret->location) {
        uint64_t start = module ? modules_function_start(locate->modules, module, address) : 0;
        ret->location = tree_location(locate->tree, module, address, start);
    }
}

/* No module has changed since the request was sent: the present location, from the cache. */
static const struct locate_entry *locate_now(struct locate *locate, uint64_t address)
{
    /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product. */
    struct locate_entry *entry = &locate->cache[(address * 0x9e3779b97f4a7c15U) >> 52];
    if (entry->address != address || !address)
        resolve_in(locate, address, modules_find(locate->modules, address), entry);
    return entry;
}

/* Modules have changed: the location at that moment. */
static void locate_then(struct locate *locate, uint64_t address, const struct modules_moment *moment,
                        struct locate_entry *ret)
{
    arena_ref module;
    if (modules_at(locate->modules, address, moment, &module))
        resolve_in(locate, address, module, ret);
    else
        *ret = (struct locate_entry){.address = address, .location = locate->tree->pseudo[PSEUDO_UNLOADED]};
}

static enum interp_role role_of(const struct locate *locate, arena_ref ref)
{
    const struct location *location = ref ? tree_location_at(locate->tree, ref) : NULL;
    if (!location || location->pseudo || !locate->interp)
        return INTERP_NATIVE;
    return interp_role_of(locate->interp, location->module, location->function_start);
}

static void put_location(const struct locate *locate, const struct locate_stack *stack, arena_ref ref,
                         arena_ref *path, size_t *count)
{
    if (stack->roles)
        stack->roles[*count] = (uint8_t)role_of(locate, ref);
    path[(*count)++] = ref;
}

size_t locate_path(struct locate *locate, const struct locate_stack *stack, arena_ref *path)
{
    bool has_changed = stack->moment.snapshot != locate->modules->now.number;
    arena_ref unloaded = locate->tree->pseudo[PSEUDO_UNLOADED];
    size_t count = 0;
    for (size_t i = 0; i < stack->depth; i++) {
        struct locate_entry entry;
        if (stack->inner)
            stack->inner[i] = (uint32_t)count;
        if (has_changed)
            locate_then(locate, stack->addresses[i], &stack->moment, &entry);
        else
            entry = *locate_now(locate, stack->addresses[i]);
        bool is_repeated = count > 0 && entry.location == unloaded && path[count - 1] == unloaded;
        if (!entry.is_own && !is_repeated)
            put_location(locate, stack, entry.location, path, &count);
        else if (is_repeated && stack->inner)
            stack->inner[i]--; /* it shares the location before */
    }
    if (stack->is_truncated && stack->roles)
        stack->roles[count] = INTERP_NATIVE;
    if (stack->is_truncated)
        path[count++] = locate->tree->pseudo[PSEUDO_TRUNCATED];
    return count;
}
