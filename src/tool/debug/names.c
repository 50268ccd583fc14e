/*
 * Locations are sorted by the file they are in, so that each file is asked once, with all of its addresses,
 * however often it was loaded. Then, in the order of the locations, answers become frames and functions: the
 * same recording gives the same tables every time.
 *
 * Functions are one when their linker's name and source file are; a plain symbol has no file to tell it from
 * one of the same name, but its module and address do.
 */
#include "names.h"

#include "file_frames.h"
#include "names/module_names.h"
#include "name_functions.h"
#include "names_modules.h"
#include "names_places.h"
#include "names_progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS_MAX_SECONDS = 60 };

/* What is known of a location: of the two at most one. */
struct answer {
    const struct names_known *known, *hint;
    const struct frame_row *row; /* in */
    const struct frame_table *table;
};

/* What names_make returns, and what its strings live in. */
struct named {
    struct wp_symbols symbols; /* first: names_release gets it */
    struct name_store store;
    struct outside_region *regions;
};

struct naming {
    const struct wp_profile *profile;
    const struct names_options *options;
    struct named *named;
    const struct wp_location **locations; /* by index */
    struct answer *answers;               /* by location index */
    struct names_place *places;
    struct frame_table *tables; /* one per file */
    size_t place_count, table_count;
    struct name_functions functions;
    size_t frame_capacity;
    bool is_out_of_memory;
};

static const struct wp_module *module_at(const struct naming *naming, arena_ref ref)
{
    return arena_at(naming->profile->arena, ref);
}

static const char *path_of(const struct naming *naming, arena_ref ref)
{
    return module_names_path(naming->profile->arena, module_at(naming, ref));
}

/* ---- files ---- */

static void list_places(struct naming *naming)
{
    for (uint32_t i = 0; i < naming->named->symbols.location_count; i++) {
        const struct wp_location *location = naming->locations[i];
        if (location->pseudo || !location->module || naming->answers[i].known)
            continue;
        naming->places[naming->place_count++] = (struct names_place){
            .elf_address = location->address - module_at(naming, location->module)->load_bias,
            .module = location->module,
            .location = i};
    }
    names_places_sort(naming->profile->arena, naming->places, naming->place_count);
}

/* Files of one path follow each other. */
static void note_lost_file(struct naming *naming, arena_ref module, int error)
{
    struct wp_symbols *symbols = &naming->named->symbols;
    const char *path = path_of(naming, module);
    uint32_t count = symbols->lost_file_count;
    if (path[0] == '/' &&
        (count == 0 || strcmp(path_of(naming, symbols->lost_files[count - 1].module), path) != 0))
        symbols->lost_files[symbols->lost_file_count++] = (struct symbols_lost_file){module, error};
}

static void ask_file(struct naming *naming, struct names_progress *progress, const struct name_cache *cache,
                     const struct names_place *places, size_t count, struct frame_table *table)
{
    const struct wp_module *module = module_at(naming, places[0].module);
    struct debug_module asked = {.path = path_of(naming, places[0].module),
                                 .build_id = module->build_id,
                                 .build_id_bytes = names_build_id_bytes(module),
                                 .waiting = names_progress_show,
                                 .waiting_argument = progress};
    uint64_t *addresses = calloc(count, sizeof *addresses);
    size_t distinct = 0;
    if (!addresses) {
        naming->is_out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (distinct == 0 || addresses[distinct - 1] != places[i].elf_address)
            addresses[distinct++] = places[i].elf_address;
    }
    int error = file_frames_find(&asked, cache, addresses, distinct, table);
    if (error < 0)
        note_lost_file(naming, places[0].module, error);
    for (size_t i = 0; i < count; i++) {
        struct answer *answer = &naming->answers[places[i].location];
        answer->row = frame_table_find(table, places[i].elf_address);
        answer->table = table;
    }
    free(addresses);
}

/* A server that does not answer costs its patience for each file; all of them together only so much. */
static void limit_servers(const struct names_progress *progress)
{
    if (names_progress_seconds(progress) >= SERVERS_MAX_SECONDS)
        unsetenv("DEBUGINFOD_URLS");
}

static void ask_files(struct naming *naming)
{
    struct name_cache cache;
    struct names_progress progress;
    size_t file_count = names_places_files(naming->profile->arena, naming->places, naming->place_count);
    naming->tables = calloc(file_count ? file_count : 1, sizeof *naming->tables);
    if (!naming->tables) {
        naming->is_out_of_memory = true;
        return;
    }
    name_cache_open(&cache);
    names_progress_begin(&progress, !naming->options->is_quiet);
    for (size_t first = 0, end; first < naming->place_count; first = end) {
        end = first + names_places_of_file(naming->profile->arena, &naming->places[first],
                                           naming->place_count - first);
        limit_servers(&progress);
        names_progress_advance(&progress, naming->table_count, file_count,
                               path_of(naming, naming->places[first].module));
        ask_file(naming, &progress, &cache, &naming->places[first], end - first,
                 &naming->tables[naming->table_count++]);
    }
    names_progress_end(&progress);
    name_cache_close(&cache);
}

/* ---- frames ---- */

static void add_frame(struct naming *naming, const struct function_key *key, uint32_t line)
{
    struct wp_symbols *symbols = &naming->named->symbols;
    uint32_t count = symbols->first_frame[symbols->location_count]; /* how many there are, until the end */
    if (count == naming->frame_capacity) {
        size_t capacity = 2 * naming->frame_capacity;
        struct wp_frame *moved =
            capacity <= UINT32_MAX ? reallocarray(symbols->frames, capacity, sizeof *moved) : NULL;
        if (!moved) {
            naming->is_out_of_memory = true;
            return;
        }
        symbols->frames = moved;
        naming->frame_capacity = capacity;
    }
    symbols->frames[count] = (struct wp_frame){name_functions_find(&naming->functions, key), line};
    symbols->first_frame[symbols->location_count]++;
}

/* What stands for code without a name, and where it is if that is known. */
static void add_nameless(struct naming *naming, const struct wp_location *location, const char *file,
                         uint32_t line)
{
    char name[SYMBOLS_OFFSET_NAME_BYTES];
    const struct wp_module *module = module_at(naming, location->module);
    uint64_t start = location->function_start ? location->function_start : location->address;
    symbols_offset_name(name, path_of(naming, location->module), start - module->load_bias);
    add_frame(naming, &(struct function_key){.system_name = name, .file = file}, line);
}

static bool has_symbol(const struct naming *naming, const struct wp_location *location,
                       const struct frame_row *row)
{
    uint64_t start = location->function_start
                         ? location->function_start - module_at(naming, location->module)->load_bias
                         : 0;
    return row->source != NAME_FROM_SYMBOL ||
           symbols_is_believed(row->symbol_address, row->symbol_bytes, start);
}

/* A name that is another one with what compilers put behind: parse.cold, of parse. */
static bool is_part_of(const char *name, const char *whole)
{
    size_t bytes = strlen(whole);
    return strncmp(name, whole, bytes) == 0 && name[bytes] == '.';
}

/* By what the function is called that code was made for. */
static const char *system_name_of(const struct answer *answer, const struct frame_entry *frame,
                                  bool is_outermost)
{
    const char *name = frame_table_text(answer->table, frame->system_name);
    if (!is_outermost || !answer->hint || !frame->system_name || is_part_of(answer->hint->system_name, name))
        return name;
    return answer->hint->system_name;
}

static void add_row_frame(struct naming *naming, const struct wp_location *location,
                          const struct answer *answer, uint32_t index)
{
    const struct frame_row *row = answer->row;
    const struct frame_entry *frame = &answer->table->frames[row->first_frame + index];
    bool is_outermost = index + 1 == row->frame_count;
    const char *file = frame->file ? frame_table_text(answer->table, frame->file) : NULL;
    struct function_key key = {.system_name = system_name_of(answer, frame, is_outermost),
                               .file = file,
                               .start_line = frame->start_line,
                               .is_symbol = true};
    if (!file)
        key.module = location->module;
    if (!file && is_outermost)
        key.symbol_address = row->symbol_address;
    if (is_outermost && (!frame->system_name || !has_symbol(naming, location, row))) {
        add_nameless(naming, location, file, frame->line);
        return;
    }
    if (!frame->system_name)
        key = (struct function_key){.system_name = "[inlined]", .file = file};
    add_frame(naming, &key, frame->line);
}

static void add_known(struct naming *naming, const struct wp_location *location,
                      const struct names_known *known)
{
    struct function_key key = {.system_name = known->system_name, .name = known->name, .is_symbol = true};
    key.module = location->module;
    add_frame(naming, &key, 0);
}

static void add_known_frames(struct naming *naming, const struct wp_location *location,
                             const struct names_known *known)
{
    for (uint32_t i = 0; i < known->frame_count; i++) {
        const struct names_frame *frame = &known->frames[i];
        const struct function_key key = {.system_name = frame->system_name,
                                         .name = frame->name,
                                         .file = frame->file,
                                         .module = frame->file ? 0 : location->module,
                                         .start_line = frame->start_line,
                                         .is_symbol = frame->is_symbol};
        add_frame(naming, &key, frame->line);
    }
}

static void add_location(struct naming *naming, uint32_t index)
{
    const struct wp_location *location = naming->locations[index];
    const struct answer *answer = &naming->answers[index];
    if (location->pseudo) {
        char buffer[TREE_LABEL_NAME_BYTES];
        const char *name = tree_frame_name(naming->profile->arena, location, buffer);
        add_frame(naming, &(struct function_key){.system_name = name}, 0);
    } else if (answer->known && answer->known->frame_count > 0) {
        add_known_frames(naming, location, answer->known);
    } else if (answer->known) {
        add_known(naming, location, answer->known);
    } else if (!location->module) {
        add_frame(naming, &(struct function_key){.system_name = "[anonymous code]"}, 0);
    } else if (!answer->row || answer->row->frame_count == 0) {
        add_nameless(naming, location, NULL, 0);
    } else {
        for (uint32_t i = 0; i < answer->row->frame_count; i++)
            add_row_frame(naming, location, answer, i);
    }
}

static void add_locations(struct naming *naming)
{
    struct wp_symbols *symbols = &naming->named->symbols;
    for (uint32_t i = 0; i < symbols->location_count && !naming->is_out_of_memory; i++) {
        symbols->first_frame[i] = symbols->first_frame[symbols->location_count];
        add_location(naming, i);
    }
    naming->is_out_of_memory |= naming->functions.is_out_of_memory;
    symbols->functions = naming->functions.functions;
    symbols->function_count = naming->functions.count;
    naming->functions.functions = NULL;
}

/* ---- what the process knew ---- */

static void take_known(struct naming *naming)
{
    const struct names_options *options = naming->options;
    struct wp_symbols *symbols = &naming->named->symbols;
    for (uint32_t i = 0; i < options->known_count; i++) {
        const struct names_known *known = &options->known[i];
        if (known->location >= symbols->location_count)
            continue;
        if (known->system_name && known->is_hint)
            naming->answers[known->location].hint = known;
        else if (!known->is_hint && (known->system_name || known->frame_count > 0))
            naming->answers[known->location].known = known;
        if (known->region <= options->region_count)
            symbols->region_of[known->location] = known->region;
    }
}

static void copy_regions(struct naming *naming)
{
    const struct names_options *options = naming->options;
    struct named *named = naming->named;
    for (uint32_t i = 0; i < options->region_count; i++) {
        named->regions[i] = options->regions[i];
        named->regions[i].path =
            name_store_add(&named->store, options->regions[i].path, strlen(options->regions[i].path));
        naming->is_out_of_memory |= !named->regions[i].path;
    }
    named->symbols.regions = named->regions;
    named->symbols.region_count = options->region_count;
}

/* ---- the whole ---- */

static void *array(struct naming *naming, size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    naming->is_out_of_memory |= !memory;
    return memory;
}

static void allocate(struct naming *naming, uint32_t count)
{
    struct wp_symbols *symbols = &naming->named->symbols;
    symbols->location_count = count;
    symbols->frames = array(naming, count, sizeof *symbols->frames);
    naming->frame_capacity = count ? count : 1;
    symbols->first_frame = array(naming, count + (size_t)1, sizeof *symbols->first_frame);
    symbols->region_of = array(naming, count, sizeof *symbols->region_of);
    symbols->modules = array(naming, count, sizeof *symbols->modules);
    symbols->lost_files = array(naming, count, sizeof *symbols->lost_files);
    naming->named->regions = array(naming, naming->options->region_count, sizeof *naming->named->regions);
    naming->locations = array(naming, count, sizeof *naming->locations);
    naming->answers = array(naming, count, sizeof *naming->answers);
    naming->places = array(naming, count, sizeof *naming->places);
    naming->functions.store = &naming->named->store;
}

static void list_locations(struct naming *naming)
{
    const struct wp_tree *tree = naming->profile->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct wp_location *location = tree_location_at(tree, ref);
        naming->locations[location->index] = location;
    }
}

static void make(struct naming *naming)
{
    allocate(naming, naming->profile->tree->location_count);
    if (naming->is_out_of_memory)
        return;
    list_locations(naming);
    copy_regions(naming);
    take_known(naming);
    list_places(naming);
    ask_files(naming);
    add_locations(naming);
    if (!naming->is_out_of_memory)
        names_modules_describe(&naming->named->symbols, naming->locations);
}

static void naming_free(struct naming *naming)
{
    for (size_t i = 0; i < naming->table_count; i++)
        frame_table_free(&naming->tables[i]);
    free(naming->tables);
    free(naming->locations);
    free(naming->answers);
    free(naming->places);
    name_functions_deinit(&naming->functions);
}

int names_make(const struct wp_profile *profile, const struct names_options *options, struct wp_symbols **ret)
{
    static const struct names_options none;
    struct naming naming = {.profile = profile, .options = options ? options : &none};
    *ret = NULL;
    naming.named = calloc(1, sizeof *naming.named);
    if (!naming.named)
        return -ENOMEM;
    make(&naming);
    naming_free(&naming);
    if (naming.is_out_of_memory) {
        names_release(&naming.named->symbols);
        return -ENOMEM;
    }
    *ret = &naming.named->symbols;
    return 0;
}

void names_release(struct wp_symbols *symbols)
{
    struct named *named = (struct named *)symbols;
    if (!named)
        return;
    name_store_deinit(&named->store);
    free(named->regions);
    free(symbols->functions);
    free(symbols->frames);
    free(symbols->first_frame);
    free(symbols->region_of);
    free(symbols->modules);
    free(symbols->lost_files);
    free(named);
}
