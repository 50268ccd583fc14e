#include "merge_locations.h"
#include "tool/io/array.h"
#include "tool/read/store_names.h"
#include "names/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The names that identify run-time code: numbers in the text. */
struct anonymous_key {
    uint32_t path, name, system_name, file;
};

struct anonymous_location {
    struct anonymous_key key;
    arena_ref location;
};

int merge_locations_init(struct merge_locations *locations, struct tree *tree, struct module_list *modules)
{
    *locations = (struct merge_locations){.tree = tree, .modules = {.modules = modules}};
    string_table_init(&locations->text);
    return intern_table_init(&locations->anonymous, sizeof(struct anonymous_location),
                             sizeof(struct anonymous_key));
}

void merge_locations_deinit(struct merge_locations *locations)
{
    merge_modules_deinit(&locations->modules);
    string_table_deinit(&locations->text);
    intern_table_deinit(&locations->anonymous);
    free(locations->list);
    free(locations->frames);
    free(locations->regions);
    *locations = (struct merge_locations){0};
}

static uint32_t intern_text(struct merge_locations *locations, const char *text)
{
    return text ? string_table_intern(&locations->text, text) : 0;
}

/* ---- regions ---- */

/* Overlapping regions of one path become one. 1 + its index, 0 without memory. */
static uint32_t add_region(struct merge_locations *locations, const struct code_region *from)
{
    uint32_t path = intern_text(locations, from->path);
    for (uint32_t i = 0; i < locations->region_count; i++) {
        struct code_region *region = &locations->regions[i].region;
        if (locations->regions[i].path != path || from->start > region->end || region->start > from->end)
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
    if (!array_grow(&locations->regions, &locations->region_capacity, locations->region_count,
                    sizeof *locations->regions))
        return 0;
    uint32_t number = ++locations->region_count;
    locations->regions[number - 1] = (struct merge_region){*from, path, number};
    return number;
}

/* ---- names ---- */

static void add_frames(struct merge_locations *locations, struct merge_location *merged,
                       const struct symbols *symbols, uint32_t location)
{
    uint32_t count;
    const struct symbol_frame *frames = symbols_frames(symbols, location, &count);
    merged->first_frame = locations->frame_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct symbol_function *function = &symbols->functions[frames[i].function];
        if (!array_grow(&locations->frames, &locations->frame_capacity, locations->frame_count,
                        sizeof *locations->frames)) {
            locations->text.failed = true; /* as for any other lack of memory */
            return;
        }
        locations->frames[locations->frame_count++] =
            (struct merge_frame){.name = intern_text(locations, function->name),
                                 .system_name = intern_text(locations, function->system_name),
                                 .file = intern_text(locations, function->file),
                                 .start_line = function->start_line,
                                 .line = frames[i].line,
                                 .is_symbol = function->is_symbol};
    }
    merged->frame_count = count;
}

/* The name of the first process that has one stays. */
static void keep_said_name(struct merge_locations *locations, struct merge_location *merged,
                           const struct recording *recording, const struct location *location)
{
    struct names_known said;
    merged->is_in_store = true;
    if (store_names_said(recording, location, &said) && said.system_name && !merged->system_name) {
        merged->name = intern_text(locations, said.name);
        merged->system_name = intern_text(locations, said.system_name);
        merged->is_known_to_process_only = !said.is_hint;
    }
}

/* False without memory. */
static bool keep_names(struct merge_locations *locations, const struct recording *recording,
                       const struct location *location, arena_ref into)
{
    const struct symbols *symbols = recording->symbols;
    const uint32_t index = tree_location_at(locations->tree, into)->index;
    const uint32_t region = symbols->region_of[location->index];
    while (locations->count <= index) {
        if (!array_grow(&locations->list, &locations->capacity, locations->count, sizeof *locations->list))
            return false;
        locations->list[locations->count++] = (struct merge_location){0};
    }
    struct merge_location *merged = &locations->list[index];
    if (recording->is_store)
        keep_said_name(locations, merged, recording, location);
    else if (merged->frame_count == 0)
        add_frames(locations, merged, symbols, location->index);
    if (region && !merged->region && !tree_location_at(locations->tree, into)->module)
        merged->region = add_region(locations, &symbols->regions[region - 1]);
    return merged->region || !region || tree_location_at(locations->tree, into)->module;
}

/* ---- locations ---- */

static arena_ref find_in_module(struct merge_locations *locations, const struct recording *recording,
                                const struct location *from)
{
    const struct merge_moved *moved = merge_modules_find(&locations->modules, recording, from->module);
    if (!moved)
        return 0;
    uint64_t function_start = from->function_start ? from->function_start + moved->shift : 0;
    arena_ref ref = tree_location(locations->tree, moved->into, from->address + moved->shift, function_start);
    struct location *location = ref ? tree_location_at(locations->tree, ref) : NULL;
    if (location && !location->function_start)
        location->function_start = function_start;
    return ref;
}

static arena_ref find_anonymous(struct merge_locations *locations, const struct recording *recording,
                                const struct location *from)
{
    const struct symbols *symbols = recording->symbols;
    const struct symbol_function *function = &symbols->functions[symbols_function_of(symbols, from->index)];
    const uint32_t region = symbols->region_of[from->index];
    const struct anonymous_key key = {
        .path = region ? intern_text(locations, symbols->regions[region - 1].path) : 0,
        .name = intern_text(locations, function->name),
        .system_name = intern_text(locations, function->system_name),
        .file = intern_text(locations, function->file)};
    uint32_t number = intern_table_intern(&locations->anonymous, &key);
    struct anonymous_location *anonymous = intern_table_at(&locations->anonymous, number);
    if (!anonymous->location)
        anonymous->location = tree_add_location(locations->tree, 0, from->address, 0);
    return anonymous->location;
}

static arena_ref find_location(struct merge_locations *locations, const struct recording *recording,
                               const struct location *from)
{
    if (tree_is_label(from))
        return tree_label(locations->tree, tree_label_key(&recording->arena, from),
                          tree_label_value(&recording->arena, from));
    if (tree_is_script(from)) {
        const struct tree_script script = tree_script_of(&recording->arena, from);
        return tree_script(locations->tree, &script);
    }
    if (from->pseudo)
        return tree_pseudo_location(locations->tree, (enum pseudo_frame)(from->pseudo - 1));
    return from->module ? find_in_module(locations, recording, from)
                        : find_anonymous(locations, recording, from);
}

/* In every format the program's modules come first: those of the first recording, even without samples. */
static bool add_program(struct merge_locations *locations, const struct recording *recording)
{
    arena_ref ref = locations->modules.count == 0 ? recording->modules.newest : 0;
    while (ref) {
        const struct module *module = arena_at(&recording->arena, ref);
        if (module->is_main && !module->is_own && !merge_modules_find(&locations->modules, recording, ref))
            return false;
        ref = module->next;
    }
    return true;
}

int merge_locations_add(struct merge_locations *locations, const struct recording *recording, arena_ref *ret)
{
    const struct tree *tree = &recording->tree;
    merge_modules_begin(&locations->modules);
    locations->names_are_due |= recording->names_are_due;
    if (!add_program(locations, recording))
        return -ENOMEM;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        arena_ref into = find_location(locations, recording, location);
        if (!into || (!location->pseudo && !tree_is_script(location) &&
                      !keep_names(locations, recording, location, into)))
            return -ENOMEM;
        ret[location->index] = into;
    }
    return locations->text.failed || locations->anonymous.failed ? -ENOMEM : 0;
}

/* ---- all names ---- */

static const char *text_at(const struct merge_locations *locations, uint32_t number)
{
    return number ? string_table_at(&locations->text, number) : NULL;
}

/* What is known of a location's names; false for nothing. */
static bool get_known(const struct merge_locations *locations, uint32_t index,
                      const struct names_frame *frames, struct names_known *ret)
{
    const struct merge_location *merged = &locations->list[index];
    *ret = (struct names_known){.location = index,
                                .region = merged->region,
                                .name = text_at(locations, merged->name),
                                .system_name = text_at(locations, merged->system_name),
                                .is_hint = merged->is_in_store && !merged->is_known_to_process_only};
    if (!ret->system_name && merged->frame_count > 0) {
        ret->frames = &frames[merged->first_frame];
        ret->frame_count = merged->frame_count;
    }
    return ret->system_name || ret->frame_count > 0 || ret->region;
}

static void spell_frames(const struct merge_locations *locations, struct names_frame *ret)
{
    for (uint32_t i = 0; i < locations->frame_count; i++) {
        const struct merge_frame *frame = &locations->frames[i];
        ret[i] = (struct names_frame){.name = string_table_at(&locations->text, frame->name),
                                      .system_name = string_table_at(&locations->text, frame->system_name),
                                      .file = text_at(locations, frame->file),
                                      .start_line = frame->start_line,
                                      .line = frame->line,
                                      .is_symbol = frame->is_symbol};
    }
}

static int compare_regions(const void *left, const void *right)
{
    const struct merge_region *a = left, *b = right;
    if (a->region.start != b->region.start)
        return a->region.start < b->region.start ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The regions by address, in malloc'd memory, with the locations' numbers of them. NULL without memory. */
static struct code_region *sort_regions(struct merge_locations *locations)
{
    const uint32_t count = locations->region_count;
    struct code_region *ret = calloc((size_t)count + 1, sizeof *ret);
    uint32_t *moved = ret ? calloc((size_t)count + 1, sizeof *moved) : NULL;
    if (!moved) {
        free(ret);
        return NULL;
    }
    if (count > 0)
        qsort(locations->regions, count, sizeof *locations->regions, compare_regions);
    for (uint32_t i = 0; i < count; i++) {
        ret[i] = locations->regions[i].region;
        ret[i].path = string_table_at(&locations->text, locations->regions[i].path);
        moved[locations->regions[i].number] = i + 1;
    }
    for (uint32_t i = 0; i < locations->count; i++)
        locations->list[i].region = moved[locations->list[i].region];
    free(moved);
    return ret;
}

/* Reads the names that processes left to the files: hints, like those that other processes said. */
static bool read_names_of_files(struct merge_locations *locations)
{
    const struct symbolize_process process = {0};
    struct symbols *symbols = symbolize_create(locations->tree, locations->modules.modules, NULL, &process);
    for (uint32_t i = 0; symbols && i < locations->count; i++) {
        struct merge_location *merged = &locations->list[i];
        const struct symbol_function *function = &symbols->functions[symbols_function_of(symbols, i)];
        if (merged->is_in_store && !merged->system_name && function->is_symbol)
            merged->name = merged->system_name = intern_text(locations, function->system_name);
    }
    symbolize_destroy(symbols);
    return symbols && !locations->text.failed;
}

int merge_locations_name(struct merge_locations *locations, const struct profile *profile,
                         struct symbols **ret)
{
    bool is_read = !locations->names_are_due || read_names_of_files(locations);
    struct names_known *known = calloc(2 * (size_t)locations->count + 1, sizeof *known);
    struct names_frame *frames = calloc((size_t)locations->frame_count + 1, sizeof *frames);
    struct code_region *regions =
        sort_regions(locations); /* with pointers into the text, which is whole now */
    int status = -ENOMEM;
    struct names_options options = {.regions = regions, .region_count = locations->region_count};
    if (is_read && known && frames && regions) {
        spell_frames(locations, frames);
        for (uint32_t i = 0; i < locations->count; i++)
            options.known_count += get_known(locations, i, frames, &known[options.known_count]);
        status = store_names_find(profile, &options, known, ret);
    }
    free(known);
    free(frames);
    free(regions);
    return status;
}
