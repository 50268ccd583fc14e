/*
 * PHP 8 in this process (interp_runtime.h).
 *
 * Which version it is, its first module says, which is a part of the engine. That is registered when PHP
 * starts. Builds with threads (ZTS) have a record for each, which is found in another way: they are left
 * alone. Without ZTS one thread runs all scripts. That is the first one of the process, in all servers that
 * have such builds.
 *
 * Source: Zend/zend_modules.h, zend_types.h.
 */
#include "interp_runtime.h"
#include "php_layout.h"
#include "php_names.h"

/* Of the table of modules, a HashTable: where its entries are, and how many. Of a module: its interface. */
enum { TABLE_ENTRIES = 16, TABLE_USED = 24, MODULE_INTERFACE = 4 };

static const char *const machinery_names[] = {
    "_call_user_function_impl",
    "php_execute_script",
    "php_execute_script_ex",
    "zend_call_function",
    "zend_call_known_fcc",
    "zend_call_known_function",
    "zend_call_known_instance_method_with_2_params",
    "zend_call_method",
    "zend_call_method_if_exists",
    "zend_execute",
    "zend_execute_script",
    "zend_execute_scripts",
    "zend_generator_resume",
    NULL,
};

/* The interface of the first module; 0 before there is one. */
static uint32_t read_interface(const struct interp_module *module)
{
    const uint64_t table = interp_module_address(module, "module_registry");
    uint64_t entries, first;
    uint32_t used, interface;
    if (!table || !sig_memory_copy(&used, table + TABLE_USED, sizeof used) || used == 0 ||
        !sig_memory_copy(&entries, table + TABLE_ENTRIES, sizeof entries) ||
        !sig_memory_copy(&first, entries, sizeof first) ||
        !sig_memory_copy(&interface, first + MODULE_INTERFACE, sizeof interface))
        return 0;
    return interface;
}

static enum interp_found find_php(const struct interp_module *module, struct interp_runtime *ret)
{
    const uint32_t interface = read_interface(module);
    struct elf_symbol record;
    ret->frames.language = SIG_INTERP_PHP;
    if (!interface)
        return INTERP_UNREADY;
    ret->version = INTERP_VERSION_OLD;
    if (!php_layout_of(interface, &ret->frames.of.php, &ret->version) ||
        !elf_dynamic_find(&module->object, "executor_globals", &record))
        return INTERP_UNKNOWN;
    ret->address = record.address;
    ret->frames.of.php.generator.class_at = interp_module_address(module, "zend_ce_generator");
    return INTERP_FOUND;
}

static uint64_t find_state(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                           struct sig_interp_thread *whose)
{
    (void)memory;
    return interp_is_first_thread(whose) ? runtime->address : 0;
}

static bool read_names(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                       const struct sig_interp_frame *frame, struct interp_names *ret)
{
    return php_names_read(&runtime->frames.of.php, memory, frame, ret);
}

const struct interp_language php_language = {
    .name = "PHP",
    .in_library = "php",
    .unknown = "[php: unknown]",
    .eval = "execute_ex",
    .machinery = machinery_names,
    .find = find_php,
    .find_state = find_state,
    .read_names = read_names,
};
