#include "locate.h"

#include <string.h>

void locate_init(struct wp_locate *locate, struct wp_tree *tree, const struct wp_modules *modules)
{
    locate->tree = tree;
    locate->modules = modules;
}

void locate_forget(struct wp_locate *locate)
{
    memset(locate->cache, 0, sizeof(locate->cache));
}

static void resolve(struct wp_locate *locate, uint64_t address, struct locate_entry *ret)
{
    arena_ref module = modules_find(locate->modules, address);
    *ret = (struct locate_entry){.address = address};
    if (module) {
        const struct wp_module *record = arena_at(locate->tree->arena, module);
        ret->is_own = record->is_own;
    }
    if (ret->is_own)
        return;
    ret->location = tree_find_location(locate->tree, module, address);
    if (!ret->location) {
        uint64_t start = module ? modules_function_start(locate->modules, module, address) : 0;
        ret->location = tree_location(locate->tree, module, address, start);
    }
}

static const struct locate_entry *look_up(struct wp_locate *locate, uint64_t address)
{
    /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product. */
    struct locate_entry *entry = &locate->cache[(address * 0x9e3779b97f4a7c15U) >> 52];
    if (entry->address != address || !address)
        resolve(locate, address, entry);
    return entry;
}

size_t locate_path(struct wp_locate *locate, const uint64_t *addresses, size_t depth, bool is_truncated,
                   arena_ref *path)
{
    size_t count = 0;
    for (size_t i = 0; i < depth; i++) {
        const struct locate_entry *entry = look_up(locate, addresses[i]);
        if (!entry->is_own)
            path[count++] = entry->location;
    }
    if (is_truncated)
        path[count++] = locate->tree->pseudo[PSEUDO_TRUNCATED];
    return count;
}
