#include "firefox_tables.h"
#include "base/clock.h"
#include "tool/meaning/meaning.h"

#include <errno.h>

/* A wait of at least this length is idle, if the thread has nothing to do (wait_kind_is_idle). */
static const uint64_t idle_ns = NS_PER_S;

/* ---- numbers ---- */

static size_t stacks_bytes(const struct firefox_tables *tables)
{
    return sizeof(uint32_t) *
           (tree_node_index((arena_ref)(tables->profile->arena->used_bytes / ARENA_UNIT_BYTES)) + 1);
}

static void number_locations(struct firefox_tables *tables)
{
    const struct tree *tree = tables->profile->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next)
        tables->locations[tree_location_at(tree, ref)->index] = ref;
}

static void number_libs(struct firefox_tables *tables)
{
    const struct module_list *modules = tables->profile->modules;
    for (int is_main = 1; is_main >= 0; is_main--) {
        for (arena_ref ref = modules->newest; ref; ref = firefox_module_at(tables, ref)->next) {
            const struct module *module = firefox_module_at(tables, ref);
            if (module->is_main == is_main && !module->is_own && module->is_sampled)
                tables->libs[tables->lib_count++] = ref;
        }
    }
}

static uint32_t lib_of(const struct firefox_tables *tables, arena_ref module)
{
    for (uint32_t i = 0; module && i < tables->lib_count; i++) {
        if (tables->libs[i] == module)
            return i + 1;
    }
    return 0;
}

/* A function's library is that of a location in it. The location whose code was made for it knows where it
 * begins. */
static void number_functions(struct firefox_tables *tables)
{
    const struct symbols *symbols = tables->profile->symbols;
    for (uint32_t i = 0; i < symbols->location_count; i++) {
        const struct location *location = tree_location_at(tables->profile->tree, tables->locations[i]);
        uint32_t count, lib = lib_of(tables, location->module);
        const struct symbol_frame *frames = symbols_frames(symbols, i, &count);
        for (uint32_t j = 0; j < count; j++) {
            if (!tables->lib_of_function[frames[j].function])
                tables->lib_of_function[frames[j].function] = lib;
        }
        uint32_t function = frames[count - 1].function;
        if (!lib || !location->function_start || tables->symbol_of_function[function])
            continue;
        tables->start_of_function[function] =
            location->function_start - firefox_module_at(tables, location->module)->loaded_low;
        tables->symbols[tables->symbol_count++] = function;
        tables->symbol_of_function[function] = tables->symbol_count;
    }
}

static const struct symbol_frame *frames_of(const struct firefox_tables *tables, arena_ref node,
                                            uint32_t *ret_count)
{
    return symbols_frames(tables->profile->symbols, firefox_location_of(tables, node)->index, ret_count);
}

static void number_stacks(struct firefox_tables *tables)
{
    const struct tree *tree = tables->profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node)) {
            uint32_t count;
            frames_of(tables, node, &count);
            tables->stack_count += count;
            tables->stacks[STACK_RUNNING][tree_node_index(node)] = tables->stack_count;
        }
    }
}

int firefox_tables_init(struct firefox_tables *tables, const struct profile *profile)
{
    size_t functions = profile->symbols->function_count + 1;
    *tables = (struct firefox_tables){.profile = profile};
    string_table_init(&tables->strings);
    string_table_init(&tables->files);
    tables->locations = scratch_alloc(sizeof(arena_ref) * (profile->tree->location_count + 1));
    tables->libs = scratch_alloc(sizeof(arena_ref) * (profile->modules->count + 1));
    tables->lib_of_function = scratch_alloc(sizeof(uint32_t) * functions);
    tables->start_of_function = scratch_alloc(sizeof(uint64_t) * functions);
    tables->symbol_of_function = scratch_alloc(sizeof(uint32_t) * functions);
    tables->symbols = scratch_alloc(sizeof(uint32_t) * functions);
    bool has_stacks = true;
    for (int kind = 0; kind < STACK_KIND_COUNT; kind++)
        has_stacks &= (tables->stacks[kind] = scratch_alloc(stacks_bytes(tables))) != NULL;
    if (!tables->locations || !tables->libs || !tables->lib_of_function || !tables->start_of_function ||
        !tables->symbol_of_function || !tables->symbols || !has_stacks)
        return -ENOMEM;
    number_locations(tables);
    number_libs(tables);
    number_functions(tables);
    number_stacks(tables);
    return 0;
}

void firefox_tables_deinit(struct firefox_tables *tables)
{
    const struct profile *profile = tables->profile;
    size_t functions = profile->symbols->function_count + 1;
    scratch_free(tables->locations, sizeof(arena_ref) * (profile->tree->location_count + 1));
    scratch_free(tables->libs, sizeof(arena_ref) * (profile->modules->count + 1));
    scratch_free(tables->lib_of_function, sizeof(uint32_t) * functions);
    scratch_free(tables->start_of_function, sizeof(uint64_t) * functions);
    scratch_free(tables->symbol_of_function, sizeof(uint32_t) * functions);
    scratch_free(tables->symbols, sizeof(uint32_t) * functions);
    for (int kind = 0; kind < STACK_KIND_COUNT; kind++)
        scratch_free(tables->stacks[kind], stacks_bytes(tables));
    scratch_free(tables->waits, tables->wait_bytes);
    string_table_deinit(&tables->strings);
    string_table_deinit(&tables->files);
}

/* ---- waits ---- */

/* 1 + the index of a new wait; 0 without memory. */
static uint32_t add_wait(struct firefox_tables *tables, arena_ref node, uint32_t category)
{
    tables->waits =
        scratch_reserve(tables->waits, &tables->wait_bytes,
                        (tables->wait_count + (size_t)1) * sizeof *tables->waits, SCRATCH_FIRST_BYTES);
    tables->failed |= !tables->waits;
    if (tables->failed) {
        tables->wait_count = 0; /* those from before are gone too */
        return 0;
    }
    tables->waits[tables->wait_count++] = (struct firefox_wait){node, category};
    return tables->wait_count;
}

/* Functions are compared by name only once for each node. */
static enum wait_kind known_kind_of(const struct firefox_tables *tables, arena_ref node)
{
    uint32_t wait = tables->stacks[STACK_WAITING][tree_node_index(node)];
    return wait && !tables->failed ? tables->waits[wait - 1].category - CATEGORY_WAITS
                                   : meaning_guess_wait(tables->profile, node);
}

/* Whether a wait was long, as far as that is known: of a thinned record it is not. */
static bool is_long(const struct timeline_record *record)
{
    return record->level == 0 && record->last_ns - record->first_ns >= idle_ns;
}

static int64_t stack_of_wait(struct firefox_tables *tables, const struct timeline_record *record)
{
    size_t at = tree_node_index(record->node);
    enum firefox_stack stack = is_long(record) ? STACK_IDLE : STACK_WAITING;
    if (!tables->stacks[stack][at]) {
        enum wait_kind kind = known_kind_of(tables, record->node);
        uint32_t category = CATEGORY_WAITS + kind;
        if (stack == STACK_IDLE && wait_kind_is_idle(kind))
            category = CATEGORY_IDLE;
        else
            stack = STACK_WAITING;
        if (!tables->stacks[stack][at])
            tables->stacks[stack][at] = add_wait(tables, record->node, category);
    }
    uint32_t wait = tables->stacks[stack][at];
    return wait ? (int64_t)tables->stack_count + wait - 1 : FIREFOX_NO_STACK;
}

static int64_t stack_of_queue(struct firefox_tables *tables, const struct timeline_record *record)
{
    uint32_t *wait = &tables->stacks[STACK_QUEUED][tree_node_index(record->node)];
    if (!*wait)
        *wait = add_wait(tables, record->node, CATEGORY_QUEUED);
    return *wait ? (int64_t)tables->stack_count + *wait - 1 : FIREFOX_NO_STACK;
}

int64_t firefox_tables_stack(struct firefox_tables *tables, const struct timeline_record *record)
{
    if (!tree_node(tables->profile->tree, record->node)->parent)
        return FIREFOX_NO_STACK;
    if (record->state == TIMELINE_WAITING && !firefox_location_of(tables, record->node)->pseudo)
        return stack_of_wait(tables, record);
    if (record->state == TIMELINE_QUEUED && !firefox_location_of(tables, record->node)->pseudo)
        return stack_of_queue(tables, record);
    return (int64_t)tables->stacks[STACK_RUNNING][tree_node_index(record->node)] - 1;
}
