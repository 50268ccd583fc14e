#include "names_modules.h"

#include <stdlib.h>

static int compare_modules(const void *left, const void *right)
{
    const struct symbols_module *a = left, *b = right;
    return (a->module > b->module) - (a->module < b->module);
}

static struct symbols_module describe(const struct wp_symbols *symbols, arena_ref module, uint32_t location)
{
    struct symbols_module known = {.module = module};
    uint32_t count;
    const struct wp_frame *frames = symbols_frames(symbols, location, &count);
    known.has_inlines = count > 1;
    for (uint32_t i = 0; i < count; i++) {
        known.has_functions |= symbols->functions[frames[i].function].is_symbol;
        known.has_files |= symbols->functions[frames[i].function].file != NULL;
        known.has_lines |= frames[i].line > 0;
    }
    return known;
}

/* Those of one module stand together; returns how many modules there are. */
static uint32_t unite(struct symbols_module *modules, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || modules[kept - 1].module != modules[i].module) {
            modules[kept++] = modules[i];
            continue;
        }
        modules[kept - 1].has_functions |= modules[i].has_functions;
        modules[kept - 1].has_files |= modules[i].has_files;
        modules[kept - 1].has_lines |= modules[i].has_lines;
        modules[kept - 1].has_inlines |= modules[i].has_inlines;
    }
    return kept;
}

void names_modules_describe(struct wp_symbols *symbols, const struct wp_location *const *locations)
{
    struct symbols_module *modules = symbols->modules;
    uint32_t count = 0;
    for (uint32_t i = 0; i < symbols->location_count; i++) {
        struct symbols_module known = describe(symbols, locations[i]->module, i);
        if (known.module && (known.has_functions || known.has_files || known.has_lines))
            modules[count++] = known;
    }
    qsort(modules, count, sizeof *modules, compare_modules);
    symbols->module_count = unite(modules, count);
}
