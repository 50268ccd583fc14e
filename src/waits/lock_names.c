#include "lock_names.h"
#include "elf/elf_loaded.h"
#include "base/utf8.h"
#include "sig/sys/sig_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

arena_ref lock_names_module(const struct lock_names *names, uint64_t address)
{
    const struct modules *modules = names->modules;
    for (uint32_t i = 0; i < modules->now.count; i++) {
        const struct modules_entry *entry = &modules->now.entries[i];
        const struct module *module = entry->record ? arena_at(modules->list.arena, entry->record) : NULL;
        if (module && address >= module->loaded_low && address < module->loaded_high)
            return entry->record;
    }
    return 0;
}

static const char *path_of(const struct lock_names *names, const struct module *module)
{
    return module->path ? arena_at(names->modules->list.arena, module->path) : "";
}

/* The program's own file is the right one under this name, whatever happened to its path. */
static int open_file(const struct lock_names *names, const struct module *module, struct elf_image *ret)
{
    const bool has_id = module->build_id_bytes > 0;
    if (!names->has_files || (!has_id && !module->is_main))
        return -1;
    const bool is_own = module->is_main && !sig_memory_subject();
    int status = elf_image_open(ret, is_own ? "/proc/self/exe" : path_of(names, module));
    if (status < 0 || !has_id || elf_image_has_build_id(ret, module->build_id, module->build_id_bytes))
        return status;
    elf_image_deinit(ret);
    return -1;
}

static bool find_symbol(struct lock_names *names, const struct module *module, uint64_t address,
                        struct elf_covering *ret)
{
    struct elf_image image;
    bool is_found = false;
    if (open_file(names, module, &image) == 0) {
        is_found = elf_covering_find(&image, address - module->load_bias, &names->bytes_left, ret);
        elf_image_deinit(&image);
    }
    if (!is_found &&
        elf_loaded_open(&image, module->load_bias, module->loaded_low, module->loaded_high) == 0) {
        is_found = elf_covering_find(&image, address - module->load_bias, &names->bytes_left, ret);
        elf_image_deinit(&image);
    }
    return is_found;
}

void lock_names_make_plain(char *text)
{
    for (char *at = text; *at; at++)
        *at = (*at > 0 && *at < ' ') || *at == 0x7f ? '?' : *at;
    utf8_repair(text);
}

void lock_names_find(struct lock_names *names, arena_ref ref, uint64_t address, bool is_data,
                     char ret[LOCK_NAME_BYTES])
{
    const struct module *module = arena_at(names->modules->list.arena, ref);
    const uint64_t elf_address = address - module->load_bias;
    struct elf_covering symbol;
    const char *path = path_of(names, module), *slash = strrchr(path, '/');
    if (!find_symbol(names, module, address, &symbol))
        snprintf(ret, LOCK_NAME_BYTES, "%.180s+0x%" PRIx64, slash ? slash + 1 : path, elf_address);
    else if (is_data && symbol.elf_address != elf_address)
        snprintf(ret, LOCK_NAME_BYTES, "%.200s+%" PRIu64, symbol.name, elf_address - symbol.elf_address);
    else
        snprintf(ret, LOCK_NAME_BYTES, "%s", symbol.name);
    lock_names_make_plain(ret);
}

bool lock_names_is_standard(const char *name)
{
    static const char *const starts[] = {"_ZNSt",         "_ZNKSt",         "_ZSt",
                                         "_ZN9__gnu_cxx", "_ZL20__gthread", "__gthread"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    }
    return strstr(name, "__gthread_") != NULL;
}
