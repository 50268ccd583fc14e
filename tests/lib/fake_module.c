#include "fake_module.h"

#include <stdlib.h>

arena_ref fake_module(struct module_list *list, const char *path, uint64_t load_bias)
{
    arena_ref ref = arena_alloc(list->arena, sizeof(struct module));
    if (!ref)
        abort();
    arena_ref name = arena_strdup(list->arena, path);
    struct module *module = arena_at(list->arena, ref);
    *module = (struct module){.load_bias = load_bias, .path = name, .name = name, .next = list->newest};
    list->newest = ref;
    list->count++;
    return ref;
}

uint32_t fake_location_index(struct tree *tree, arena_ref module, uint64_t address, uint64_t function_start)
{
    arena_ref ref = tree_location(tree, module, address, function_start);
    if (!ref)
        abort();
    return tree_location_at(tree, ref)->index;
}
