/*
 * Every location becomes an entry. Entries are sorted twice. Sorted by module and address, each module's file
 * is read once with all of its queries. Sorted by function, the entries of one function stand together and
 * share one record, however nested or split functions are.
 *
 * A failure (a file that is gone or was replaced, no memory for a name) costs names, never locations: the
 * module and the offset remain.
 */
#include "symbolize.h"

#include "elf/elf.h"
#include "module_names.h"
#include "base/string_pool.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANGLED_MAX_BYTES = 4096,       /* demanglers need stack in proportion to this */
    DEMANGLED_MAX_BYTES = 64 * 1024 /* substitutions can make a long name out of a short one */
};

static const char no_memory_name[] = "[no memory for the name]";

/* What identifies a function: the meaning of struct symbolize_entry.key and .name. */
enum entry_kind {
    ENTRY_FIXED,  /* name: of a pseudo-frame, or [anonymous code]; no key */
    ENTRY_SCRIPT, /* name: a script's function; key: the address of its record in the arena */
    ENTRY_LISTED, /* name: from a perf map; no key: a function that is compiled again is the same function */
    ENTRY_OFFSET, /* key: offset in the module or file; name: its base name */
    ENTRY_SYMBOL  /* key: address of the symbol in the file; name: the linker's */
};

struct symbolize_entry {
    uint64_t elf_address; /* outside all modules: the run-time address; of a pseudo-frame: 0 */
    uint64_t key;
    const char *name;
    arena_ref location;
    arena_ref module; /* 0 for none */
    enum entry_kind kind;
};
_Static_assert(sizeof(struct symbolize_entry) <= SORT_RECORD_MAX_BYTES, "sort_records moves whole records");

/* What symbolize_create returns, and what it points to. The arrays follow, in the same block of memory. */
struct symbolized {
    struct symbols symbols; /* first: symbolize_destroy gets it */
    size_t bytes;           /* of the block */
    struct string_pool names;
    struct anonymous_code anonymous;
    struct memory_map memory;
};

/* What is needed only while names are found. */
struct symbolizing {
    struct symbolized *symbolized;
    struct symbols *symbols; /* in it */
    const struct tree *tree;
    const struct arena *arena;
    const struct symbolize_process *process;
    symbolize_demangle_fn *demangle;
    struct module_names module_names;
    struct symbolize_entry *entries; /* one per location */
    struct elf_query *queries;       /* room for all entries of one module; NULL without memory */
};

/* ---- entries ---- */

static const struct module *entry_module(const struct symbolizing *naming,
                                         const struct symbolize_entry *entry)
{
    return arena_at(naming->arena, entry->module);
}

static const char *frame_name(struct symbolizing *naming, const struct location *location)
{
    char buffer[TREE_LABEL_NAME_BYTES];
    const char *name = tree_frame_name(naming->arena, location, buffer);
    if (name == buffer)
        name = string_pool_add(&naming->symbolized->names, buffer, strlen(buffer));
    return name ? name : no_memory_name;
}

static struct symbolize_entry entry_for(struct symbolizing *naming, arena_ref ref)
{
    const struct location *location = tree_location_at(naming->tree, ref);
    struct symbolize_entry entry = {.location = ref};
    if (location->pseudo) {
        entry.name = frame_name(naming, location);
    } else if (tree_is_script(location)) {
        entry.kind = ENTRY_SCRIPT;
        entry.name = tree_script_of(naming->arena, location).function;
        entry.key = location->function_start;
    } else if (!location->module) {
        entry.elf_address = location->address;
        entry.name = "[anonymous code]";
    } else {
        entry.kind = ENTRY_OFFSET;
        entry.module = location->module;
        const struct module *module = entry_module(naming, &entry);
        const char *path = module_names_path(naming->arena, module), *slash = strrchr(path, '/');
        entry.elf_address = location->address - module->load_bias;
        entry.key =
            (location->function_start ? location->function_start : location->address) - module->load_bias;
        entry.name = slash ? slash + 1 : path;
    }
    return entry;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_for_lookup(const void *left, const void *right)
{
    const struct symbolize_entry *a = left, *b = right;
    int order = compare_numbers(a->module, b->module);
    return order ? order : compare_numbers(a->elf_address, b->elf_address);
}

/* Equal entries are of one function. Libraries of one name have their own symbols, but share offset names. */
static int compare_functions(const struct symbolize_entry *a, const struct symbolize_entry *b)
{
    int order = compare_numbers(a->kind, b->kind);
    if (order == 0 && a->kind == ENTRY_SYMBOL)
        order = compare_numbers(a->module, b->module);
    if (order == 0 && a->kind != ENTRY_SYMBOL)
        order = strcmp(a->name, b->name);
    return order ? order : compare_numbers(a->key, b->key);
}

/* The address decides last. So the first entry of a function does not depend on how sorting works. */
static int compare_for_functions(const void *left, const void *right)
{
    const struct symbolize_entry *a = left, *b = right;
    int order = compare_functions(a, b);
    return order ? order : compare_for_lookup(left, right);
}

/* ---- symbols ---- */

static bool is_believed(const struct elf_query *query, const struct symbolize_entry *entry,
                        const struct location *location)
{
    return query->name && symbols_is_believed(query->symbol_address, query->symbol_bytes,
                                              location->function_start ? entry->key : 0);
}

/* The executable segments of one object are several modules with one file, which is listed once. */
static void note_lost_file(struct symbolizing *naming, arena_ref module, int error)
{
    struct symbols *symbols = naming->symbols;
    const struct module *record = arena_at(naming->arena, module);
    const char *path = module_names_path(naming->arena, record);
    if (path[0] != '/')
        return;
    for (uint32_t i = 0; i < symbols->lost_file_count; i++) {
        const struct module *other = arena_at(naming->arena, symbols->lost_files[i].module);
        if (strcmp(module_names_path(naming->arena, other), path) == 0)
            return;
    }
    symbols->lost_files[symbols->lost_file_count++] = (struct symbols_lost_file){module, error};
}

static void name_module(struct symbolizing *naming, struct symbolize_entry *entries, size_t count)
{
    struct symbols *symbols = naming->symbols;
    bool has_names = false;
    for (size_t i = 0; i < count; i++)
        naming->queries[i] = (struct elf_query){.elf_address = entries[i].elf_address};
    int error =
        module_names_find(&naming->module_names, entry_module(naming, &entries[0]), naming->queries, count);
    if (error < 0)
        note_lost_file(naming, entries[0].module, error);
    for (size_t i = 0; i < count; i++) {
        const struct elf_query *query = &naming->queries[i];
        if (!is_believed(query, &entries[i], tree_location_at(naming->tree, entries[i].location)))
            continue;
        entries[i].kind = ENTRY_SYMBOL;
        entries[i].key = query->symbol_address;
        entries[i].name = query->name;
        has_names = true;
    }
    if (has_names)
        symbols->modules[symbols->module_count++] =
            (struct symbols_module){.module = entries[0].module, .has_functions = true};
}

static void name_modules(struct symbolizing *naming)
{
    const uint32_t count = naming->symbols->location_count;
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && naming->entries[end].module == naming->entries[first].module;)
            end++;
        if (naming->entries[first].module)
            name_module(naming, &naming->entries[first], end - first);
    }
}

/* ---- code outside all modules ---- */

/* Pseudo-frames and scripts have names already. Their entries have the address 0. */
static bool is_no_address(const struct location *location)
{
    return location->pseudo || tree_is_script(location);
}

static void name_anonymous_entry(struct symbolizing *naming, struct symbolize_entry *entry,
                                 const struct anonymous_address *address)
{
    const struct location *location = tree_location_at(naming->tree, entry->location);
    if (is_no_address(location)) /* they stand among code at address 0 */
        return;
    naming->symbols->region_of[location->index] = address->region;
    if (address->kind == ANONYMOUS_MEMORY)
        return;
    entry->kind = address->kind == ANONYMOUS_LISTED ? ENTRY_LISTED : ENTRY_OFFSET;
    entry->name = address->name;
    entry->key = address->file_offset;
}

static void name_anonymous_entries(struct symbolizing *naming, struct symbolize_entry *entries, size_t count)
{
    struct symbolized *symbolized = naming->symbolized;
    struct anonymous_address *addresses = count ? scratch_alloc(count * sizeof *addresses) : NULL;
    if (!addresses)
        return;
    for (size_t i = 0; i < count; i++)
        addresses[i].address = entries[i].elf_address;
    anonymous_code_init(&symbolized->anonymous, naming->process->modules, &symbolized->memory,
                        naming->process->perf_maps, naming->process->log, addresses, count);
    naming->symbols->regions = symbolized->anonymous.regions;
    naming->symbols->region_count = symbolized->anonymous.region_count;
    for (size_t i = 0; i < count; i++)
        name_anonymous_entry(naming, &entries[i], &addresses[i]);
    scratch_free(addresses, count * sizeof *addresses);
}

/* Entries without a module stand first, and before them those that are no addresses. */
static void name_anonymous_code(struct symbolizing *naming)
{
    const uint32_t count = naming->symbols->location_count;
    uint32_t first = 0, end;
    while (first < count && is_no_address(tree_location_at(naming->tree, naming->entries[first].location)))
        first++;
    for (end = first; end < count && !naming->entries[end].module;)
        end++;
    name_anonymous_entries(naming, naming->entries + first, end - first);
}

/* ---- functions ---- */

static void describe_script(struct symbolizing *naming, const struct symbolize_entry *entry,
                            struct symbol_function *ret)
{
    const struct tree_script script =
        tree_script_of(naming->arena, tree_location_at(naming->tree, entry->location));
    ret->file = *script.file ? script.file : NULL;
    ret->start_line = script.first_line;
}

/* What follows the mangled name, as in _Z3foov@plt or _Z3foov@@V2, is appended to the demangled name. */
static const char *demangle_name(struct symbolizing *naming, const char *name)
{
    char buffer[MANGLED_MAX_BYTES];
    const char *suffix = strchrnul(name, '@'), *kept = NULL;
    size_t bytes = (size_t)(suffix - name);
    if (!naming->demangle || strncmp(name, "_Z", 2) != 0 || bytes >= sizeof buffer)
        return name;
    memcpy(buffer, name, bytes);
    buffer[bytes] = '\0';
    int status = 0;
    char *result = naming->demangle(buffer, NULL, NULL, &status);
    size_t result_bytes = result ? strnlen(result, DEMANGLED_MAX_BYTES) : 0;
    if (result_bytes > 0 && result_bytes < DEMANGLED_MAX_BYTES)
        kept = string_pool_join(&naming->symbolized->names, result, result_bytes, suffix);
    free(result);
    return kept ? kept : name;
}

static const char *offset_name(struct symbolizing *naming, const struct symbolize_entry *entry)
{
    char name[SYMBOLS_OFFSET_NAME_BYTES];
    int length = symbols_offset_name(name, entry->name, entry->key);
    const char *kept = string_pool_add(&naming->symbolized->names, name, (size_t)length);
    return kept ? kept : no_memory_name;
}

static struct symbol_function function_for(struct symbolizing *naming, const struct symbolize_entry *entry)
{
    struct symbol_function function = {
        .system_name = entry->name, .is_symbol = entry->kind != ENTRY_FIXED && entry->kind != ENTRY_OFFSET};
    if (entry->kind == ENTRY_SCRIPT)
        describe_script(naming, entry, &function);
    if (entry->kind == ENTRY_OFFSET)
        function.system_name = offset_name(naming, entry);
    bool may_be_mangled = function.is_symbol && entry->kind != ENTRY_SCRIPT;
    function.name = may_be_mangled ? demangle_name(naming, function.system_name) : function.system_name;
    return function;
}

static void number_functions(struct symbolizing *naming)
{
    struct symbols *symbols = naming->symbols;
    sort_records(naming->entries, symbols->location_count, sizeof *naming->entries, compare_for_functions);
    for (uint32_t i = 0; i < symbols->location_count; i++) {
        const struct symbolize_entry *entry = &naming->entries[i];
        if (i == 0 || compare_functions(entry, entry - 1) != 0)
            symbols->functions[symbols->function_count++] = function_for(naming, entry);
        const struct location *location = tree_location_at(naming->tree, entry->location);
        symbols->frames[location->index] = (struct symbol_frame){
            .function = symbols->function_count - 1,
            .line = entry->kind == ENTRY_SCRIPT ? tree_script_of(naming->arena, location).line : 0};
    }
}

/* ---- the whole ---- */

static struct symbolized *symbolized_create(uint32_t location_count)
{
    const struct symbols of = {.location_count = location_count};
    const size_t bytes =
        sizeof(struct symbolized) + sizeof *of.first_frame +
        location_count * (sizeof *of.functions + sizeof *of.frames + sizeof *of.lost_files +
                          sizeof *of.modules + sizeof *of.region_of + sizeof *of.first_frame);
    struct symbolized *symbolized = scratch_alloc(bytes);
    if (!symbolized)
        return NULL;
    struct symbols *symbols = &symbolized->symbols;
    symbolized->bytes = bytes;
    symbols->location_count = location_count;
    symbols->functions = (void *)(symbolized + 1);
    symbols->frames = (void *)(symbols->functions + location_count);
    symbols->lost_files = (void *)(symbols->frames + location_count);
    symbols->modules = (void *)(symbols->lost_files + location_count);
    symbols->region_of = (void *)(symbols->modules + location_count);
    symbols->first_frame = symbols->region_of + location_count;
    return symbolized;
}

/* One frame for each location: only debug information knows of inlined calls. */
static void number_frames(struct symbols *symbols)
{
    for (uint32_t i = 0; i <= symbols->location_count; i++)
        symbols->first_frame[i] = i;
}

static void name_entries(struct symbolizing *naming)
{
    struct symbolize_entry *entry = naming->entries;
    for (arena_ref ref = naming->tree->newest_location; ref; ref = tree_location_at(naming->tree, ref)->next)
        *entry++ = entry_for(naming, ref);
    sort_records(naming->entries, naming->symbols->location_count, sizeof *naming->entries,
                 compare_for_lookup);
    name_anonymous_code(naming);
    if (naming->queries && !naming->process->without_files)
        name_modules(naming);
    number_functions(naming);
}

struct symbols *symbolize_create(const struct tree *tree, const struct module_list *modules,
                                 symbolize_demangle_fn *demangle, const struct symbolize_process *process)
{
    const size_t count = tree->location_count;
    struct symbolizing naming = {
        .tree = tree, .arena = modules->arena, .process = process, .demangle = demangle};
    naming.symbolized = symbolized_create(tree->location_count);
    naming.entries = scratch_alloc(count * sizeof *naming.entries);
    naming.queries = scratch_alloc(count * sizeof *naming.queries);
    naming.symbols = naming.symbolized ? &naming.symbolized->symbols : NULL;
    if (naming.symbols && naming.entries) {
        naming.module_names = (struct module_names){.arena = modules->arena,
                                                    .pool = &naming.symbolized->names,
                                                    .memory = &naming.symbolized->memory,
                                                    .start_utc_ns = process->start_utc_ns,
                                                    .leaves_plain = process->leaves_plain,
                                                    .is_another = !process->modules};
        naming.symbolized->memory.is_read = !process->modules;
        number_frames(naming.symbols);
        name_entries(&naming);
    } else {
        symbolize_destroy(naming.symbols);
        naming.symbols = NULL;
    }
    scratch_free(naming.entries, count * sizeof *naming.entries);
    scratch_free(naming.queries, count * sizeof *naming.queries);
    return naming.symbols;
}

void symbolize_destroy(struct symbols *symbols)
{
    if (!symbols)
        return;
    struct symbolized *symbolized = (struct symbolized *)symbols;
    string_pool_deinit(&symbolized->names);
    anonymous_code_deinit(&symbolized->anonymous);
    memory_map_deinit(&symbolized->memory);
    scratch_free(symbolized, symbolized->bytes);
}
