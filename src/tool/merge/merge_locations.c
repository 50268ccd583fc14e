#include "merge_locations.h"
#include "tool/io/array.h"
#include "tool/read/store_names.h"
#include "names/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What run-time code is told by: numbers in the text. */
struct outside_key {
    uint32_t path, name, system_name, file;
};

struct anonymous_location {
    struct outside_key key;
    arena_ref location;
};

int merge_locations_init(struct merge_locations *places, struct tree *tree, struct module_list *modules)
{
    *places = (struct merge_locations){.tree = tree, .modules = {.modules = modules}};
    string_table_init(&places->text);
    return intern_table_init(&places->outside, sizeof(struct anonymous_location), sizeof(struct outside_key));
}

void merge_locations_deinit(struct merge_locations *places)
{
    merge_modules_deinit(&places->modules);
    string_table_deinit(&places->text);
    intern_table_deinit(&places->outside);
    free(places->places);
    free(places->frames);
    free(places->regions);
    free(places->region_paths);
    *places = (struct merge_locations){0};
}

static uint32_t intern(struct merge_locations *places, const char *text)
{
    return text ? string_table_intern(&places->text, text) : 0;
}

/* ---- regions ---- */

/* What is of one path and overlaps is one. 1 + its index, 0 without memory. */
static uint32_t add_region(struct merge_locations *places, const struct code_region *from)
{
    uint32_t path = intern(places, from->path);
    for (uint32_t i = 0; i < places->region_count; i++) {
        struct code_region *region = &places->regions[i];
        if (places->region_paths[i] != path || from->start > region->end || region->start > from->end)
            continue;
        if (from->start < region->start) {
            region->start = from->start;
            region->file_offset = from->file_offset;
        }
        if (from->end > region->end)
            region->end = from->end;
        region->has_names |= from->has_names;
        return i + 1;
    }
    if (!array_grow(&places->regions, &places->region_capacity, places->region_count,
                    sizeof *places->regions) ||
        !array_grow(&places->region_paths, &places->region_path_capacity, places->region_count,
                    sizeof *places->region_paths))
        return 0;
    places->regions[places->region_count] = *from;
    places->region_paths[places->region_count++] = path;
    return places->region_count;
}

/* ---- names ---- */

static void add_frames(struct merge_locations *places, struct merge_location *place,
                       const struct symbols *symbols, uint32_t location)
{
    uint32_t count;
    const struct symbol_frame *frames = symbols_frames(symbols, location, &count);
    place->first_frame = places->frame_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct symbol_function *function = &symbols->functions[frames[i].function];
        if (!array_grow(&places->frames, &places->frame_capacity, places->frame_count,
                        sizeof *places->frames)) {
            places->text.failed = true; /* like any other that is missing */
            return;
        }
        places->frames[places->frame_count++] =
            (struct merge_frame){.name = intern(places, function->name),
                                 .system_name = intern(places, function->system_name),
                                 .file = intern(places, function->file),
                                 .start_line = function->start_line,
                                 .line = frames[i].line,
                                 .is_symbol = function->is_symbol};
    }
    place->frame_count = count;
}

/* The first process that has a name for it is believed. */
static void take_said(struct merge_locations *places, struct merge_location *place,
                      const struct recording *recording, const struct location *location)
{
    struct names_known said;
    place->is_in_store = true;
    if (store_names_said(recording, location, &said) && said.system_name && !place->system_name) {
        place->name = intern(places, said.name);
        place->system_name = intern(places, said.system_name);
        place->is_known_to_process_only = !said.is_hint;
    }
}

/* False without memory. */
static bool describe(struct merge_locations *places, const struct recording *recording,
                     const struct location *location, arena_ref into)
{
    const struct symbols *symbols = recording->symbols;
    const uint32_t index = tree_location_at(places->tree, into)->index;
    const uint32_t region = symbols->region_of[location->index];
    while (places->place_count <= index) {
        if (!array_grow(&places->places, &places->place_capacity, places->place_count,
                        sizeof *places->places))
            return false;
        places->places[places->place_count++] = (struct merge_location){0};
    }
    struct merge_location *place = &places->places[index];
    if (recording->is_store)
        take_said(places, place, recording, location);
    else if (place->frame_count == 0)
        add_frames(places, place, symbols, location->index);
    if (region && !place->region && !tree_location_at(places->tree, into)->module)
        place->region = add_region(places, &symbols->regions[region - 1]);
    return place->region || !region || tree_location_at(places->tree, into)->module;
}

/* ---- locations ---- */

static arena_ref find_in_module(struct merge_locations *places, const struct recording *recording,
                                const struct location *from)
{
    const struct merge_moved *moved = merge_modules_find(&places->modules, recording, from->module);
    if (!moved)
        return 0;
    uint64_t function_start = from->function_start ? from->function_start + moved->shift : 0;
    arena_ref ref = tree_location(places->tree, moved->into, from->address + moved->shift, function_start);
    struct location *location = ref ? tree_location_at(places->tree, ref) : NULL;
    if (location && !location->function_start)
        location->function_start = function_start;
    return ref;
}

static arena_ref find_outside(struct merge_locations *places, const struct recording *recording,
                              const struct location *from)
{
    const struct symbols *symbols = recording->symbols;
    const struct symbol_function *function = &symbols->functions[symbols_function_of(symbols, from->index)];
    const uint32_t region = symbols->region_of[from->index];
    const struct outside_key key = {.path = region ? intern(places, symbols->regions[region - 1].path) : 0,
                                    .name = intern(places, function->name),
                                    .system_name = intern(places, function->system_name),
                                    .file = intern(places, function->file)};
    uint32_t number = intern_table_intern(&places->outside, &key);
    struct anonymous_location *place = intern_table_at(&places->outside, number);
    if (!place->location)
        place->location = tree_add_location(places->tree, 0, from->address, 0);
    return place->location;
}

static arena_ref find(struct merge_locations *places, const struct recording *recording,
                      const struct location *from)
{
    if (tree_is_label(from))
        return tree_label(places->tree, tree_label_key(&recording->arena, from),
                          tree_label_value(&recording->arena, from));
    if (from->pseudo)
        return tree_pseudo_location(places->tree, (enum pseudo_frame)(from->pseudo - 1));
    return from->module ? find_in_module(places, recording, from) : find_outside(places, recording, from);
}

/* The program's own modules stand first in every format: those of the first recording, whatever is in them.
 */
static bool add_program(struct merge_locations *places, const struct recording *recording)
{
    arena_ref ref = places->modules.count == 0 ? recording->modules.newest : 0;
    while (ref) {
        const struct module *module = arena_at(&recording->arena, ref);
        if (module->is_main && !module->is_own && !merge_modules_find(&places->modules, recording, ref))
            return false;
        ref = module->next;
    }
    return true;
}

int merge_locations_add(struct merge_locations *places, const struct recording *recording, arena_ref *ret)
{
    const struct tree *tree = &recording->tree;
    merge_modules_begin(&places->modules);
    places->names_are_due |= recording->names_are_due;
    if (!add_program(places, recording))
        return -ENOMEM;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        arena_ref into = find(places, recording, location);
        if (!into || (!location->pseudo && !describe(places, recording, location, into)))
            return -ENOMEM;
        ret[location->index] = into;
    }
    return places->text.failed || places->outside.failed ? -ENOMEM : 0;
}

/* ---- all names ---- */

static const char *text_at(const struct merge_locations *places, uint32_t number)
{
    return number ? string_table_at(&places->text, number) : NULL;
}

/* What there is to say of a location to who makes the names; false for nothing. */
static bool say(const struct merge_locations *places, uint32_t index, const struct names_frame *frames,
                struct names_known *ret)
{
    const struct merge_location *place = &places->places[index];
    *ret = (struct names_known){.location = index,
                                .region = place->region,
                                .name = text_at(places, place->name),
                                .system_name = text_at(places, place->system_name),
                                .is_hint = place->is_in_store && !place->is_known_to_process_only};
    if (!ret->system_name && place->frame_count > 0) {
        ret->frames = &frames[place->first_frame];
        ret->frame_count = place->frame_count;
    }
    return ret->system_name || ret->frame_count > 0 || ret->region;
}

static void spell_frames(const struct merge_locations *places, struct names_frame *ret)
{
    for (uint32_t i = 0; i < places->frame_count; i++) {
        const struct merge_frame *frame = &places->frames[i];
        ret[i] = (struct names_frame){.name = string_table_at(&places->text, frame->name),
                                      .system_name = string_table_at(&places->text, frame->system_name),
                                      .file = text_at(places, frame->file),
                                      .start_line = frame->start_line,
                                      .line = frame->line,
                                      .is_symbol = frame->is_symbol};
    }
}

struct region_order {
    struct code_region region;
    uint32_t number; /* 1 + index before */
};

static int compare_regions(const void *left, const void *right)
{
    const struct region_order *a = left, *b = right;
    if (a->region.start != b->region.start)
        return a->region.start < b->region.start ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* By address, as readers have them; places follow. */
static bool sort_regions(struct merge_locations *places)
{
    const uint32_t count = places->region_count;
    struct region_order *order = calloc((size_t)count + 1, sizeof *order);
    uint32_t *moved = calloc((size_t)count + 1, sizeof *moved);
    for (uint32_t i = 0; order && moved && i < count; i++) {
        places->regions[i].path = string_table_at(&places->text, places->region_paths[i]);
        order[i] = (struct region_order){places->regions[i], i + 1};
    }
    if (order && moved)
        qsort(order, count, sizeof *order, compare_regions);
    for (uint32_t i = 0; order && moved && i < count; i++) {
        places->regions[i] = order[i].region;
        moved[order[i].number] = i + 1;
    }
    for (uint32_t i = 0; order && moved && i < places->place_count; i++)
        places->places[i].region = moved[places->places[i].region];
    bool is_done = order && moved;
    free(order);
    free(moved);
    return is_done;
}

/* What processes that have not come to say it called their code, as hints like what others have said. */
static bool take_names_of_files(struct merge_locations *places)
{
    const struct symbolize_process process = {0};
    struct symbols *symbols = symbolize_create(places->tree, places->modules.modules, NULL, &process);
    for (uint32_t i = 0; symbols && i < places->place_count; i++) {
        struct merge_location *place = &places->places[i];
        const struct symbol_function *function = &symbols->functions[symbols_function_of(symbols, i)];
        if (place->is_in_store && !place->system_name && function->is_symbol)
            place->name = place->system_name = intern(places, function->system_name);
    }
    symbolize_destroy(symbols);
    return symbols && !places->text.failed;
}

int merge_locations_name(struct merge_locations *places, const struct profile *profile, struct symbols **ret)
{
    struct names_known *known = calloc(2 * (size_t)places->place_count + 1, sizeof *known);
    struct names_frame *frames = calloc((size_t)places->frame_count + 1, sizeof *frames);
    int status = known && frames && sort_regions(places) ? 0 : -ENOMEM;
    if (status == 0 && places->names_are_due && !take_names_of_files(places))
        status = -ENOMEM;
    struct names_options options = {.regions = places->regions, .region_count = places->region_count};
    if (status == 0) {
        spell_frames(places, frames);
        for (uint32_t i = 0; i < places->place_count; i++)
            options.known_count += say(places, i, frames, &known[options.known_count]);
        status = store_names_find(profile, &options, known, ret);
    }
    free(known);
    free(frames);
    return status;
}
