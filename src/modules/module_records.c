/*
 * Records are found again by their start, build-id and name. So a library that replaces another at the same
 * address gets a record of its own, and a library that comes back gets its old record.
 */
#include "module_records.h"
#include "base/hash.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { INDEX_FIRST_CAPACITY = 256 };

static uint64_t hash_of(const struct module *module, const char *name)
{
    uint64_t hash = hash_bytes(hash_of_nothing, &module->start_pc, sizeof(module->start_pc));
    hash = hash_bytes(hash, module->build_id, sizeof(module->build_id));
    return hash_bytes(hash, name, strlen(name));
}

static bool is_same_segment(const struct modules *modules, const struct module *module,
                            const struct module *like, const char *name)
{
    return module->start_pc == like->start_pc && module->end_pc == like->end_pc &&
           module->build_id_bytes == like->build_id_bytes &&
           !memcmp(module->build_id, like->build_id, sizeof(like->build_id)) &&
           !strcmp(arena_at(modules->list.arena, module->name), name);
}

/* The slot that holds the record, or the empty slot where it belongs. */
static arena_ref *index_slot(const struct modules *modules, const struct module *like, const char *name)
{
    const struct modules_index *index = &modules->index;
    uint64_t at = hash_of(like, name);
    for (;; at++) {
        arena_ref *slot = &index->slots[at & (index->capacity - 1)];
        if (!*slot || is_same_segment(modules, module_records_at(modules, *slot), like, name))
            return slot;
    }
}

/* Space for one more record. At most half of the slots are in use. */
static bool reserve_index(struct modules *modules)
{
    struct modules_index *index = &modules->index, old = *index;
    if (modules->list.count < index->capacity / 2)
        return true;
    uint32_t capacity = old.capacity ? old.capacity * 2 : INDEX_FIRST_CAPACITY;
    arena_ref *slots = scratch_alloc(sizeof(*slots) * capacity);
    if (!slots)
        return false;
    index->slots = slots;
    index->capacity = capacity;
    for (arena_ref ref = modules->list.newest; ref; ref = module_records_at(modules, ref)->next) {
        const struct module *module = module_records_at(modules, ref);
        *index_slot(modules, module, arena_at(modules->list.arena, module->name)) = ref;
    }
    scratch_free(old.slots, sizeof(*slots) * old.capacity);
    return true;
}

/*
 * The path that a name stands for. The loader keeps the name of dlopen("./x.so") as it was given. It is made
 * absolute here, while the directory is likely still the same.
 */
static const char *path_for(const struct modules *modules, const struct module *segment, const char *name,
                            char buffer[PATH_MAX])
{
    if (segment->is_main)
        return modules->main_path;
    if (name[0] == '/' || name[0] == '[')
        return name;
    size_t length = getcwd(buffer, PATH_MAX) ? strlen(buffer) : 0;
    if (length == 0 || length + 1 + strlen(name) >= PATH_MAX)
        return name;
    buffer[length] = '/';
    strcpy(buffer + length + 1, name);
    return buffer;
}

/* Record, path and name are allocated in one piece: in a full arena a part of them would be lost memory. */
static arena_ref append_record(struct modules *modules, const struct module *segment, const char *path,
                               const char *name)
{
    bool has_name = strcmp(path, name) != 0;
    size_t path_bytes = strlen(path) + 1, name_bytes = has_name ? strlen(name) + 1 : 0;
    size_t path_units = (path_bytes + ARENA_UNIT_BYTES - 1) / ARENA_UNIT_BYTES;
    arena_ref ref =
        arena_alloc(modules->list.arena, sizeof(*segment) + path_units * ARENA_UNIT_BYTES + name_bytes);
    if (!ref)
        return 0;
    struct module *module = module_records_at(modules, ref);
    *module = *segment;
    module->path = ref + (arena_ref)(sizeof(*segment) / ARENA_UNIT_BYTES);
    memcpy(arena_at(modules->list.arena, module->path), path, path_bytes);
    module->name = name_bytes ? module->path + (arena_ref)path_units : module->path;
    if (name_bytes)
        memcpy(arena_at(modules->list.arena, module->name), name, name_bytes);
    module->next = modules->list.newest;
    sig_keep_order();
    modules->list.newest = ref;
    modules->list.count++;
    return ref;
}

arena_ref module_records_find_or_add(struct modules *modules, const struct module *segment, const char *path,
                                     const char *name)
{
    char buffer[PATH_MAX];
    if (!reserve_index(modules))
        return 0;
    arena_ref *slot = index_slot(modules, segment, name);
    if (*slot)
        return *slot;
    *slot = append_record(modules, segment, path ? path : path_for(modules, segment, name, buffer), name);
    return *slot;
}

/* ---- a cleared arena ---- */

/* The bytes of a record, and of the path and the name that follow it; a multiple of the arena's unit. */
static size_t record_bytes(const struct module *record, const char *name)
{
    size_t bytes = (size_t)(name - (const char *)record) + strlen(name) + 1;
    return (bytes + ARENA_UNIT_BYTES - 1) & ~(size_t)(ARENA_UNIT_BYTES - 1);
}

/* Copies the records of a snapshot, one after the other, and returns their bytes. NULL: only counts these. */
static size_t copy_snapshot(const struct modules *modules, const struct modules_snapshot *snapshot,
                            unsigned char *to)
{
    size_t total_bytes = 0;
    for (uint32_t i = 0; i < snapshot->count; i++) {
        if (!snapshot->entries[i].record)
            continue;
        const struct module *module = module_records_at(modules, snapshot->entries[i].record);
        size_t bytes = record_bytes(module, arena_at(modules->list.arena, module->name));
        if (to)
            memcpy(to + total_bytes, module, bytes);
        total_bytes += bytes;
    }
    return total_bytes;
}

int modules_save_records(const struct modules *modules, struct modules_saved *ret)
{
    size_t before_bytes = copy_snapshot(modules, &modules->before, NULL);
    ret->bytes = before_bytes + copy_snapshot(modules, &modules->now, NULL);
    ret->copy = scratch_alloc(ret->bytes);
    if (!ret->copy)
        return -ENOMEM;
    copy_snapshot(modules, &modules->before, ret->copy);
    copy_snapshot(modules, &modules->now, ret->copy + before_bytes);
    return 0;
}

/* The search tables, and whether a module is sampled, have to be found out again. */
static const unsigned char *restore_snapshot(struct modules *modules, struct modules_snapshot *snapshot,
                                             const unsigned char *at)
{
    for (uint32_t i = 0; i < snapshot->count; i++) {
        if (!snapshot->entries[i].record)
            continue;
        const struct module *saved = (const void *)at;
        const char *path = (const char *)(saved + 1);
        const char *name = path + (size_t)(saved->name - saved->path) * ARENA_UNIT_BYTES;
        struct module module = *saved;
        module.search = module.search_count = 0;
        module.is_indexed = module.is_sampled = false;
        snapshot->entries[i].record = module_records_find_or_add(modules, &module, path, name);
        modules->dropped += !snapshot->entries[i].record;
        at += record_bytes(saved, name);
    }
    return at;
}

void modules_restore_records(struct modules *modules, struct modules_saved *kept)
{
    scratch_free(modules->index.slots, sizeof(arena_ref) * modules->index.capacity);
    modules->index = (struct modules_index){0};
    modules->list.newest = 0;
    modules->list.count = modules->dropped = 0;
    arena_clear(&modules->search_tables);
    restore_snapshot(modules, &modules->now, restore_snapshot(modules, &modules->before, kept->copy));
    modules->has_no_search_tables = false;
    scratch_free(kept->copy, kept->bytes);
}
