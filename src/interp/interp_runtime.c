#include "interp_runtime.h"

#include "cold_part.h"

#include <string.h>

static const struct interp_language *const languages[] = {&python_language, &php_language, &perl_language};

uint64_t interp_module_address(const struct interp_module *module, const char *name)
{
    struct elf_symbol symbol;
    return elf_dynamic_find(&module->object, name, &symbol) ? symbol.address : 0;
}

static void find_machinery(const struct interp_module *module, struct interp_runtime *runtime)
{
    for (const char *const *name = runtime->language->machinery; *name; name++) {
        const uint64_t address = interp_module_address(module, *name);
        if (address && runtime->machinery_count < INTERP_MACHINERY_MAX)
            runtime->machinery[runtime->machinery_count++] = address;
    }
}

static enum interp_found find_language(const struct interp_module *module, const struct module *record,
                                       struct interp_runtime *ret)
{
    struct elf_symbol eval;
    if (!elf_dynamic_find(&module->object, ret->language->eval, &eval) || eval.address < record->start_pc ||
        eval.address >= record->end_pc) /* an object may have several */
        return INTERP_ABSENT;
    const enum interp_found found = ret->language->find(module, ret);
    if (found != INTERP_FOUND)
        return found;
    ret->eval_start = eval.address;
    ret->calls_handlers = eval.bytes < ret->language->eval_bytes_min;
    ret->cold_start = cold_part_of(module->modules, module->ref, eval.address, eval.address + eval.bytes);
    find_machinery(module, ret);
    if (ret->language->main)
        ret->main_start = interp_module_address(module, ret->language->main);
    return INTERP_FOUND;
}

static const char *path_of(const struct modules *modules, const struct module *module)
{
    return module->path ? arena_at(modules->list.arena, module->path) : "";
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_candidate(const struct module *module, const char *path,
                         const struct interp_language *language)
{
    return module->is_main || strstr(file_name(path), language->in_library);
}

bool interp_runtime_is_switcher(const struct modules *modules, arena_ref ref)
{
    static const char begins[] = "_greenlet.";
    const struct module *module = arena_at(modules->list.arena, ref);
    return strncmp(file_name(path_of(modules, module)), begins, sizeof begins - 1) == 0;
}

enum interp_found interp_runtime_find(const struct modules *modules, arena_ref ref,
                                      struct interp_runtime *ret)
{
    const struct module *record = arena_at(modules->list.arena, ref);
    struct interp_module module = {.modules = modules, .ref = ref, .path = path_of(modules, record)};
    enum interp_found found = INTERP_ABSENT;
    bool is_open = false;
    for (size_t i = 0; found == INTERP_ABSENT && i < sizeof languages / sizeof *languages; i++) {
        *ret = (struct interp_runtime){.language = languages[i]};
        if (!is_candidate(record, module.path, languages[i]))
            continue;
        if (!is_open &&
            !elf_dynamic_open(&module.object, record->load_bias, record->loaded_low, record->loaded_high))
            return INTERP_ABSENT;
        is_open = true;
        found = find_language(&module, record, ret);
    }
    return found;
}
