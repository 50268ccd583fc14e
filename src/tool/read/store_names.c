#include "store_names.h"
#include "names/module_names.h"
#include "tool/io/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The function that the process found for a location, NULL if it had to make up a name. */
static const struct symbol_function *found_by_process(const struct symbols *symbols, uint32_t location)
{
    const struct symbol_function *function = &symbols->functions[symbols_function_of(symbols, location)];
    return function->is_symbol ? function : NULL;
}

static bool is_lost(const struct symbols *symbols, arena_ref module)
{
    for (uint32_t i = 0; i < symbols->lost_file_count; i++) {
        if (symbols->lost_files[i].module == module)
            return true;
    }
    return false;
}

/* Only the process knows code of no file, or of a file that was replaced before the end. */
static bool is_known_to_process_only(const struct recording *recording, const struct location *location)
{
    if (!location->module)
        return true;
    const struct module *module = arena_at(&recording->arena, location->module);
    return module_names_path(&recording->arena, module)[0] == '[' ||
           is_lost(recording->symbols, location->module);
}

bool store_names_said(const struct recording *recording, const struct location *location,
                      struct names_known *ret)
{
    const struct symbol_function *function = found_by_process(recording->symbols, location->index);
    *ret = (struct names_known){.location = location->index,
                                .region = recording->symbols->region_of[location->index],
                                .is_hint = !is_known_to_process_only(recording, location)};
    if (function) {
        ret->name = function->name;
        ret->system_name = function->system_name;
    }
    return function || ret->region;
}

/* Whether the files knew nothing of a location, as on another machine, and there is a hint. */
static bool is_better_known(const struct symbols *from_files, const struct names_known *known)
{
    return known->is_hint && (known->system_name || known->frame_count > 0) &&
           !found_by_process(from_files, known->location);
}

int store_names_find(const struct profile *profile, struct names_options *options, struct names_known *known,
                     struct symbols **ret)
{
    const uint32_t count = options->known_count;
    options->known = known;
    int status = names_make(profile, options, ret);
    for (uint32_t i = 0; status == 0 && i < count; i++) {
        if (!is_better_known(*ret, &known[i]))
            continue;
        known[options->known_count] = known[i];
        known[options->known_count++].is_hint = false;
    }
    if (status < 0 || options->known_count == count)
        return status;
    names_release(*ret);
    return names_make(profile, options, ret);
}

static int name_locations(struct recording *recording, struct names_known *known, struct symbols **ret)
{
    struct names_options options = {.regions = recording->symbols->regions,
                                    .region_count = recording->symbols->region_count};
    const struct tree *tree = &recording->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        if (!location->pseudo && !tree_is_script(location))
            options.known_count += store_names_said(recording, location, &known[options.known_count]);
    }
    return store_names_find(&recording->profile, &options, known, ret);
}

int store_names_make(struct recording *recording)
{
    struct symbols *symbols;
    if (!recording->is_store)
        return 0;
    struct names_known *known = calloc(2 * (size_t)recording->tree.location_count + 1, sizeof *known);
    int status = known ? name_locations(recording, known, &symbols) : -ENOMEM;
    free(known);
    if (status < 0)
        return status;
    recording->release_symbols(recording->symbols);
    recording->symbols = symbols;
    recording->release_symbols = names_release;
    recording->profile.symbols = symbols;
    return 0;
}

int store_names_open(struct recording *recording, const char *path)
{
    return store_names_open_measure(recording, path, NULL);
}

int store_names_open_measure(struct recording *recording, const char *path, const char *measure)
{
    if (recording_open_measure(recording, path, measure) < 0)
        return command_fail("%s: %s", path, recording->reason);
    if (store_names_make(recording) < 0)
        command_fail("%s: there is not enough memory for names from debug information", path);
    return 0;
}
