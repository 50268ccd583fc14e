/*
 * dl_iterate_phdr gives every object with its program headers; each executable PT_LOAD becomes a record. An
 * object is recognised as the one recorded before by its start and its build-id, so a library that was
 * replaced by another at the same address gets a record of its own.
 */
#include "modules.h"
#include "elf.h"
#include "sig_cfi.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, SORTED_FIRST_CAPACITY = 256 };

static struct wp_module *module_at(const struct wp_modules *modules, arena_ref ref)
{
    return arena_at(modules->arena, ref);
}

/* ---- reading one object ---- */

static void object_bounds(const struct dl_phdr_info *info, struct wp_module *ret)
{
    ret->loaded_low = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && start < ret->loaded_low)
            ret->loaded_low = start & ~(uint64_t)(PAGE_BYTES - 1);
        if (header->p_type == PT_LOAD && start + header->p_memsz > ret->loaded_high)
            ret->loaded_high = start + header->p_memsz;
        if (header->p_type == PT_GNU_EH_FRAME)
            ret->eh_frame_hdr = start;
        if (header->p_type == PT_NOTE && ret->build_id_bytes == 0)
            ret->build_id_bytes = (uint32_t)elf_build_id_in_notes(
                (const void *)(uintptr_t)start, header->p_memsz, ret->build_id, sizeof(ret->build_id));
    }
}

/* The readable segment that .eh_frame_hdr lies in; .eh_frame lies there too with every linker in use. */
static void cfi_bounds(const struct dl_phdr_info *info, struct wp_module *ret)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_filesz;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) && ret->eh_frame_hdr >= start &&
            ret->eh_frame_hdr < end) {
            ret->cfi_low = start;
            ret->cfi_high = end;
            return;
        }
    }
    ret->eh_frame_hdr = 0;
}

static void segment_bounds(const struct dl_phdr_info *info, const ElfW(Phdr) * header, struct wp_module *ret)
{
    uint64_t start = info->dlpi_addr + header->p_vaddr, into_page = start & (PAGE_BYTES - 1);
    ret->start_pc = start - into_page;
    ret->end_pc = (start + header->p_memsz + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    ret->file_offset = header->p_offset - into_page;
}

/* ---- records ---- */

struct refresh {
    struct wp_modules *modules;
    const void *vdso;
    bool is_first_object;
    bool changed;
};

static arena_ref find_record(const struct wp_modules *modules, const struct wp_module *like, const char *path)
{
    for (arena_ref ref = modules->newest; ref; ref = module_at(modules, ref)->next) {
        const struct wp_module *module = module_at(modules, ref);
        if (module->start_pc == like->start_pc && module->end_pc == like->end_pc &&
            module->build_id_bytes == like->build_id_bytes &&
            !memcmp(module->build_id, like->build_id, sizeof(like->build_id)) &&
            !strcmp(arena_at(modules->arena, module->path), path))
            return ref;
    }
    return 0;
}

/* Record and path in one piece: half of one would be lost in a full arena. */
static arena_ref make_record(struct wp_modules *modules, const struct wp_module *like, const char *path)
{
    size_t path_bytes = strlen(path) + 1;
    arena_ref ref = arena_alloc_reserved(modules->arena, sizeof(*like) + path_bytes);
    if (!ref) {
        modules->dropped++;
        return 0;
    }
    struct wp_module *module = module_at(modules, ref);
    *module = *like;
    module->path = ref + (arena_ref)(sizeof(*like) / ARENA_UNIT_BYTES);
    memcpy(arena_at(modules->arena, module->path), path, path_bytes);
    module->next = modules->newest;
    modules->newest = ref;
    modules->count++;
    return ref;
}

static bool sorted_reserve(struct wp_modules *modules)
{
    if (modules->sorted_count < modules->sorted_capacity)
        return true;
    uint32_t capacity = modules->sorted_capacity ? modules->sorted_capacity * 2 : SORTED_FIRST_CAPACITY;
    size_t bytes = sizeof(arena_ref) * modules->sorted_capacity;
    arena_ref *larger = scratch_alloc(sizeof(arena_ref) * capacity);
    if (!larger)
        return false;
    if (bytes)
        memcpy(larger, modules->sorted, bytes);
    scratch_free(modules->sorted, bytes);
    modules->sorted = larger;
    modules->sorted_capacity = capacity;
    return true;
}

static void insert_sorted(struct wp_modules *modules, arena_ref ref)
{
    uint64_t start_pc = module_at(modules, ref)->start_pc;
    if (!sorted_reserve(modules)) {
        modules->dropped++;
        return;
    }
    uint32_t at = modules->sorted_count++;
    for (; at > 0 && module_at(modules, modules->sorted[at - 1])->start_pc > start_pc; at--)
        modules->sorted[at] = modules->sorted[at - 1];
    modules->sorted[at] = ref;
}

static const char *path_of(const struct refresh *refresh, const struct dl_phdr_info *info, char *buffer,
                           size_t capacity)
{
    if (refresh->is_first_object)
        return refresh->modules->main_path;
    if (info->dlpi_addr == (uintptr_t)refresh->vdso)
        return "[vdso]";
    if (info->dlpi_name[0] == '/')
        return info->dlpi_name;
    /* dlopen("./x.so") keeps the name as given: made absolute while the directory is likely still the same.
     */
    size_t length = getcwd(buffer, capacity) ? strlen(buffer) : 0;
    if (length == 0 || length + 1 + strlen(info->dlpi_name) >= capacity)
        return info->dlpi_name;
    buffer[length] = '/';
    strcpy(buffer + length + 1, info->dlpi_name);
    return buffer;
}

static void note_segment(struct refresh *refresh, struct wp_module *segment, const char *path)
{
    struct wp_modules *modules = refresh->modules;
    arena_ref ref = find_record(modules, segment, path);
    if (!ref) {
        ref = make_record(modules, segment, path);
        refresh->changed |= ref != 0;
    }
    if (!ref)
        return;
    refresh->changed |= !module_at(modules, ref)->is_loaded;
    module_at(modules, ref)->last_pass = modules->passes;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct refresh *refresh = data;
    char buffer[PATH_MAX];
    struct wp_module object = {.load_bias = info->dlpi_addr, .is_main = refresh->is_first_object};
    (void)size;
    const char *path = path_of(refresh, info, buffer, sizeof(buffer));
    object_bounds(info, &object);
    cfi_bounds(info, &object);
    uint64_t here = (uintptr_t)note_object;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        struct wp_module segment = object;
        segment_bounds(info, header, &segment);
        segment.is_own = here >= segment.start_pc && here < segment.end_pc;
        note_segment(refresh, &segment, path);
    }
    refresh->is_first_object = false;
    return 0;
}

/* Those not seen in this pass are gone; the sorted array is made anew from those that were. */
static bool settle(struct wp_modules *modules)
{
    bool changed = false;
    modules->sorted_count = 0;
    for (arena_ref ref = modules->newest; ref; ref = module_at(modules, ref)->next) {
        struct wp_module *module = module_at(modules, ref);
        bool was_seen = module->last_pass == modules->passes;
        changed |= module->is_loaded && !was_seen;
        module->is_loaded = was_seen;
        if (module->is_loaded)
            insert_sorted(modules, ref);
    }
    return changed;
}

/* ---- the loader's counters ---- */

struct counters {
    uint64_t adds, subs;
    bool is_known;
};

static int read_counters(struct dl_phdr_info *info, size_t size, void *data)
{
    struct counters *counters = data;
    counters->is_known = size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs);
    if (counters->is_known) {
        counters->adds = info->dlpi_adds;
        counters->subs = info->dlpi_subs;
    }
    return 1; /* the first object is enough */
}

bool modules_refresh(struct wp_modules *modules)
{
    struct counters counters = {0};
    dl_iterate_phdr(read_counters, &counters);
    if (modules->refreshes > 0 && counters.is_known && counters.adds == modules->adds &&
        counters.subs == modules->subs)
        return false;
    modules->passes++;
    struct refresh refresh = {
        .modules = modules, .vdso = (const void *)getauxval(AT_SYSINFO_EHDR), .is_first_object = true};
    dl_iterate_phdr(note_object, &refresh);
    bool changed = settle(modules) || refresh.changed;
    modules->adds = counters.adds;
    modules->subs = counters.subs;
    modules->refreshes += changed;
    return changed;
}

/* ---- life and look-up ---- */

int modules_init(struct wp_modules *modules, struct wp_arena *arena)
{
    *modules = (struct wp_modules){.arena = arena};
    ssize_t length = readlink("/proc/self/exe", modules->main_path, sizeof(modules->main_path) - 1);
    if (length <= 0)
        strcpy(modules->main_path, "[program]");
    modules_refresh(modules);
    return modules->sorted_count > 0 ? 0 : -ENOMEM;
}

static size_t table_bytes(uint32_t capacity)
{
    return sizeof(struct sig_modules_table) + capacity * sizeof(struct sig_module);
}

void modules_deinit(struct wp_modules *modules)
{
    for (int i = 0; i < 2; i++)
        scratch_free(modules->tables[i], table_bytes(modules->table_capacity[i]));
    scratch_free(modules->sorted, sizeof(arena_ref) * modules->sorted_capacity);
    *modules = (struct wp_modules){0};
}

arena_ref modules_find(const struct wp_modules *modules, uint64_t address)
{
    uint32_t low = 0, high = modules->sorted_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct wp_module *module = module_at(modules, modules->sorted[middle]);
        if (address < module->start_pc)
            high = middle;
        else if (address >= module->end_pc)
            low = middle + 1;
        else
            return modules->sorted[middle];
    }
    return 0;
}

static struct sig_module for_handlers(const struct wp_module *module)
{
    return (struct sig_module){.start_pc = module->start_pc,
                               .end_pc = module->end_pc,
                               .eh_frame_hdr = module->eh_frame_hdr,
                               .cfi_low = module->cfi_low,
                               .cfi_high = module->cfi_high};
}

uint64_t modules_function_start(const struct wp_modules *modules, arena_ref ref, uint64_t address)
{
    const struct wp_module *module = module_at(modules, ref);
    if (!module->is_loaded)
        return 0;
    struct sig_module view = for_handlers(module);
    return sig_cfi_function_start(&view, address);
}

const struct sig_modules_table *modules_table(struct wp_modules *modules)
{
    uint32_t other = !modules->table_current, count = modules->sorted_count;
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
        table->modules[i] = for_handlers(module_at(modules, modules->sorted[i]));
    modules->table_current = other;
    return table;
}
