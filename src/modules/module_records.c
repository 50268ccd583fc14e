/*
 * Records are found again by what they are (start, build-id, name), so a library that was replaced by another
 * at the same address gets a record of its own, and one that comes back has its old one.
 */
#include "module_records.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { INDEX_FIRST_CAPACITY = 256 };

static struct module *module_at(const struct modules *modules, arena_ref ref)
{
    return arena_at(modules->list.arena, ref);
}

/* FNV-1a (Fowler, Noll, Vo). */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (const unsigned char *at = bytes; count > 0; at++, count--)
        hash = (hash ^ *at) * 0x100000001b3U;
    return hash;
}

static uint64_t hash_of(const struct module *module, const char *name)
{
    uint64_t hash = hash_bytes(0xcbf29ce484222325U, &module->start_pc, sizeof(module->start_pc));
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

/* The slot that holds the record, or the empty one where it belongs. */
static arena_ref *index_slot(const struct modules *modules, const struct module *like, const char *name)
{
    const struct modules_index *index = &modules->index;
    uint64_t at = hash_of(like, name);
    for (;; at++) {
        arena_ref *slot = &index->slots[at & (index->capacity - 1)];
        if (!*slot || is_same_segment(modules, module_at(modules, *slot), like, name))
            return slot;
    }
}

/* Space for one more, at most half full. */
static bool reserve_index(struct modules *modules)
{
    struct modules_index *index = &modules->index, old = *index;
    if (index->used < index->capacity / 2)
        return true;
    uint32_t capacity = old.capacity ? old.capacity * 2 : INDEX_FIRST_CAPACITY;
    arena_ref *slots = scratch_alloc(sizeof(*slots) * capacity);
    if (!slots)
        return false;
    index->slots = slots;
    index->capacity = capacity;
    for (arena_ref ref = modules->list.newest; ref; ref = module_at(modules, ref)->next) {
        const struct module *module = module_at(modules, ref);
        *index_slot(modules, module, arena_at(modules->list.arena, module->name)) = ref;
    }
    scratch_free(old.slots, sizeof(*slots) * old.capacity);
    return true;
}

/*
 * What a name stands for. dlopen("./x.so") keeps the name as given: made absolute while the directory is
 * likely still the same.
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

/* Record, path and name in one piece: half of one would be lost in a full arena. */
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
    struct module *module = module_at(modules, ref);
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
    modules->index.used += *slot != 0;
    return *slot;
}

/* ---- a cleared arena ---- */

/* A saved record is followed by its path and its name. */
static size_t saved_text_bytes(const struct modules *modules, const struct module *module)
{
    return strlen(arena_at(modules->list.arena, module->path)) +
           strlen(arena_at(modules->list.arena, module->name)) + 2;
}

static size_t snapshot_bytes(const struct modules *modules, const struct modules_snapshot *snapshot)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < snapshot->count; i++) {
        arena_ref ref = snapshot->entries[i].record;
        bytes += ref ? sizeof(struct module) + saved_text_bytes(modules, module_at(modules, ref)) : 0;
    }
    return bytes;
}

static unsigned char *copy_text(unsigned char *to, const char *text)
{
    size_t bytes = strlen(text) + 1;
    memcpy(to, text, bytes);
    return to + bytes;
}

static unsigned char *copy_snapshot(const struct modules *modules, const struct modules_snapshot *snapshot,
                                    unsigned char *to)
{
    for (uint32_t i = 0; i < snapshot->count; i++) {
        if (!snapshot->entries[i].record)
            continue;
        const struct module *module = module_at(modules, snapshot->entries[i].record);
        memcpy(to, module, sizeof(*module));
        to = copy_text(to + sizeof(*module), arena_at(modules->list.arena, module->path));
        to = copy_text(to, arena_at(modules->list.arena, module->name));
    }
    return to;
}

int modules_save_records(const struct modules *modules, struct modules_saved *ret)
{
    ret->bytes = snapshot_bytes(modules, &modules->before) + snapshot_bytes(modules, &modules->now);
    ret->copy = scratch_alloc(ret->bytes);
    if (!ret->copy)
        return -ENOMEM;
    copy_snapshot(modules, &modules->now, copy_snapshot(modules, &modules->before, ret->copy));
    return 0;
}

/* What has been found out about a module has to be found out again. */
static arena_ref restore_record(struct modules *modules, const unsigned char *copy, const char *path,
                                const char *name)
{
    struct module module;
    memcpy(&module, copy, sizeof(module));
    module.search = 0;
    module.search_count = 0;
    module.is_indexed = module.is_sampled = false;
    arena_ref ref = module_records_find_or_add(modules, &module, path, name);
    modules->dropped += !ref;
    return ref;
}

static const unsigned char *restore_snapshot(struct modules *modules, struct modules_snapshot *snapshot,
                                             const unsigned char *at)
{
    for (uint32_t i = 0; i < snapshot->count; i++) {
        if (!snapshot->entries[i].record)
            continue;
        const char *path = (const char *)at + sizeof(struct module), *name = path + strlen(path) + 1;
        snapshot->entries[i].record = restore_record(modules, at, path, name);
        at = (const unsigned char *)name + strlen(name) + 1;
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
