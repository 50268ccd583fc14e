/*
 * dl_iterate_phdr gives every object with its program headers, and each executable PT_LOAD is reported. What
 * the headers say is believed only as far as the segments are mapped.
 */
#include "loader.h"
#include "elf/elf.h"
#include "modules.h"
#include "sig/ground/sig_unloads.h"
#include "sig/sys/sig_memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

enum { PAGE_BYTES = 4096, NOTES_MAX_BYTES = 1024 };

struct visit {
    struct loader_state *state;
    loader_segment_fn *segment;
    void *context;
    uint64_t vdso, interpreter;
    bool is_first_object, is_permanent;
};

static void note_state(const struct dl_phdr_info *info, struct loader_state *ret)
{
    ret->loads = info->dlpi_adds;
    ret->unloads = info->dlpi_subs;
}

static int read_first(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    note_state(info, data);
    return 1; /* the first object is enough */
}

/* ---- without the lock ---- */

/* The program headers of an object, where they can be read. The kernel tells those of the program. Those of
 * others follow the ELF header at the start of the mapping. */
static bool read_headers(const struct link_map *object, bool is_first, struct dl_phdr_info *ret)
{
    ElfW(Ehdr) header;
    *ret = (struct dl_phdr_info){
        .dlpi_addr = object->l_addr, .dlpi_name = object->l_name, .dlpi_adds = 1, .dlpi_subs = 0};
    if (is_first) {
        ret->dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
        ret->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
        return ret->dlpi_phdr != NULL;
    }
    if (!sig_memory_copy(&header, object->l_addr, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
        header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) >
            PAGE_BYTES) /* beyond the page of the ELF header */
        return false;
    ret->dlpi_phdr = (const ElfW(Phdr) *)(object->l_addr + header.e_phoff);
    ret->dlpi_phnum = header.e_phnum;
    return true;
}

/* Does what dl_iterate_phdr does, in the program's own namespace only. */
static void iterate_without_lock(bool is_first_enough, int (*visit)(struct dl_phdr_info *, size_t, void *),
                                 void *data)
{
    const struct link_map *first = _r_debug.r_map;
    for (const struct link_map *object = first; object; object = object->l_next) {
        struct dl_phdr_info info;
        bool is_last = read_headers(object, object == first, &info) && visit(&info, sizeof(info), data);
        if (is_last || is_first_enough)
            return;
    }
}

static void iterate(enum loader_reading reading, int (*visit)(struct dl_phdr_info *, size_t, void *),
                    void *data)
{
    if (reading != LOADER_WITH_LOCK)
        iterate_without_lock(reading == LOADER_PROGRAM_ONLY, visit, data);
    else
        dl_iterate_phdr(visit, data);
}

/* ---- the list ---- */

void loader_read(enum loader_reading reading, struct loader_state *ret)
{
    ret->before = sig_unloads_read();
    iterate(reading, read_first, ret);
    ret->after = sig_unloads_read();
}

/* Looked up by name, because our library must load with an older C library too. A dlsym that fails would call
 * malloc, so the version is compared first. */
sig_find_object_fn *loader_find_object(void)
{
#if __GLIBC_PREREQ(2, 35)
    if (strverscmp(gnu_get_libc_version(), "2.35") >= 0)
        return (sig_find_object_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object");
#endif
    return NULL;
}

uint64_t loader_unloaded(void)
{
    struct loader_state state;
    dl_iterate_phdr(read_first, &state);
    return state.unloads;
}

/* The readable segment that an address lies in, as far as its file reaches; false when there is none. */
static bool readable_segment(const struct dl_phdr_info *info, uint64_t address, uint64_t *ret_low,
                             uint64_t *ret_high)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_filesz;
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_R) || address < start || address >= end)
            continue;
        *ret_low = start;
        *ret_high = end;
        return true;
    }
    return false;
}

static void note_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * header, struct module *ret)
{
    char copy[NOTES_MAX_BYTES];
    uint64_t start = info->dlpi_addr + header->p_vaddr, low, high;
    if (!readable_segment(info, start, &low, &high))
        return;
    uint64_t bytes = header->p_memsz < high - start ? header->p_memsz : high - start;
    const void *notes = (const void *)(uintptr_t)start;
    if (sig_memory_subject()) {
        notes = copy;
        bytes = bytes < sizeof(copy) ? bytes : sizeof(copy);
        bytes = sig_memory_copy(copy, start, bytes) ? bytes : 0;
    }
    ret->build_id_bytes = (uint32_t)elf_build_id_in_notes(notes, bytes, ret->build_id, sizeof(ret->build_id));
}

static void object_bounds(const struct dl_phdr_info *info, struct module *ret)
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
            note_build_id(info, header, ret);
    }
    /* .eh_frame lies in the same segment with every linker in use. */
    if (!readable_segment(info, ret->eh_frame_hdr, &ret->cfi_low, &ret->cfi_high))
        ret->eh_frame_hdr = 0;
}

static void segment_bounds(const struct dl_phdr_info *info, const ElfW(Phdr) * header, struct module *ret)
{
    uint64_t start = info->dlpi_addr + header->p_vaddr, into_page = start & (PAGE_BYTES - 1);
    ret->start_pc = start - into_page;
    ret->end_pc = (start + header->p_memsz + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    ret->file_offset = header->p_offset - into_page;
}

/*
 * What was loaded with the program stands in the list up to the loader itself, or a little further: glibc's
 * elf/rtld.c puts the loader where the search order has it. What came by dlopen follows, because
 * _dl_add_to_namespace_list appends. The former is never unloaded (dl-close.c: only lt_loaded).
 */
static void note_end_of_permanent(struct visit *visit, const struct module *object)
{
    if (visit->interpreter >= object->loaded_low && visit->interpreter < object->loaded_high)
        visit->is_permanent = false;
}

void loader_visit_object(const struct dl_phdr_info *info, struct module *object, loader_segment_fn *visit,
                         void *context)
{
    uint64_t here = sig_memory_subject() ? 0 : (uintptr_t)loader_visit_object;
    object->load_bias = info->dlpi_addr;
    object->is_first_segment = true;
    object_bounds(info, object);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        struct module segment = *object;
        segment_bounds(info, header, &segment);
        segment.is_own = here >= segment.start_pc && here < segment.end_pc;
        visit(context, &segment, info->dlpi_name);
        object->is_first_segment = false;
    }
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct visit *visit = data;
    struct module object = {.is_main = visit->is_first_object, .is_permanent = visit->is_permanent};
    struct dl_phdr_info named = *info;
    (void)size;
    note_state(info, visit->state);
    named.dlpi_name = visit->is_first_object           ? ""
                      : info->dlpi_addr == visit->vdso ? "[vdso]"
                                                       : info->dlpi_name;
    loader_visit_object(&named, &object, visit->segment, visit->context);
    visit->is_first_object = false;
    note_end_of_permanent(visit, &object);
    return 0;
}

void loader_visit(enum loader_reading reading, loader_segment_fn *segment, void *context,
                  struct loader_state *ret)
{
    struct visit visit = {.state = ret,
                          .segment = segment,
                          .context = context,
                          .vdso = getauxval(AT_SYSINFO_EHDR),
                          .interpreter = _r_debug.r_ldbase,
                          .is_first_object = true,
                          .is_permanent = _r_debug.r_ldbase != 0};
    ret->before = sig_unloads_read();
    iterate(reading, visit_object, &visit);
    ret->after = sig_unloads_read();
}
