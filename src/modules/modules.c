/* A snapshot costs time in proportion to what is loaded now, whatever was loaded before. */
#include "modules.h"
#include "eh_index.h"
#include "loader.h"
#include "module_records.h"
#include "sig/cfi/sig_eh_frame.h"
#include "program_path.h"
#include "base/sort.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SNAPSHOT_FIRST_CAPACITY = 128, TABLES_SHARE = 4 };

_Static_assert(sizeof(struct modules_entry) <= SORT_RECORD_MAX_BYTES, "sort_records moves whole records");

/* ---- snapshots ---- */

static bool snapshot_reserve(struct modules_snapshot *snapshot)
{
    snapshot->entries = scratch_reserve(snapshot->entries, &snapshot->capacity_bytes,
                                        sizeof(*snapshot->entries) * (snapshot->count + (size_t)1),
                                        sizeof(*snapshot->entries) * SNAPSHOT_FIRST_CAPACITY);
    snapshot->count = snapshot->entries ? snapshot->count : 0;
    return snapshot->entries;
}

static const struct modules_entry *entry_at(const struct modules_snapshot *snapshot, uint64_t address)
{
    size_t after =
        sort_find_first(snapshot->entries, snapshot->count, sizeof(*snapshot->entries), address + 1);
    const struct modules_entry *entry = after > 0 ? &snapshot->entries[after - 1] : NULL;
    return entry && address < entry->end_pc ? entry : NULL;
}

void modules_begin_snapshot(struct modules *modules)
{
    struct modules_snapshot recycled = modules->before;
    modules->before = modules->now;
    modules->now = (struct modules_snapshot){.number = modules->before.number + 1,
                                             .entries = recycled.entries,
                                             .capacity_bytes = recycled.capacity_bytes};
}

void modules_add_segment(void *context, const struct module *segment, const char *name)
{
    struct modules *modules = context;
    struct modules_snapshot *snapshot = &modules->now;
    arena_ref ref = module_records_find_or_add(modules, segment, NULL, name);
    modules->dropped += !ref;
    if (!snapshot_reserve(snapshot)) {
        modules->dropped++;
        return;
    }
    snapshot->entries[snapshot->count++] = (struct modules_entry){
        .start_pc = segment->start_pc,
        .end_pc = segment->end_pc,
        .eh_frame_hdr = segment->eh_frame_hdr,
        .cfi_low = segment->cfi_low,
        .cfi_high = segment->cfi_high,
        .record = ref,
        .since = snapshot->number,
        .is_permanent = segment->is_permanent,
        .is_first_segment = segment->is_first_segment,
    };
}

/* Entries that are in both keep their `since`. Returns how many objects are gone. */
static uint32_t match_entries(const struct modules_snapshot *before, const struct modules_snapshot *now)
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

static void set_loaded(struct modules *modules, const struct modules_snapshot *snapshot, bool is_loaded)
{
    for (uint32_t i = 0; i < snapshot->count; i++) {
        if (snapshot->entries[i].record)
            module_records_at(modules, snapshot->entries[i].record)->is_loaded = is_loaded;
    }
}

static bool is_quiet(const struct loader_state *state)
{
    return state->before.ended == state->after.begun;
}

static void note_quiet(struct modules_snapshot *snapshot, const struct loader_state *state)
{
    if (!is_quiet(state))
        return;
    if (!snapshot->is_quiet)
        snapshot->quiet_first = state->before.ended;
    snapshot->is_quiet = true;
    snapshot->quiet_last = state->before.ended;
    snapshot->quiet_strange = state->before.strange;
    snapshot->quiet_extra_unloads = snapshot->unloads - state->before.objects;
}

/* Whether all that was unloaded between two snapshots was unloaded while a dlclose was under way. */
static bool is_accounted(const struct modules_snapshot *before, const struct modules_snapshot *now)
{
    return before->is_quiet && now->is_quiet && before->quiet_strange == now->quiet_strange &&
           before->quiet_extra_unloads == now->quiet_extra_unloads;
}

void modules_end_snapshot(struct modules *modules, const struct loader_state *state)
{
    struct modules_snapshot *now = &modules->now, *before = &modules->before;
    now->loads = state->loads;
    now->unloads = state->unloads;
    note_quiet(now, state);
    sort_records(now->entries, now->count, sizeof(*now->entries), sort_compare_numbers);
    uint64_t unloaded = now->unloads - before->unloads;
    if (unloaded != match_entries(before, now))
        modules->last_unseen_unload = now->number;
    if (unloaded != 0)
        modules->last_unload = now->number;
    if (!is_accounted(before, now))
        modules->last_unaccounted = now->number;
    set_loaded(modules, before, false);
    set_loaded(modules, now, true);
}

bool modules_confirm_snapshot(struct modules *modules, const struct loader_state *state)
{
    struct modules_snapshot *now = &modules->now;
    if (now->number == 0 || now->loads != state->loads || now->unloads != state->unloads)
        return false;
    note_quiet(now, state);
    return true;
}

bool modules_refresh(struct modules *modules)
{
    if (modules->target)
        return modules->target->refresh_modules(modules->target->context, modules);
    const enum loader_reading reading = modules->has_program_only          ? LOADER_PROGRAM_ONLY
                                        : modules_can_lock_loader(modules) ? LOADER_WITH_LOCK
                                                                           : LOADER_WITHOUT_LOCK;
    struct loader_state state;
    loader_read(reading, &state);
    if (modules_confirm_snapshot(modules, &state))
        return false;
    modules_begin_snapshot(modules);
    loader_visit(reading, modules_add_segment, modules, &state);
    modules_end_snapshot(modules, &state);
    return true;
}

/* ---- the module of a sample's address ---- */

/* Whether there was no dlclose between the sample and a moment at which the snapshot was confirmed. */
static bool is_without_dlclose(const struct modules_snapshot *snapshot, const struct sig_unloads *unloads)
{
    return snapshot->is_quiet && unloads->begun == unloads->ended &&
           unloads->ended - snapshot->quiet_first <= snapshot->quiet_last - snapshot->quiet_first;
}

bool modules_at(const struct modules *modules, uint64_t address, const struct modules_moment *moment,
                arena_ref *ret)
{
    uint32_t then = moment->snapshot;
    const struct modules_entry *now = entry_at(&modules->now, address), *before;
    *ret = now ? now->record : 0;
    if (then == modules->now.number || (now && now->is_permanent) || then >= modules->last_unload)
        return true; /* 1, 2, 3 */
    if (now && now->since <= then && then >= modules->last_unseen_unload)
        return true; /* 4 */
    bool is_accounted = then >= modules->last_unaccounted;
    if (is_accounted && is_without_dlclose(&modules->now, &moment->unloads))
        return true; /* 5 */
    if (then != modules->before.number)
        return false;
    before = entry_at(&modules->before, address);
    if (before && is_accounted && is_without_dlclose(&modules->before, &moment->unloads)) {
        *ret = before->record;
        return true; /* 6 */
    }
    return !before && then >= modules->last_unseen_unload; /* 7 */
}

arena_ref modules_find(const struct modules *modules, uint64_t address)
{
    const struct modules_entry *entry = entry_at(&modules->now, address);
    return entry ? entry->record : 0;
}

/* ---- life ---- */

int modules_init(struct modules *modules, struct arena *arena)
{
    modules->list.arena = arena;
    if (modules->target)
        snprintf(modules->main_path, sizeof(modules->main_path), "%s", modules->target->program);
    else if (program_path_read(modules->main_path, sizeof(modules->main_path)) == 0)
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

void modules_deinit(struct modules *modules)
{
    for (int i = 0; i < 2; i++)
        scratch_free(modules->tables[i], table_bytes(modules->table_capacity[i]));
    scratch_free(modules->now.entries, modules->now.capacity_bytes);
    scratch_free(modules->before.entries, modules->before.capacity_bytes);
    scratch_free(modules->index.slots, sizeof(arena_ref) * modules->index.capacity);
    arena_deinit(&modules->search_tables);
    *modules = (struct modules){0};
}

/* ---- for unwinding ---- */

static struct sig_module view_of_entry(struct modules *modules, const struct modules_entry *entry)
{
    if (!entry->record)
        return (struct sig_module){.start_pc = entry->start_pc,
                                   .end_pc = entry->end_pc,
                                   .eh_frame_hdr = entry->eh_frame_hdr,
                                   .cfi_low = entry->cfi_low,
                                   .cfi_high = entry->cfi_high,
                                   .is_permanent = entry->is_permanent};
    struct module *module = module_records_at(modules, entry->record);
    if (!module->is_indexed && !modules->has_no_search_tables) {
        eh_index_build(&modules->search_tables, arena_at(modules->list.arena, module->path), module);
        module->is_indexed = true;
    }
    struct sig_module view = eh_index_view(&modules->search_tables, module);
    if (modules->has_no_search_tables)
        view.search = NULL;
    return view;
}

const struct sig_modules_table *modules_table(struct modules *modules)
{
    uint32_t other = (modules->tables_made + 1) % 2, count = modules->now.count;
    if (modules->table_capacity[other] < count || !modules->tables[other]) {
        scratch_free(modules->tables[other], table_bytes(modules->table_capacity[other]));
        modules->tables[other] = scratch_alloc(table_bytes(count * 2));
        modules->table_capacity[other] = modules->tables[other] ? count * 2 : 0;
        if (!modules->tables[other])
            return NULL;
    }
    struct sig_modules_table *table = modules->tables[other];
    table->count = count;
    table->generation = ++modules->tables_made;
    for (uint32_t i = 0; i < count; i++)
        table->modules[i] = view_of_entry(modules, &modules->now.entries[i]);
    return table;
}

void modules_drop_search_tables(struct modules *modules)
{
    modules->has_no_search_tables = true;
}

uint64_t modules_function_start(const struct modules *modules, arena_ref ref, uint64_t address)
{
    const struct module *module = module_records_at(modules, ref);
    struct sig_module view = eh_index_view(&modules->search_tables, module);
    uint64_t start = 0, fde;
    if (module->is_loaded)
        return sig_eh_frame_function_start(&view, address);
    if (view.search)
        sig_eh_frame_search(&view, address, true, &start, &fde);
    return start;
}
