/* Modules, regions, functions and locations of a pprof file: entries keep their order. */
#include "pprof_building.h"
#include "wait_texts.h"
#include "base/name_pattern.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- mappings ---- */

static bool is_outside(const struct pprof_mapping *mapping)
{
    return strcmp(mapping->path, "[JIT]") == 0 || strcmp(mapping->path, "[anonymous executable]") == 0;
}

/* The index of the first mapping that is memory outside all modules. Such memory stands last. So every
 * mapping after it is of that kind too; it says nothing that only a module's mapping can say. */
static uint32_t first_region(const struct pprof_file *file)
{
    uint32_t first = file->mapping_count;
    for (uint32_t i = file->mapping_count; i-- > 0;) {
        const struct pprof_mapping *mapping = &file->mappings[i];
        if (*mapping->build_id || mapping->has_files || mapping->has_lines || mapping->has_inlines)
            break;
        if (is_outside(mapping))
            first = i;
    }
    return first;
}

static void add_region(struct building *building, uint32_t index)
{
    const struct pprof_mapping *mapping = &building->file->mappings[index];
    struct symbols *symbols = &building->names->symbols;
    building->names->regions[symbols->region_count++] =
        (struct code_region){.start = mapping->start,
                             .end = mapping->limit,
                             .file_offset = mapping->file_offset,
                             .path = mapping->path,
                             .has_names = mapping->has_functions};
    building->region_of[index] = symbols->region_count;
}

/* An id of another kind (Go has one) is left out. */
static void set_build_id(struct module *module, const char *text)
{
    size_t digits = strlen(text);
    if (digits % 2 || digits / 2 > MODULE_BUILD_ID_MAX_BYTES || strspn(text, "0123456789abcdef") != digits)
        return;
    for (size_t i = 0; i < digits / 2; i++)
        sscanf(text + 2 * i, "%2hhx", &module->build_id[i]);
    module->build_id_bytes = (uint32_t)(digits / 2);
}

static int add_module(struct building *building, uint32_t index, bool is_main)
{
    struct recording *recording = building->recording;
    const struct pprof_mapping *mapping = &building->file->mappings[index];
    struct symbols *symbols = &building->names->symbols;
    arena_ref path = arena_strdup(&recording->arena, mapping->path);
    arena_ref ref = arena_alloc(&recording->arena, sizeof(struct module));
    if (!path || !ref)
        return recording_no_memory(recording);
    struct module *module = arena_at(&recording->arena, ref);
    module->start_pc = module->loaded_low = mapping->start;
    module->end_pc = module->loaded_high = mapping->limit;
    module->file_offset = mapping->file_offset;
    module->load_bias = mapping->start - mapping->file_offset;
    module->path = module->name = path;
    module->is_main = is_main;
    module->is_sampled = true;
    set_build_id(module, mapping->build_id);
    module->next = recording->modules.newest;
    recording->modules.newest = ref;
    recording->modules.count++;
    building->module_of[index] = ref;
    symbols->modules[symbols->module_count++] = (struct symbols_module){
        ref, mapping->has_functions, mapping->has_files, mapping->has_lines, mapping->has_inlines};
    return 0;
}

/* The program's own segments come first. */
static int add_mappings(struct building *building)
{
    const struct pprof_file *file = building->file;
    uint32_t first = first_region(file);
    bool is_main = true;
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < file->mapping_count; i++) {
        is_main = is_main && strcmp(file->mappings[i].path, file->mappings[0].path) == 0;
        if (i >= first || is_outside(&file->mappings[i]))
            add_region(building, i);
        else
            status = add_module(building, i, is_main);
    }
    building->names->symbols.regions = building->names->regions;
    return status;
}

/* ---- names ---- */

static bool is_made_up(const char *name)
{
    size_t bytes = strlen(name);
    return bytes >= 2 && name[0] == '[' && name[bytes - 1] == ']';
}

static int add_functions(struct building *building)
{
    const struct pprof_file *file = building->file;
    struct symbols *symbols = &building->names->symbols;
    for (uint32_t i = 0; i < file->function_count; i++) {
        const struct pprof_function *from = &file->functions[i];
        struct symbol_function *function = &symbols->functions[i];
        function->name = *from->name ? from->name : from->system_name;
        function->system_name = *from->system_name ? from->system_name : from->name;
        function->file = *from->file ? from->file : NULL;
        function->start_line = from->start_line;
        function->is_symbol = !is_made_up(function->name);
        if (!*function->name && !building->is_foreign)
            return recording_refuse(building->recording, -EBADMSG, "it has a function without a name");
        if (!*function->name)
            function->name = function->system_name = "[nameless]";
    }
    symbols->function_count = file->function_count;
    return 0;
}

/* 1 + enum pseudo_frame, 0 for real code. */
static uint32_t pseudo_of(const struct building *building, const struct pprof_location *location)
{
    if (location->mapping || location->address || location->line_count != 1)
        return 0;
    uint32_t function = building->file->lines[location->first_line].function;
    const char *name = building->names->symbols.functions[function].name;
    for (uint32_t i = 0; i < PSEUDO_KINDS; i++) {
        const char *other = tree_pseudo_name((enum pseudo_frame)i);
        if (other && strcmp(name, other) == 0)
            return 1 + i;
    }
    return 0;
}

/* It is not entered in the tree's index by address, because nothing here is searched for by address. */
static arena_ref make_location(struct building *building, const struct pprof_location *from)
{
    struct tree *tree = &building->recording->tree;
    arena_ref module = from->mapping ? building->module_of[from->mapping - 1] : 0;
    arena_ref ref = tree_add_location(tree, module, from->address, 0);
    if (!ref)
        return 0;
    struct location *location = tree_location_at(tree, ref);
    location->pseudo = pseudo_of(building, from); /* one of those that only some trees have */
    building->names->symbols.region_of[location->index] =
        from->mapping ? building->region_of[from->mapping - 1] : 0;
    return ref;
}

/* The frames of the next location: these functions are called in the order of the locations' indices. */
static void add_frames(struct building *building, const struct pprof_location *from)
{
    struct symbols *symbols = &building->names->symbols;
    uint32_t used = symbols->first_frame[symbols->location_count];
    for (uint32_t i = 0; i < from->line_count; i++) {
        const struct pprof_line *line = &building->file->lines[from->first_line + i];
        struct symbol_function *function = &symbols->functions[line->function];
        function->is_script |= !building->is_foreign && !from->mapping && function->file;
        symbols->frames[used++] = (struct symbol_frame){line->function, line->line};
    }
    symbols->first_frame[++symbols->location_count] = used;
}

static void add_made_up_frame(struct symbols *symbols, const char *name)
{
    uint32_t frame = symbols->first_frame[symbols->location_count];
    symbols->frames[frame] = (struct symbol_frame){.function = symbols->function_count};
    symbols->functions[symbols->function_count++] =
        (struct symbol_function){.name = name, .system_name = name};
    symbols->first_frame[++symbols->location_count] = frame + 1;
}

/* A tree begins with all pseudo-frames. Those that are not in the file get their names here. */
static void add_pseudos(struct building *building)
{
    const struct pprof_file *file = building->file;
    const struct tree *tree = &building->recording->tree;
    struct symbols *symbols = &building->names->symbols;
    const struct pprof_location *of[PSEUDO_COUNT] = {0};
    for (uint32_t i = 0; i < file->location_count; i++) {
        uint32_t pseudo = pseudo_of(building, &file->locations[i]);
        if (!pseudo || pseudo > PSEUDO_COUNT)
            continue;
        of[pseudo - 1] = &file->locations[i];
        building->location_of[i] = tree->pseudo[pseudo - 1];
    }
    for (uint32_t i = 0; i < PSEUDO_COUNT; i++) {
        if (of[i])
            add_frames(building, of[i]);
        else
            add_made_up_frame(symbols, tree_pseudo_name((enum pseudo_frame)i));
    }
}

/* Another program's file may have addresses only: "[libc.so.6+0x1234]", with the offset in the file. */
static bool add_nameless_frame(struct building *building, const struct pprof_location *from)
{
    char text[NAME_MAX + 64];
    const struct pprof_mapping *mapping =
        from->mapping ? &building->file->mappings[from->mapping - 1] : &(struct pprof_mapping){.path = ""};
    const char *path = name_last_part(mapping->path);
    snprintf(text, sizeof text, *path ? "[%.255s+%#" PRIx64 "]" : "[%.255s%#" PRIx64 "]", path,
             *path ? from->address - mapping->start + mapping->file_offset : from->address);
    const char *name = string_pool_add(&building->names->label_names, text, strlen(text));
    if (name)
        add_made_up_frame(&building->names->symbols, name);
    return name;
}

static int add_locations(struct building *building)
{
    const struct pprof_file *file = building->file;
    add_pseudos(building);
    for (uint32_t i = 0; i < file->location_count; i++) {
        const struct pprof_location *from = &file->locations[i];
        if (building->location_of[i])
            continue;
        if (from->line_count == 0 && !building->is_foreign)
            return recording_refuse(building->recording, -EBADMSG, "it has a location without a name");
        building->location_of[i] = make_location(building, from);
        if (!building->location_of[i])
            return recording_no_memory(building->recording);
        if (from->line_count > 0)
            add_frames(building, from);
        else if (!add_nameless_frame(building, from))
            return recording_no_memory(building->recording);
    }
    return 0;
}

arena_ref pprof_names_label(struct building *building, const struct pprof_label *label)
{
    char buffer[TREE_LABEL_NAME_BYTES];
    struct tree *tree = &building->recording->tree;
    struct symbols *symbols = &building->names->symbols;
    arena_ref ref = tree_label(tree, label->key, label->value);
    if (!ref || tree->location_count == symbols->location_count)
        return ref;
    const char *name = tree_frame_name(tree->arena, tree_location_at(tree, ref), buffer);
    name = string_pool_add(&building->names->label_names, name, strlen(name));
    add_made_up_frame(symbols, name);
    return name ? ref : 0;
}

arena_ref pprof_names_wait(struct building *building, const char *key, const char *text)
{
    char value[LABELS_VALUE_BYTES];
    return pprof_names_label(building, &(struct pprof_label){key, wait_text_spell(text, value)});
}

int pprof_names_add(struct building *building)
{
    int status = add_mappings(building);
    if (status == 0)
        status = add_functions(building);
    return status ? status : add_locations(building);
}

/* ---- memory ---- */

static void release_names(struct symbols *symbols)
{
    struct read_symbols *names = (struct read_symbols *)symbols;
    free(symbols->functions);
    free(symbols->frames);
    free(symbols->first_frame);
    free(symbols->region_of);
    free(symbols->modules);
    free(names->regions);
    free(names->text);
    free(names->comments);
    free(names->processes);
    string_table_deinit(&names->process_names);
    string_pool_deinit(&names->label_names);
    free(names);
}

bool pprof_names_make(struct building *building)
{
    const struct pprof_file *file = building->file;
    struct read_symbols *names = calloc(1, sizeof *names);
    if (!names)
        return false;
    struct symbols *symbols = &names->symbols;
    size_t locations = file->location_count + file->label_count + PSEUDO_COUNT;
    size_t nameless = building->is_foreign ? file->location_count : 0;
    size_t functions = file->function_count + file->label_count + PSEUDO_COUNT + nameless;
    size_t frames = file->line_count + file->label_count + 2 * PSEUDO_COUNT + nameless;
    symbols->functions = calloc(functions, sizeof *symbols->functions);
    symbols->frames = calloc(frames, sizeof *symbols->frames);
    symbols->first_frame = calloc(locations + 1, sizeof *symbols->first_frame);
    symbols->region_of = calloc(locations, sizeof *symbols->region_of);
    symbols->modules = calloc((size_t)file->mapping_count + 1, sizeof *symbols->modules);
    names->regions = calloc((size_t)file->mapping_count + 1, sizeof *names->regions);
    building->names = names;
    building->recording->symbols = symbols;
    building->recording->release_symbols = release_names;
    return symbols->functions && symbols->frames && symbols->first_frame && symbols->region_of &&
           symbols->modules && names->regions;
}
