#include "firefox_tables.h"
#include "profile/wait_labels.h"

#include <errno.h>

/* ---- numbers ---- */

static size_t stacks_bytes(const struct firefox_tables *tables)
{
    return sizeof(uint32_t) * tree_node_index_count(tables->profile->arena);
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
            uint32_t count, *stack = &tables->stacks[tree_node_index(node)];
            *stack = tables->stacks[tree_node_index(tree_node(tree, node)->parent)];
            if (wait_label_is(tree, firefox_location_of(tables, node)))
                continue;
            frames_of(tables, node, &count);
            tables->stack_count += count;
            *stack = tables->stack_count;
        }
    }
}

static int init_memory(struct firefox_tables *tables, const struct profile *profile)
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
    tables->stacks = scratch_alloc(stacks_bytes(tables));
    int states = intern_table_init(&tables->states, sizeof(struct firefox_state_stack),
                                   sizeof(struct firefox_state_stack));
    int frames =
        intern_table_init(&tables->frames, sizeof(struct firefox_frame), sizeof(struct firefox_frame));
    if (!tables->locations || !tables->libs || !tables->lib_of_function || !tables->start_of_function ||
        !tables->symbol_of_function || !tables->symbols || !tables->stacks || states < 0 || frames < 0)
        return -ENOMEM;
    return 0;
}

int firefox_tables_init(struct firefox_tables *tables, const struct profile *profile)
{
    int status = init_memory(tables, profile);
    if (status == 0)
        status = meaning_init(&tables->meaning, profile);
    if (status == 0)
        status = firefox_paths_init(&tables->paths, profile, &tables->meaning);
    if (status < 0)
        return status;
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
    scratch_free(tables->stacks, stacks_bytes(tables));
    intern_table_deinit(&tables->states);
    intern_table_deinit(&tables->frames);
    firefox_paths_deinit(&tables->paths);
    meaning_deinit(&tables->meaning);
    string_table_deinit(&tables->strings);
    string_table_deinit(&tables->files);
}

/* ---- the stack of a record ---- */

static uint32_t category_of(const struct firefox_tables *tables, const struct timeline_record *record)
{
    if (record->state == TIMELINE_QUEUED)
        return CATEGORY_WAITS + WAIT_CPU;
    if (record->state == TIMELINE_WAITING)
        return CATEGORY_WAITS + tables->meaning.nodes[tree_node_index(record->node)].wait;
    return CATEGORY_RUNNING;
}

int64_t firefox_tables_stack(struct firefox_tables *tables, const struct timeline_record *record)
{
    const struct tree *tree = tables->profile->tree;
    const arena_ref leaf = wait_label_leaf(tree, tree, record->node);
    const struct firefox_state_stack state = {leaf, category_of(tables, record)};
    if (firefox_stack_of(tables, leaf) == FIREFOX_NO_STACK)
        return FIREFOX_NO_STACK;
    if (record->state == TIMELINE_UNKNOWN || firefox_location_of(tables, leaf)->pseudo ||
        firefox_path_of(&tables->paths, leaf)->category == state.category)
        return firefox_stack_of(tables, leaf);
    return (int64_t)tables->stack_count + intern_table_intern(&tables->states, &state);
}
