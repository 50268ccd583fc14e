#include "store_names.h"
#include "module_names.h"
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the process said, for locations that are to be called by it. */
struct said {
    struct names_known *known; /* room for all */
    uint32_t count;
};

/* The function that the process found for a location, NULL if it had to make up a name. */
static const struct wp_function *found_by_process(const struct wp_symbols *symbols, uint32_t location)
{
    const struct wp_function *function = &symbols->functions[symbols_function_of(symbols, location)];
    return function->is_symbol ? function : NULL;
}

static bool is_lost(const struct wp_symbols *symbols, arena_ref module)
{
    for (uint32_t i = 0; i < symbols->lost_file_count; i++) {
        if (symbols->lost_files[i].module == module)
            return true;
    }
    return false;
}

/* Code of no file, or of one that was another by the end: nobody knows it but the process. */
static bool is_known_to_process_only(const struct recording *recording, const struct wp_location *location)
{
    if (!location->module)
        return true;
    const struct wp_module *module = arena_at(&recording->arena, location->module);
    return module_names_path(&recording->arena, module)[0] == '[' ||
           is_lost(recording->symbols, location->module);
}

static void say(struct said *said, const struct wp_symbols *symbols, uint32_t location, bool is_hint)
{
    const struct wp_function *function = found_by_process(symbols, location);
    struct names_known known = {
        .location = location, .region = symbols->region_of[location], .is_hint = is_hint};
    if (function) {
        known.name = function->name;
        known.system_name = function->system_name;
    }
    if (function || known.region)
        said->known[said->count++] = known;
}

/* Where the files knew nothing, as on another machine, and the process did. */
static bool is_better_known(const struct wp_symbols *from_files, const struct wp_symbols *symbols,
                            uint32_t location)
{
    return !found_by_process(from_files, location) && found_by_process(symbols, location);
}

static int make(struct recording *recording, const struct said *said, struct wp_symbols **ret)
{
    const struct names_options options = {.known = said->known,
                                          .known_count = said->count,
                                          .regions = recording->symbols->regions,
                                          .region_count = recording->symbols->region_count};
    return names_make(&recording->profile, &options, ret);
}

/* Files first, but for what only the process knew; and again with what turns out to be such. */
static int make_both(struct recording *recording, struct said *said, struct wp_symbols **ret)
{
    const struct wp_tree *tree = &recording->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct wp_location *location = tree_location_at(tree, ref);
        if (!location->pseudo)
            say(said, recording->symbols, location->index, !is_known_to_process_only(recording, location));
    }
    const uint32_t count = said->count;
    int status = make(recording, said, ret);
    for (uint32_t i = 0; status == 0 && i < tree->location_count; i++) {
        if (is_better_known(*ret, recording->symbols, i))
            say(said, recording->symbols, i, false);
    }
    if (status < 0 || said->count == count)
        return status;
    names_release(*ret);
    return make(recording, said, ret);
}

int store_names_make(struct recording *recording)
{
    struct wp_symbols *symbols;
    struct said said = {0};
    if (!recording->is_store)
        return 0;
    said.known = calloc(2 * (size_t)recording->tree.location_count + 1, sizeof *said.known);
    int status = said.known ? make_both(recording, &said, &symbols) : -ENOMEM;
    free(said.known);
    if (status < 0)
        return status;
    recording->release_symbols(recording->symbols);
    recording->symbols = symbols;
    recording->release_symbols = names_release;
    recording->profile.symbols = symbols;
    return 0;
}
