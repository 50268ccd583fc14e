/*
 * First the files of all locations are read (names_files.h). Then the results become frames and functions, in
 * the order of the locations. So the same recording gives the same tables every time.
 *
 * Functions are the same if their linker's name and source file are. A plain symbol has no source file. Its
 * module and address tell it from others of that name.
 */
#include "names.h"

#include "name_functions.h"
#include "names_files.h"
#include "tool/io/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What names_make returns, and the memory of its strings. */
struct named {
    struct symbols symbols; /* first: names_release gets it */
    struct string_pool store;
    struct code_region *regions;
};

struct names_run {
    const struct profile *profile;
    const struct names_options *options;
    struct named *named;
    const struct location **locations; /* by index */
    struct names_found *found;         /* by location index */
    struct names_files files;
    struct name_functions functions;
    uint32_t frame_capacity;
    bool is_out_of_memory;
};

/* ---- frames ---- */

static void add_frame(struct names_run *naming, const struct function_key *key, uint32_t line)
{
    struct symbols *symbols = &naming->named->symbols;
    uint32_t count = symbols->first_frame[symbols->location_count]; /* their number so far */
    if (!array_grow(&symbols->frames, &naming->frame_capacity, count, sizeof *symbols->frames)) {
        naming->is_out_of_memory = true;
        return;
    }
    symbols->frames[count] = (struct symbol_frame){name_functions_find(&naming->functions, key), line};
    symbols->first_frame[symbols->location_count]++;
}

/* A frame for code without a name, with its file and line if they are known. */
static void add_nameless(struct names_run *naming, const struct location *location, const char *file,
                         uint32_t line)
{
    char name[SYMBOLS_OFFSET_NAME_BYTES];
    const struct module *module = names_module(naming->profile, location->module);
    uint64_t start = location->function_start ? location->function_start : location->address;
    symbols_offset_name(name, names_path(naming->profile, location->module), start - module->load_bias);
    add_frame(naming, &(struct function_key){.system_name = name, .file = file}, line);
}

static bool has_symbol(const struct names_run *naming, const struct location *location,
                       const struct frame_row *row)
{
    uint64_t start = location->function_start ? location->function_start -
                                                    names_module(naming->profile, location->module)->load_bias
                                              : 0;
    return row->source != NAME_FROM_SYMBOL ||
           symbols_is_believed(row->symbol_address, row->symbol_bytes, start);
}

/* Whether a name is another name with a compiler's suffix, as parse.cold is of parse. */
static bool is_part_of(const char *name, const char *whole)
{
    size_t bytes = strlen(whole);
    return strncmp(name, whole, bytes) == 0 && name[bytes] == '.';
}

/* The linker's name of a frame. For the outermost frame a hint is preferred (names.h). */
static const char *system_name_of(const struct names_found *found, const struct frame_entry *frame,
                                  bool is_outermost)
{
    const char *name = frame_table_text(found->table, frame->system_name);
    if (!is_outermost || !found->hint || !frame->system_name || is_part_of(found->hint->system_name, name))
        return name;
    return found->hint->system_name;
}

static void add_row_frame(struct names_run *naming, const struct location *location,
                          const struct names_found *found, uint32_t index)
{
    const struct frame_row *row = found->row;
    const struct frame_entry *frame = &found->table->frames[row->first_frame + index];
    bool is_outermost = index + 1 == row->frame_count;
    const char *file = frame->file ? frame_table_text(found->table, frame->file) : NULL;
    struct function_key key = {.system_name = system_name_of(found, frame, is_outermost),
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

static void add_known(struct names_run *naming, const struct location *location,
                      const struct names_known *known)
{
    struct function_key key = {.system_name = known->system_name, .name = known->name, .is_symbol = true};
    key.module = location->module;
    add_frame(naming, &key, 0);
}

static void add_known_frames(struct names_run *naming, const struct location *location,
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

static void add_script(struct names_run *naming, const struct location *location)
{
    const struct tree_script script = tree_script_of(naming->profile->arena, location);
    const struct function_key key = {.system_name = script.function,
                                     .name = script.function,
                                     .file = *script.file ? script.file : NULL,
                                     .start_line = script.first_line,
                                     .is_symbol = true,
                                     .is_script = *script.file != '\0'};
    add_frame(naming, &key, script.line);
}

static void add_location(struct names_run *naming, uint32_t index)
{
    const struct location *location = naming->locations[index];
    const struct names_found *found = &naming->found[index];
    if (location->pseudo) {
        char buffer[TREE_LABEL_NAME_BYTES];
        const char *name = tree_frame_name(naming->profile->arena, location, buffer);
        add_frame(naming, &(struct function_key){.system_name = name}, 0);
    } else if (tree_is_script(location)) {
        add_script(naming, location);
    } else if (found->known && found->known->frame_count > 0) {
        add_known_frames(naming, location, found->known);
    } else if (found->known) {
        add_known(naming, location, found->known);
    } else if (!location->module) {
        add_frame(naming, &(struct function_key){.system_name = "[anonymous code]"}, 0);
    } else if (!found->row || found->row->frame_count == 0) {
        add_nameless(naming, location, NULL, 0);
    } else {
        for (uint32_t i = 0; i < found->row->frame_count; i++)
            add_row_frame(naming, location, found, i);
    }
}

static void add_locations(struct names_run *naming)
{
    struct symbols *symbols = &naming->named->symbols;
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

static void take_known(struct names_run *naming)
{
    const struct names_options *options = naming->options;
    struct symbols *symbols = &naming->named->symbols;
    for (uint32_t i = 0; i < options->known_count; i++) {
        const struct names_known *known = &options->known[i];
        if (known->location >= symbols->location_count)
            continue;
        if (known->system_name && known->is_hint)
            naming->found[known->location].hint = known;
        else if (!known->is_hint && (known->system_name || known->frame_count > 0))
            naming->found[known->location].known = known;
        if (known->region <= options->region_count)
            symbols->region_of[known->location] = known->region;
    }
}

static void copy_regions(struct names_run *naming)
{
    const struct names_options *options = naming->options;
    struct named *named = naming->named;
    for (uint32_t i = 0; i < options->region_count; i++) {
        named->regions[i] = options->regions[i];
        named->regions[i].path =
            string_pool_add(&named->store, options->regions[i].path, strlen(options->regions[i].path));
        naming->is_out_of_memory |= !named->regions[i].path;
    }
    named->symbols.regions = named->regions;
    named->symbols.region_count = options->region_count;
}

/* ---- modules ---- */

static int compare_modules(const void *left, const void *right)
{
    const struct symbols_module *a = left, *b = right;
    return (a->module > b->module) - (a->module < b->module);
}

static struct symbols_module describe_module(const struct symbols *symbols, arena_ref module,
                                             uint32_t location)
{
    struct symbols_module known = {.module = module};
    uint32_t count;
    const struct symbol_frame *frames = symbols_frames(symbols, location, &count);
    known.has_inlines = count > 1;
    for (uint32_t i = 0; i < count; i++) {
        known.has_functions |= symbols->functions[frames[i].function].is_symbol;
        known.has_files |= symbols->functions[frames[i].function].file != NULL;
        known.has_lines |= frames[i].line > 0;
    }
    return known;
}

/* Makes one entry of those of one module, which stand together. Returns how many modules there are. */
static uint32_t unite_modules(struct symbols_module *modules, uint32_t count)
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

/* The flags that pprof wants of a mapping, from the frames of its locations; all of them have frames by now.
 */
static void describe_modules(struct symbols *symbols, const struct location *const *locations)
{
    struct symbols_module *modules = symbols->modules;
    uint32_t count = 0;
    for (uint32_t i = 0; i < symbols->location_count; i++) {
        struct symbols_module known = describe_module(symbols, locations[i]->module, i);
        if (known.module && (known.has_functions || known.has_files || known.has_lines))
            modules[count++] = known;
    }
    qsort(modules, count, sizeof *modules, compare_modules);
    symbols->module_count = unite_modules(modules, count);
}

/* ---- the whole ---- */

static void *alloc_array(struct names_run *naming, size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    naming->is_out_of_memory |= !memory;
    return memory;
}

static void alloc_tables(struct names_run *naming, uint32_t count)
{
    struct symbols *symbols = &naming->named->symbols;
    symbols->location_count = count;
    symbols->frames = alloc_array(naming, count, sizeof *symbols->frames);
    naming->frame_capacity = count ? count : 1;
    symbols->first_frame = alloc_array(naming, count + (size_t)1, sizeof *symbols->first_frame);
    symbols->region_of = alloc_array(naming, count, sizeof *symbols->region_of);
    symbols->modules = alloc_array(naming, count, sizeof *symbols->modules);
    symbols->lost_files = alloc_array(naming, count, sizeof *symbols->lost_files);
    naming->named->regions =
        alloc_array(naming, naming->options->region_count, sizeof *naming->named->regions);
    naming->locations = alloc_array(naming, count, sizeof *naming->locations);
    naming->found = alloc_array(naming, count, sizeof *naming->found);
    naming->functions.store = &naming->named->store;
}

static void list_locations(struct names_run *naming)
{
    const struct tree *tree = naming->profile->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        naming->locations[location->index] = location;
    }
}

static void read_files(struct names_run *naming)
{
    naming->files = (struct names_files){.profile = naming->profile,
                                         .locations = naming->locations,
                                         .found = naming->found,
                                         .symbols = &naming->named->symbols,
                                         .is_quiet = naming->options->is_quiet};
    naming->is_out_of_memory |= names_files_read(&naming->files) < 0;
}

static void name_all(struct names_run *naming)
{
    alloc_tables(naming, naming->profile->tree->location_count);
    if (naming->is_out_of_memory)
        return;
    list_locations(naming);
    copy_regions(naming);
    take_known(naming);
    read_files(naming);
    add_locations(naming);
    if (!naming->is_out_of_memory)
        describe_modules(&naming->named->symbols, naming->locations);
}

static void naming_free(struct names_run *naming)
{
    names_files_free(&naming->files);
    free(naming->locations);
    free(naming->found);
    name_functions_deinit(&naming->functions);
}

int names_make(const struct profile *profile, const struct names_options *options, struct symbols **ret)
{
    static const struct names_options none;
    struct names_run naming = {.profile = profile, .options = options ? options : &none};
    *ret = NULL;
    naming.named = calloc(1, sizeof *naming.named);
    if (!naming.named)
        return -ENOMEM;
    name_all(&naming);
    naming_free(&naming);
    if (naming.is_out_of_memory) {
        names_release(&naming.named->symbols);
        return -ENOMEM;
    }
    *ret = &naming.named->symbols;
    return 0;
}

void names_release(struct symbols *symbols)
{
    struct named *named = (struct named *)symbols;
    if (!named)
        return;
    string_pool_deinit(&named->store);
    free(named->regions);
    free(symbols->functions);
    free(symbols->frames);
    free(symbols->first_frame);
    free(symbols->region_of);
    free(symbols->modules);
    free(symbols->lost_files);
    free(named);
}
