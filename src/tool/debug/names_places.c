#include "names_places.h"

#include "names/module_names.h"

#include <stdlib.h>
#include <string.h>

size_t names_build_id_bytes(const struct wp_module *module)
{
    return module->build_id_bytes <= MODULE_BUILD_ID_MAX_BYTES ? module->build_id_bytes : 0;
}

static int compare_files(const struct wp_arena *arena, arena_ref left, arena_ref right)
{
    const struct wp_module *a = arena_at(arena, left), *b = arena_at(arena, right);
    size_t a_bytes = names_build_id_bytes(a), b_bytes = names_build_id_bytes(b);
    int order = left == right ? 0 : strcmp(module_names_path(arena, a), module_names_path(arena, b));
    if (order == 0 && a_bytes != b_bytes)
        order = a_bytes < b_bytes ? -1 : 1;
    return order ? order : memcmp(a->build_id, b->build_id, a_bytes);
}

static int compare_places(const void *left, const void *right, void *arena)
{
    const struct names_place *a = left, *b = right;
    int order = compare_files(arena, a->module, b->module);
    if (order)
        return order;
    if (a->elf_address != b->elf_address)
        return a->elf_address < b->elf_address ? -1 : 1;
    return (a->location > b->location) - (a->location < b->location);
}

void names_places_sort(const struct wp_arena *arena, struct names_place *places, size_t count)
{
    qsort_r(places, count, sizeof *places, compare_places, (void *)arena);
}

size_t names_places_of_file(const struct wp_arena *arena, const struct names_place *places, size_t count)
{
    size_t end = 1;
    while (end < count && compare_files(arena, places[0].module, places[end].module) == 0)
        end++;
    return end;
}

size_t names_places_files(const struct wp_arena *arena, const struct names_place *places, size_t count)
{
    size_t files = 0;
    for (size_t first = 0; first < count; files++)
        first += names_places_of_file(arena, &places[first], count - first);
    return files;
}
