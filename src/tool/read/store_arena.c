/*
 * The records of a store's arena, checked one by one. Each is claimed once, and each node leads to its own
 * parent, so nothing is met twice.
 */
#include "store_reader.h"
#include "account/labels.h"
#include "profile/wait_labels.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 2 * PATH_MAX }; /* nothing longer can be opened */

/* ---- records ---- */

bool store_fits(const struct store_reader *reader, arena_ref ref, size_t bytes)
{
    uint64_t offset = (uint64_t)ref * ARENA_UNIT_BYTES;
    uint64_t end = (uint64_t)reader->unit_count * ARENA_UNIT_BYTES; /* of what is in the file */
    return ref && offset < end && bytes <= end - offset;
}

bool store_is_kind(const struct store_reader *reader, arena_ref ref, enum store_kind kind)
{
    return ref < reader->unit_count && reader->kinds[ref] == kind;
}

/* No two records share a byte: nodes are numbered by where they lie (tree_node_index). */
bool store_claim(struct store_reader *reader, arena_ref ref, size_t bytes, enum store_kind kind)
{
    const size_t units = (bytes + ARENA_UNIT_BYTES - 1) / ARENA_UNIT_BYTES;
    if (!store_fits(reader, ref, bytes))
        return false;
    for (size_t i = 0; i < units; i++) {
        if (reader->kinds[ref + i] != KIND_NONE)
            return false;
    }
    memset(&reader->kinds[ref], KIND_REST, units);
    reader->kinds[ref] = (uint8_t)kind;
    return true;
}

bool store_is_string(const struct store_reader *reader, arena_ref ref)
{
    const struct arena *arena = &reader->recording->arena;
    if (!store_fits(reader, ref, 1))
        return false;
    size_t left = arena->used_bytes - (size_t)ref * ARENA_UNIT_BYTES;
    return memchr(arena_at(arena, ref), '\0', left < PATH_MAX_BYTES ? left : PATH_MAX_BYTES);
}

/* ---- modules, locations, threads ---- */

/* A bool may hold any byte of the file; only 0 and 1 are defined. */
static void make_bool(bool *value)
{
    unsigned char byte;
    memcpy(&byte, value, sizeof byte);
    *value = byte != 0;
}

static void make_bools(struct module *module)
{
    bool *const values[] = {&module->is_loaded,    &module->is_main,          &module->is_own,
                            &module->is_permanent, &module->is_first_segment, &module->is_indexed,
                            &module->is_sampled};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        make_bool(values[i]);
}

bool store_is_module(const struct store_reader *reader, arena_ref ref)
{
    const struct module *module = arena_at(&reader->recording->arena, ref);
    return module->next < ref && module->build_id_bytes <= MODULE_BUILD_ID_MAX_BYTES &&
           module->start_pc < module->end_pc && store_is_string(reader, module->path) &&
           store_is_string(reader, module->name);
}

static int check_modules(struct store_reader *reader)
{
    struct recording *recording = reader->recording;
    uint32_t count = 0;
    for (arena_ref ref = reader->header->tree.newest_module, next; ref; ref = next, count++) {
        if (!store_claim(reader, ref, sizeof(struct module), KIND_MODULE))
            return store_damaged(reader, "a module is not where it should be");
        struct module *module = arena_at(&recording->arena, ref);
        make_bools(module);
        next = module->next;
        if (!store_is_module(reader, ref))
            return store_damaged(reader, "a module makes no sense");
    }
    recording->modules.newest = reader->header->tree.newest_module;
    recording->modules.count = count;
    return count == reader->header->tree.module_count ? 0 : store_damaged(reader, "modules are missing");
}

static bool is_label(const struct store_reader *reader, const struct location *location)
{
    const struct arena *arena = &reader->recording->arena;
    const uint64_t text = location->address & ~TREE_LABEL_ADDRESS;
    if (!(location->address & TREE_LABEL_ADDRESS) || text > UINT32_MAX ||
        !store_is_string(reader, (arena_ref)text))
        return false;
    const char *key = tree_label_key(arena, location), *value = tree_label_value(arena, location);
    const size_t end = arena->used_bytes, at = (size_t)(value - (const char *)arena->base);
    return *key && (!labels_is_reserved(key) || wait_label_is_key(key)) && at < end && *value &&
           memchr(value, '\0', end - at < LABELS_VALUE_BYTES ? end - at : LABELS_VALUE_BYTES);
}

bool store_has_text(const struct store_reader *reader, const struct location *location)
{
    return (!tree_is_label(location) || is_label(reader, location)) &&
           (!tree_is_script(location) || tree_script_is_sound(&reader->recording->arena, location));
}

static bool makes_sense(const struct store_reader *reader, const struct location *location)
{
    return store_has_text(reader, location) && location->pseudo <= PSEUDO_KINDS &&
           (location->module == 0 ||
            (!location->pseudo && store_is_kind(reader, location->module, KIND_MODULE)));
}

static int check_locations(struct store_reader *reader)
{
    struct recording *recording = reader->recording;
    const struct store_tree *stored = &reader->header->tree;
    uint32_t left = stored->location_count;
    for (arena_ref ref = stored->newest_location, next; ref; ref = next) {
        if (!store_claim(reader, ref, sizeof(struct location), KIND_LOCATION))
            return store_damaged(reader, "a location is not where it should be");
        const struct location *location = arena_at(&recording->arena, ref);
        next = location->next;
        if (left == 0 || next >= ref || location->index != --left || !makes_sense(reader, location))
            return store_damaged(reader, "a location makes no sense");
    }
    for (int i = 0; i < PSEUDO_COUNT; i++) {
        const struct location *location = arena_at(&recording->arena, stored->pseudo[i]);
        if (!store_is_kind(reader, stored->pseudo[i], KIND_LOCATION) || location->pseudo != 1 + (uint32_t)i)
            return store_damaged(reader, "what stands for no code is missing");
    }
    return left == 0 ? 0 : store_damaged(reader, "locations are missing");
}

/* Whether it is the thread's own root, or the root of threads that found no memory for one. */
static bool is_root_of(const struct store_reader *reader, const struct thread_record *record)
{
    return store_is_kind(reader, record->root, KIND_ROOT) &&
           (record->root == reader->recording->tree.spare_root ||
            tree_node(&reader->recording->tree, record->root)->thread == record->number);
}

static int check_threads(struct store_reader *reader)
{
    struct recording *recording = reader->recording;
    const uint32_t count = reader->header->tree.thread_count;
    for (arena_ref ref = reader->header->tree.newest_thread, next; ref; ref = next) {
        if (!store_claim(reader, ref, sizeof(struct thread_record), KIND_THREAD))
            return store_damaged(reader, "a thread is not where it should be");
        struct thread_record *record = arena_at(&recording->arena, ref);
        record->process = 0; /* a store is of one */
        record->is_spare = false;
        make_bool(&record->has_ended);
        next = record->next;
        if (record->tid < 0 || record->number == 0 || record->number > count ||
            recording->thread_of_number[record->number] || !is_root_of(reader, record))
            return store_damaged(reader, "a thread makes no sense");
        recording->thread_of_number[record->number] = ref;
    }
    return 0;
}

/* ---- the tree ---- */

int store_add_values(struct store_reader *reader, const struct values *values)
{
    const uint64_t each[4] = {values->samples, values->cpu_ns, values->rundelay_ns, values->blocked_ns};
    for (int i = 0; i < 4; i++) {
        if (each[i] > STORE_VALUE_MAX || (reader->total[i] += each[i]) > STORE_VALUE_MAX)
            return store_damaged(reader, "times are longer than anything can last");
    }
    return 0;
}

bool store_is_sound(const struct changes *changes)
{
    const float each[4] = {changes->flat_near, changes->flat_far, changes->cum_near, changes->cum_far};
    for (int i = 0; i < 4; i++) {
        if (!(each[i] >= -STORE_CHANGES_MAX && each[i] <= STORE_CHANGES_MAX))
            return false;
    }
    return true;
}

static int check_node(struct store_reader *reader, arena_ref ref, arena_ref parent, uint32_t thread)
{
    if (!store_claim(reader, ref, sizeof(struct tree_node), parent ? KIND_NODE : KIND_ROOT))
        return store_damaged(reader, "a node is not where it should be");
    const struct tree *tree = &reader->recording->tree;
    const struct tree_node *node = tree_node(tree, ref);
    bool is_right = node->parent == parent && store_is_sound(&node->changes);
    if (parent)
        is_right &= node->depth == tree_node(tree, parent)->depth + 1 &&
                    store_is_kind(reader, node->location, KIND_LOCATION);
    else
        is_right &=
            node->depth == 0 && node->location == 0 && node->thread <= reader->header->tree.thread_count;
    if (!is_right)
        return store_damaged(reader, "a node makes no sense");
    reader->thread_of_node[tree_node_index(ref)] = thread;
    return store_add_values(reader, &node->self);
}

/* The nodes below a root; each is claimed once, so this ends. */
static int check_below(struct store_reader *reader, arena_ref root)
{
    const struct tree *tree = &reader->recording->tree;
    const uint32_t thread = tree_node(tree, root)->thread;
    arena_ref node = root;
    for (;;) {
        arena_ref next = tree_node(tree, node)->first_child, parent = node;
        while (!next) {
            if (node == root)
                return 0;
            next = tree_node(tree, node)->next_sibling;
            parent = node = tree_node(tree, node)->parent;
        }
        int status = check_node(reader, next, parent, thread);
        if (status < 0)
            return status;
        node = next;
    }
}

/* Each thread has one tree. The spare root's tree alone belongs to no thread. */
static int check_owner(struct store_reader *reader, arena_ref root)
{
    const struct tree *tree = &reader->recording->tree;
    const uint32_t thread = tree_node(tree, root)->thread;
    if (reader->has_tree[thread] || (thread == 0) != (root == tree->spare_root))
        return store_damaged(reader, "a tree is not its thread's");
    reader->has_tree[thread] = 1;
    return 0;
}

static int check_trees(struct store_reader *reader)
{
    const struct tree *tree = &reader->recording->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        if (!store_fits(reader, root, sizeof(struct tree_node)))
            return store_damaged(reader, "a node is not where it should be");
        int status = check_node(reader, root, 0, tree_node(tree, root)->thread);
        if (status == 0)
            status = check_owner(reader, root);
        if (status == 0)
            status = check_below(reader, root);
        if (status < 0)
            return status;
    }
    return store_is_kind(reader, tree->spare_root, KIND_ROOT)
               ? 0
               : store_damaged(reader, "the spare root is missing");
}

static int check_tree(struct store_reader *reader)
{
    reader->thread_of_node =
        store_array(tree_node_index((arena_ref)reader->unit_count) + 1, sizeof *reader->thread_of_node);
    reader->has_tree = store_array((size_t)reader->header->tree.thread_count + 1, 1);
    if (!reader->thread_of_node || !reader->has_tree)
        return recording_no_memory(reader->recording);
    return check_trees(reader);
}

int store_check_arena(struct store_reader *reader)
{
    int status = check_modules(reader);
    if (status == 0)
        status = check_locations(reader);
    if (status == 0)
        status = check_tree(reader);
    return status == 0 ? check_threads(reader) : status;
}
