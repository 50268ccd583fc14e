/*
 * Records are found again by what they are (start, build-id, name), so a library that was replaced by another
 * at the same address gets a record of its own, and one that comes back has its old one. A look costs time
 * for what is loaded now, whatever was loaded before.
 */
#include "modules.h"
#include "eh_index.h"
#include "loader.h"
#include "sig/sys/sig_atomic.h"
#include "sig/cfi/sig_eh_frame.h"
#include "base/sort.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { INDEX_FIRST_CAPACITY = 256, LOOK_FIRST_CAPACITY = 128, TABLES_SHARE = 4 };

_Static_assert(sizeof(struct modules_entry) <= SORT_RECORD_MAX_BYTES, "sort_records moves whole records");

static struct wp_module *module_at(const struct wp_modules *modules, arena_ref ref)
{
    return arena_at(modules->arena, ref);
}

/* ---- records ---- */

/* FNV-1a (Fowler, Noll, Vo). */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (const unsigned char *at = bytes; count > 0; at++, count--)
        hash = (hash ^ *at) * 0x100000001b3U;
    return hash;
}

static uint64_t hash_of(const struct wp_module *module, const char *name)
{
    uint64_t hash = hash_bytes(0xcbf29ce484222325U, &module->start_pc, sizeof(module->start_pc));
    hash = hash_bytes(hash, module->build_id, sizeof(module->build_id));
    return hash_bytes(hash, name, strlen(name));
}

static bool is_same(const struct wp_modules *modules, const struct wp_module *module,
                    const struct wp_module *like, const char *name)
{
    return module->start_pc == like->start_pc && module->end_pc == like->end_pc &&
           module->build_id_bytes == like->build_id_bytes &&
           !memcmp(module->build_id, like->build_id, sizeof(like->build_id)) &&
           !strcmp(arena_at(modules->arena, module->name), name);
}

/* The slot that holds the record, or the empty one where it belongs. */
static arena_ref *index_slot(const struct wp_modules *modules, const struct wp_module *like, const char *name)
{
    const struct modules_index *index = &modules->index;
    uint64_t at = hash_of(like, name);
    for (;; at++) {
        arena_ref *slot = &index->slots[at & (index->capacity - 1)];
        if (!*slot || is_same(modules, module_at(modules, *slot), like, name))
            return slot;
    }
}

/* Room for one more, at most half full. */
static bool index_reserve(struct wp_modules *modules)
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
    for (arena_ref ref = modules->newest; ref; ref = module_at(modules, ref)->next) {
        const struct wp_module *module = module_at(modules, ref);
        *index_slot(modules, module, arena_at(modules->arena, module->name)) = ref;
    }
    scratch_free(old.slots, sizeof(*slots) * old.capacity);
    return true;
}

/*
 * What a name stands for. dlopen("./x.so") keeps the name as given: made absolute while the directory is
 * likely still the same.
 */
static const char *path_for(const struct wp_modules *modules, const struct wp_module *segment,
                            const char *name, char buffer[PATH_MAX])
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
static arena_ref make_record(struct wp_modules *modules, const struct wp_module *segment, const char *path,
                             const char *name)
{
    bool has_name = strcmp(path, name) != 0;
    size_t path_bytes = strlen(path) + 1, name_bytes = has_name ? strlen(name) + 1 : 0;
    size_t path_units = (path_bytes + ARENA_UNIT_BYTES - 1) / ARENA_UNIT_BYTES;
    arena_ref ref =
        arena_alloc(modules->arena, sizeof(*segment) + path_units * ARENA_UNIT_BYTES + name_bytes);
    if (!ref)
        return 0;
    struct wp_module *module = module_at(modules, ref);
    *module = *segment;
    module->path = ref + (arena_ref)(sizeof(*segment) / ARENA_UNIT_BYTES);
    memcpy(arena_at(modules->arena, module->path), path, path_bytes);
    module->name = name_bytes ? module->path + (arena_ref)path_units : module->path;
    if (name_bytes)
        memcpy(arena_at(modules->arena, module->name), name, name_bytes);
    module->next = modules->newest;
    sig_keep_order();
    modules->newest = ref;
    modules->count++;
    return ref;
}

/* path: NULL if it is to be found out. */
static arena_ref record_of(struct wp_modules *modules, const struct wp_module *segment, const char *path,
                           const char *name)
{
    char buffer[PATH_MAX];
    if (!index_reserve(modules))
        return 0;
    arena_ref *slot = index_slot(modules, segment, name);
    if (*slot)
        return *slot;
    *slot = make_record(modules, segment, path ? path : path_for(modules, segment, name, buffer), name);
    modules->index.used += *slot != 0;
    return *slot;
}

/* ---- looks ---- */

static bool look_reserve(struct modules_look *look)
{
    if (look->count < look->capacity)
        return true;
    uint32_t capacity = look->capacity ? look->capacity * 2 : LOOK_FIRST_CAPACITY;
    struct modules_entry *entries =
        scratch_grow(look->entries, sizeof(*entries) * look->capacity, sizeof(*entries) * capacity);
    look->entries = entries;
    look->capacity = entries ? capacity : 0;
    look->count = entries ? look->count : 0;
    return entries;
}

static const struct modules_entry *entry_at(const struct modules_look *look, uint64_t address)
{
    uint32_t low = 0, high = look->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct modules_entry *entry = &look->entries[middle];
        if (address < entry->start_pc)
            high = middle;
        else if (address >= entry->end_pc)
            low = middle + 1;
        else
            return entry;
    }
    return NULL;
}

void modules_begin_look(struct wp_modules *modules)
{
    struct modules_look recycled = modules->before;
    modules->before = modules->now;
    modules->now = (struct modules_look){
        .number = modules->before.number + 1, .entries = recycled.entries, .capacity = recycled.capacity};
}

void modules_see(struct wp_modules *modules, const struct wp_module *segment, const char *name)
{
    struct modules_look *look = &modules->now;
    arena_ref ref = record_of(modules, segment, NULL, name);
    modules->dropped += !ref;
    if (!look_reserve(look)) {
        modules->dropped++;
        return;
    }
    look->entries[look->count++] = (struct modules_entry){
        .start_pc = segment->start_pc,
        .end_pc = segment->end_pc,
        .eh_frame_hdr = segment->eh_frame_hdr,
        .cfi_low = segment->cfi_low,
        .cfi_high = segment->cfi_high,
        .record = ref,
        .since = look->number,
        .is_permanent = segment->is_permanent,
        .is_first_segment = segment->is_first_segment,
    };
}

static int compare_entries(const void *left, const void *right)
{
    const struct modules_entry *a = left, *b = right;
    return (a->start_pc > b->start_pc) - (a->start_pc < b->start_pc);
}

/* Entries of both looks keep the number of the look they are known from. Returns how many objects are gone.
 */
static uint32_t match_entries(const struct modules_look *before, const struct modules_look *now)
{
    uint32_t gone = 0;
    for (uint32_t i = 0, j = 0; i < before->count; i++) {
        const struct modules_entry *old = &before->entries[i];
        while (j < now->count && now->entries[j].start_pc < old->start_pc)
            j++;
        if (j < now->count && now->entries[j].start_pc == old->start_pc &&
            now->entries[j].record == old->record)
            now->entries[j].since = old->since;
        else
            gone += old->is_first_segment;
    }
    return gone;
}

static void set_loaded(struct wp_modules *modules, const struct modules_look *look, bool is_loaded)
{
    for (uint32_t i = 0; i < look->count; i++) {
        if (look->entries[i].record)
            module_at(modules, look->entries[i].record)->is_loaded = is_loaded;
    }
}

static bool is_quiet(const struct loader_state *state)
{
    return state->before.ended == state->after.begun;
}

static void note_quiet(struct modules_look *look, const struct loader_state *state)
{
    if (!is_quiet(state))
        return;
    if (!look->is_quiet)
        look->quiet_first = state->before.ended;
    look->is_quiet = true;
    look->quiet_last = state->before.ended;
    look->quiet_strange = state->before.strange;
    look->quiet_surplus = look->unloads - state->before.objects;
}

/* Whether all that was unloaded between two looks was unloaded while a dlclose was under way. */
static bool is_accounted(const struct modules_look *before, const struct modules_look *now)
{
    return before->is_quiet && now->is_quiet && before->quiet_strange == now->quiet_strange &&
           before->quiet_surplus == now->quiet_surplus;
}

void modules_end_look(struct wp_modules *modules, const struct loader_state *state)
{
    struct modules_look *now = &modules->now, *before = &modules->before;
    now->loads = state->loads;
    now->unloads = state->unloads;
    note_quiet(now, state);
    sort_records(now->entries, now->count, sizeof(*now->entries), compare_entries);
    uint64_t unloaded = now->unloads - before->unloads;
    if (unloaded != match_entries(before, now))
        modules->last_passing = now->number;
    if (unloaded != 0)
        modules->last_unload = now->number;
    if (!is_accounted(before, now))
        modules->last_unaccounted = now->number;
    set_loaded(modules, before, false);
    set_loaded(modules, now, true);
}

bool modules_confirm_look(struct wp_modules *modules, const struct loader_state *state)
{
    struct modules_look *now = &modules->now;
    if (now->number == 0 || now->loads != state->loads || now->unloads != state->unloads)
        return false;
    note_quiet(now, state);
    return true;
}

static void see_segment(void *context, const struct wp_module *segment, const char *name)
{
    modules_see(context, segment, name);
}

bool modules_refresh(struct wp_modules *modules)
{
    struct loader_state state;
    loader_ask(&state);
    if (modules_confirm_look(modules, &state))
        return false;
    modules_begin_look(modules);
    loader_visit(&state, see_segment, modules);
    modules_end_look(modules, &state);
    return true;
}

/* ---- which module it was ---- */

/* No dlclose between the sample and a moment at which the look was found true. */
static bool is_beside(const struct modules_look *look, const struct sig_unloads *unloads)
{
    return look->is_quiet && unloads->begun == unloads->ended &&
           unloads->ended - look->quiet_first <= look->quiet_last - look->quiet_first;
}

bool modules_at(const struct wp_modules *modules, uint64_t address, const struct modules_moment *moment,
                arena_ref *ret)
{
    uint32_t asked = moment->asked;
    const struct modules_entry *now = entry_at(&modules->now, address), *before;
    *ret = now ? now->record : 0;
    if (asked == modules->now.number || (now && now->is_permanent) || asked >= modules->last_unload)
        return true; /* 1, 2, 3 */
    if (now && now->since <= asked && asked >= modules->last_passing)
        return true; /* 4 */
    bool is_accounted = asked >= modules->last_unaccounted;
    if (is_accounted && is_beside(&modules->now, &moment->unloads))
        return true; /* 5 */
    if (asked != modules->before.number)
        return false;
    before = entry_at(&modules->before, address);
    if (before && is_accounted && is_beside(&modules->before, &moment->unloads)) {
        *ret = before->record;
        return true; /* 6 */
    }
    return !before && asked >= modules->last_passing; /* 7 */
}

arena_ref modules_find(const struct wp_modules *modules, uint64_t address)
{
    const struct modules_entry *entry = entry_at(&modules->now, address);
    return entry ? entry->record : 0;
}

/* ---- life ---- */

int modules_init(struct wp_modules *modules, struct wp_arena *arena)
{
    *modules = (struct wp_modules){.arena = arena};
    ssize_t length = readlink("/proc/self/exe", modules->main_path, sizeof(modules->main_path) - 1);
    if (length <= 0)
        strcpy(modules->main_path, "[program]");
    int status = arena_init(&modules->search_tables, arena->size_bytes / TABLES_SHARE);
    if (status < 0)
        return status;
    modules_refresh(modules);
    return modules->now.count > 0 && modules->dropped == 0 ? 0 : -ENOMEM;
}

static size_t table_bytes(uint32_t capacity)
{
    return sizeof(struct sig_modules_table) + capacity * sizeof(struct sig_module);
}

void modules_deinit(struct wp_modules *modules)
{
    for (int i = 0; i < 2; i++)
        scratch_free(modules->tables[i], table_bytes(modules->table_capacity[i]));
    scratch_free(modules->now.entries, sizeof(struct modules_entry) * modules->now.capacity);
    scratch_free(modules->before.entries, sizeof(struct modules_entry) * modules->before.capacity);
    scratch_free(modules->index.slots, sizeof(arena_ref) * modules->index.capacity);
    arena_deinit(&modules->search_tables);
    *modules = (struct wp_modules){0};
}

/* ---- for unwinding ---- */

static struct sig_module view_of(const struct wp_modules *modules, const struct wp_module *module)
{
    return (struct sig_module){
        .start_pc = module->start_pc,
        .end_pc = module->end_pc,
        .eh_frame_hdr = module->eh_frame_hdr,
        .cfi_low = module->cfi_low,
        .cfi_high = module->cfi_high,
        .search = module->search ? arena_at(&modules->search_tables, module->search) : NULL,
        .search_count = module->search_count,
        .search_base = module->search_base,
        .is_permanent = module->is_permanent,
    };
}

static struct sig_module view_of_entry(struct wp_modules *modules, const struct modules_entry *entry)
{
    if (!entry->record)
        return (struct sig_module){.start_pc = entry->start_pc,
                                   .end_pc = entry->end_pc,
                                   .eh_frame_hdr = entry->eh_frame_hdr,
                                   .cfi_low = entry->cfi_low,
                                   .cfi_high = entry->cfi_high,
                                   .is_permanent = entry->is_permanent};
    struct wp_module *module = module_at(modules, entry->record);
    struct sig_module view;
    if (!module->is_indexed && !modules->is_bare) {
        eh_index_make(&modules->search_tables, arena_at(modules->arena, module->path), module);
        module->is_indexed = true;
    }
    view = view_of(modules, module);
    if (modules->is_bare)
        view.search = NULL;
    return view;
}

const struct sig_modules_table *modules_table(struct wp_modules *modules)
{
    uint32_t other = !modules->table_current, count = modules->now.count;
    if (modules->table_capacity[other] < count || !modules->tables[other]) {
        scratch_free(modules->tables[other], table_bytes(modules->table_capacity[other]));
        modules->table_capacity[other] = count * 2;
        modules->tables[other] = scratch_alloc(table_bytes(count * 2));
        if (!modules->tables[other]) {
            modules->table_capacity[other] = 0;
            return NULL;
        }
    }
    struct sig_modules_table *table = modules->tables[other];
    table->count = count;
    table->generation = ++modules->tables_made;
    for (uint32_t i = 0; i < count; i++)
        table->modules[i] = view_of_entry(modules, &modules->now.entries[i]);
    modules->table_current = other;
    return table;
}

/* ---- a cleared arena ---- */

/* Of a copy: the record, its path and its name, each behind the other. */
static size_t text_bytes(const struct wp_modules *modules, const struct wp_module *module)
{
    return strlen(arena_at(modules->arena, module->path)) + strlen(arena_at(modules->arena, module->name)) +
           2;
}

static size_t look_bytes(const struct wp_modules *modules, const struct modules_look *look)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < look->count; i++) {
        arena_ref ref = look->entries[i].record;
        bytes += ref ? sizeof(struct wp_module) + text_bytes(modules, module_at(modules, ref)) : 0;
    }
    return bytes;
}

static unsigned char *copy_text(unsigned char *to, const char *text)
{
    size_t bytes = strlen(text) + 1;
    memcpy(to, text, bytes);
    return to + bytes;
}

static unsigned char *copy_look(const struct wp_modules *modules, const struct modules_look *look,
                                unsigned char *to)
{
    for (uint32_t i = 0; i < look->count; i++) {
        if (!look->entries[i].record)
            continue;
        const struct wp_module *module = module_at(modules, look->entries[i].record);
        memcpy(to, module, sizeof(*module));
        to = copy_text(to + sizeof(*module), arena_at(modules->arena, module->path));
        to = copy_text(to, arena_at(modules->arena, module->name));
    }
    return to;
}

void modules_let_go(struct wp_modules *modules)
{
    modules->is_bare = true;
}

int modules_keep(const struct wp_modules *modules, struct modules_kept *ret)
{
    ret->bytes = look_bytes(modules, &modules->before) + look_bytes(modules, &modules->now);
    ret->copy = scratch_alloc(ret->bytes);
    if (!ret->copy)
        return -ENOMEM;
    copy_look(modules, &modules->now, copy_look(modules, &modules->before, ret->copy));
    return 0;
}

/* What has been found out of a module is to be found out again. */
static arena_ref bring_back(struct wp_modules *modules, const unsigned char *copy, const char *path,
                            const char *name)
{
    struct wp_module module;
    memcpy(&module, copy, sizeof(module));
    module.search = 0;
    module.search_count = 0;
    module.is_indexed = module.is_sampled = false;
    arena_ref ref = record_of(modules, &module, path, name);
    modules->dropped += !ref;
    return ref;
}

static const unsigned char *bring_back_look(struct wp_modules *modules, struct modules_look *look,
                                            const unsigned char *at)
{
    for (uint32_t i = 0; i < look->count; i++) {
        if (!look->entries[i].record)
            continue;
        const char *path = (const char *)at + sizeof(struct wp_module), *name = path + strlen(path) + 1;
        look->entries[i].record = bring_back(modules, at, path, name);
        at = (const unsigned char *)name + strlen(name) + 1;
    }
    return at;
}

void modules_bring_back(struct wp_modules *modules, struct modules_kept *kept)
{
    scratch_free(modules->index.slots, sizeof(arena_ref) * modules->index.capacity);
    modules->index = (struct modules_index){0};
    modules->newest = 0;
    modules->count = modules->dropped = 0;
    arena_clear(&modules->search_tables);
    bring_back_look(modules, &modules->now, bring_back_look(modules, &modules->before, kept->copy));
    modules->is_bare = false;
    scratch_free(kept->copy, kept->bytes);
}

uint64_t modules_function_start(const struct wp_modules *modules, arena_ref ref, uint64_t address)
{
    const struct wp_module *module = module_at(modules, ref);
    struct sig_module view = view_of(modules, module);
    uint64_t start = 0, fde;
    if (module->is_loaded)
        return sig_eh_frame_function_start(&view, address);
    if (view.search)
        sig_eh_frame_search(&view, address, true, &start, &fde);
    return start;
}
