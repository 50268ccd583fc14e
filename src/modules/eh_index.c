/* .eh_frame is copied, and walked entry by entry, twice: once to count the FDEs, once to list them. */
#include "eh_index.h"

#include "elf/elf_image.h"
#include "sig/cfi/sig_eh_frame.h"
#include "sig/sys/sig_memory.h"
#include "base/sort.h"

#include <string.h>

static const uint64_t section_max_bytes = 1U << 30; /* distances in a search table are 32-bit numbers */

struct sig_module eh_index_view(const struct arena *tables, const struct module *module)
{
    return (struct sig_module){
        .start_pc = module->start_pc,
        .end_pc = module->end_pc,
        .eh_frame_hdr = module->eh_frame_hdr,
        .cfi_low = module->cfi_low,
        .cfi_high = module->cfi_high,
        .search = module->search ? arena_at(tables, module->search) : NULL,
        .search_count = module->search_count,
        .search_base = module->search_base,
        .is_permanent = module->is_permanent,
    };
}

/* ---- a copy of the module's own table ---- */

static void copy_table(struct arena *tables, struct module *module, uint64_t entries, uint64_t count)
{
    size_t bytes = count * sizeof(struct sig_search_entry);
    arena_ref ref = count <= UINT32_MAX ? arena_alloc(tables, bytes) : 0;
    if (!ref || !sig_memory_copy(arena_at(tables, ref), entries, bytes))
        return;
    module->search = ref;
    module->search_count = (uint32_t)count;
    module->search_base = module->eh_frame_hdr;
}

/* ---- a copy of .eh_frame ---- */

struct section {
    uint64_t address, bytes; /* address: run-time */
    char *copy;              /* owned, scratch memory */
};

static void section_free(const struct section *section)
{
    scratch_free(section->copy, section->bytes);
}

/* Copies a part of the module; false when not all of it is there. */
static bool section_copy(struct section *section, uint64_t address, uint64_t bytes)
{
    *section = (struct section){.address = address, .bytes = bytes};
    if (bytes == 0 || bytes > section_max_bytes)
        return false;
    section->copy = scratch_alloc(bytes);
    if (section->copy && sig_memory_copy(section->copy, address, bytes))
        return true;
    section_free(section);
    section->copy = NULL;
    return false;
}

/* Whether the section of the file is in memory byte for byte. Then section is a copy of it. */
static bool section_matches(struct section *section, const struct elf_image *image, const Elf64_Shdr *header,
                            const struct module *module)
{
    uint64_t address = module->load_bias + header->sh_addr;
    if (!(header->sh_flags & SHF_ALLOC) || address < module->loaded_low || address >= module->loaded_high ||
        header->sh_size > module->loaded_high - address)
        return false;
    struct elf_bytes file = elf_section_load(image, header);
    bool is_equal = file.bytes == header->sh_size && section_copy(section, address, header->sh_size) &&
                    !memcmp(file.data, section->copy, file.bytes);
    elf_bytes_free(&file);
    if (!is_equal)
        section_free(section);
    return is_equal;
}

static bool find_section_in_file(struct section *section, const char *path, const struct module *module)
{
    struct elf_image image;
    if (path[0] != '/' || elf_image_open(&image, path) < 0)
        return false;
    const Elf64_Shdr *header = elf_section_named(&image, ".eh_frame");
    bool is_found = header && section_matches(section, &image, header, module);
    elf_image_deinit(&image);
    return is_found;
}

/* ---- a table made from that ---- */

/* Where the FDE's function starts; 0 for one outside the module, such as a function that was discarded. */
static uint64_t fde_function_start(const struct sig_module *view, uint64_t at, const struct module *module)
{
    struct sig_cie cie;
    struct sig_fde fde;
    bool is_good = sig_eh_frame_read(view, at, false, &cie, &fde) && fde.start_pc < fde.end_pc &&
                   fde.start_pc >= module->loaded_low && fde.end_pc <= module->loaded_high &&
                   module->loaded_high - module->loaded_low <= section_max_bytes;
    return is_good ? fde.start_pc : 0;
}

/* Counts the FDEs. Writes them to entries unless that is NULL. */
static uint32_t list_fdes(const struct section *section, const struct module *module,
                          struct sig_search_entry *entries)
{
    const struct sig_module view = {.cfi_low = section->address,
                                    .cfi_high = section->address + section->bytes,
                                    .cfi_shift = (int64_t)((uintptr_t)section->copy - section->address)};
    uint32_t count = 0;
    for (uint64_t at = section->address, next; at; at = next) {
        next = sig_eh_frame_next(&view, at, false);
        uint64_t start = next ? fde_function_start(&view, at, module) : 0;
        if (!start)
            continue;
        if (entries)
            entries[count] = (struct sig_search_entry){(int32_t)(start - section->address),
                                                       (int32_t)(at - section->address)};
        count++;
    }
    return count;
}

static int compare_start_pcs(const void *left, const void *right)
{
    const struct sig_search_entry *a = left, *b = right;
    return (a->start_pc > b->start_pc) - (a->start_pc < b->start_pc);
}

static void build_table(struct arena *tables, struct module *module, const struct section *section)
{
    uint32_t count = list_fdes(section, module, NULL);
    arena_ref ref = count ? arena_alloc(tables, count * sizeof(struct sig_search_entry)) : 0;
    if (!ref)
        return;
    list_fdes(section, module, arena_at(tables, ref));
    sort_records(arena_at(tables, ref), count, sizeof(struct sig_search_entry), compare_start_pcs);
    module->search = ref;
    module->search_count = count;
    module->search_base = module->cfi_low = section->address;
    module->cfi_high = section->address + section->bytes;
}

void eh_index_build(struct arena *tables, const char *path, struct module *module)
{
    struct sig_module view = eh_index_view(tables, module);
    struct section section = {0};
    uint64_t entries, count, eh_frame;
    if (sig_eh_frame_search_table(&view, true, &entries, &count, &eh_frame)) {
        /* Without a build-id another module may come to the same address under the same name. */
        if (!module->is_permanent && module->build_id_bytes > 0)
            copy_table(tables, module, entries, count);
        return;
    }
    bool is_found = eh_frame >= module->cfi_low && eh_frame < module->cfi_high
                        ? section_copy(&section, eh_frame, module->cfi_high - eh_frame)
                        : find_section_in_file(&section, path, module);
    if (!is_found)
        return;
    build_table(tables, module, &section);
    section_free(&section);
}
