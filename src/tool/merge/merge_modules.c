#include "merge_modules.h"
#include "tool/io/array.h"

#include <stdlib.h>
#include <string.h>

/* The least distance between modules that were moved. */
static const uint64_t distance_bytes = 2 << 20;

static struct module *module_at(const struct merge_modules *modules, uint32_t index)
{
    return arena_at(modules->modules->arena, modules->list[index].ref);
}

static const char *path_of(const struct arena *arena, const struct module *module)
{
    return arena_at(arena, module->path);
}

/* ---- which are the same ---- */

static bool is_same_file(const struct merge_modules *modules, const struct module *a,
                         const struct arena *b_arena, const struct module *b)
{
    if (a->build_id_bytes != b->build_id_bytes)
        return false;
    if (a->build_id_bytes > 0)
        return memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
    return strcmp(path_of(modules->modules->arena, a), path_of(b_arena, b)) == 0;
}

static bool is_same_part(const struct module *a, const struct module *b)
{
    return a->file_offset == b->file_offset && a->end_pc - a->start_pc == b->end_pc - b->start_pc;
}

/* The index of a module of the same file or, with is_whole, the same part of it; the count without one. The
 * newest first: modules of one recording stand together. */
static uint32_t find_index(const struct merge_modules *modules, const struct arena *arena,
                           const struct module *wanted, bool is_whole)
{
    for (uint32_t i = modules->count; i-- > 0;) {
        const struct module *module = module_at(modules, i);
        if (is_same_file(modules, module, arena, wanted) && (!is_whole || is_same_part(module, wanted)))
            return i;
    }
    return modules->count;
}

/* ---- where they go ---- */

static bool is_free(const struct merge_modules *modules, uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < modules->count; i++) {
        const struct module *module = module_at(modules, i);
        if (start < module->end_pc && module->start_pc < end)
            return false;
    }
    return start < end;
}

static uint64_t end_of_all(const struct merge_modules *modules)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < modules->count; i++) {
        const struct module *module = module_at(modules, i);
        if (module->end_pc > end)
            end = module->end_pc;
    }
    return (end + 2 * distance_bytes) / distance_bytes * distance_bytes;
}

/* By as much as the other segments of its file; else not at all; else past all modules. */
static uint64_t choose_shift(const struct merge_modules *modules, const struct recording *recording,
                             const struct module *module)
{
    uint32_t sibling = find_index(modules, &recording->arena, module, false);
    if (sibling < modules->count && modules->list[sibling].is_bias_known && recording->is_store) {
        uint64_t shift = module_at(modules, sibling)->load_bias - module->load_bias;
        if (is_free(modules, module->start_pc + shift, module->end_pc + shift))
            return shift;
    }
    if (is_free(modules, module->start_pc, module->end_pc))
        return 0;
    return end_of_all(modules) - module->start_pc;
}

/* The merged recording's program is that of the first recording. */
static bool is_of_program(const struct merge_modules *modules, const struct module *module, const char *path)
{
    for (uint32_t i = 0; i < modules->count; i++) {
        const struct module *other = module_at(modules, i);
        if (other->is_main)
            return module->is_main && strcmp(path_of(modules->modules->arena, other), path) == 0;
    }
    return module->is_main;
}

static arena_ref add_module(struct merge_modules *modules, const struct recording *recording,
                            const struct module *from)
{
    struct arena *arena = modules->modules->arena;
    const char *path = path_of(&recording->arena, from);
    uint64_t shift = choose_shift(modules, recording, from);
    bool is_main = is_of_program(modules, from, path);
    arena_ref copied_path = arena_strdup(arena, path), ref = arena_alloc(arena, sizeof *from);
    if (!copied_path || !ref ||
        !array_grow(&modules->list, &modules->capacity, modules->count, sizeof *modules->list))
        return 0;
    struct module *module = arena_at(arena, ref);
    *module = (struct module){.start_pc = from->start_pc + shift,
                              .end_pc = from->end_pc + shift,
                              .file_offset = from->file_offset,
                              .next = modules->modules->newest,
                              .path = copied_path,
                              .name = copied_path,
                              .build_id_bytes = from->build_id_bytes,
                              .is_main = is_main,
                              .is_own = from->is_own,
                              .is_sampled = true};
    memcpy(module->build_id, from->build_id, sizeof module->build_id);
    modules->modules->newest = ref;
    modules->modules->count++;
    modules->list[modules->count++] = (struct merge_module){.ref = ref};
    return ref;
}

static void set_bias(struct module *module, const struct module *from)
{
    uint64_t shift = module->start_pc - from->start_pc;
    module->load_bias = from->load_bias + shift;
    module->loaded_low = from->loaded_low + shift;
    module->loaded_high = from->loaded_high + shift;
}

/* ---- of one recording ---- */

void merge_modules_begin(struct merge_modules *modules)
{
    modules->moved_count = 0;
}

static const struct merge_moved *move_module(struct merge_modules *modules, const struct recording *recording,
                                             arena_ref ref)
{
    const struct module *from = arena_at(&recording->arena, ref);
    if (!array_grow(&modules->moved, &modules->moved_capacity, modules->moved_count, sizeof *modules->moved))
        return NULL;
    uint32_t at = find_index(modules, &recording->arena, from, true);
    bool is_new = at == modules->count;
    if (is_new && !add_module(modules, recording, from))
        return NULL;
    struct module *module = module_at(modules, at);
    if (is_new || (recording->is_store && !modules->list[at].is_bias_known)) {
        set_bias(module, from);
        modules->list[at].is_bias_known = recording->is_store;
    }
    struct merge_moved *moved = &modules->moved[modules->moved_count++];
    *moved = (struct merge_moved){ref, modules->list[at].ref, module->start_pc - from->start_pc};
    return moved;
}

const struct merge_moved *merge_modules_find(struct merge_modules *modules, const struct recording *recording,
                                             arena_ref module)
{
    for (uint32_t i = 0; i < modules->moved_count; i++) {
        if (modules->moved[i].from == module)
            return &modules->moved[i];
    }
    return move_module(modules, recording, module);
}

void merge_modules_deinit(struct merge_modules *modules)
{
    free(modules->list);
    free(modules->moved);
    *modules = (struct merge_modules){0};
}
