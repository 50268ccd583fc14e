/*
 * elf.h reads the files as it does in the profiled process, so the names are the same. libdwfl only unpacks
 * .gnu_debugdata; the other tables were read before.
 */
#include "debug_symbols.h"

#include <gelf.h>
#include <stdlib.h>

enum { SYMBOLS_MAX = 1 << 24 };

static bool are_all_named(const struct elf_query *queries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!queries[i].name)
            return false;
    }
    return true;
}

static size_t first_not_below(const struct elf_query *queries, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (queries[middle].elf_address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of several symbols around an address, the one that begins nearest to it names it. */
static void name_by_symbol(const char *name, uint64_t start, uint64_t bytes, struct elf_query *queries,
                           size_t count)
{
    for (size_t i = first_not_below(queries, count, start);
         i < count && queries[i].elf_address - start < bytes; i++) {
        if (queries[i].name && queries[i].symbol_address >= start)
            continue;
        queries[i].name = name;
        queries[i].symbol_address = start;
        queries[i].symbol_bytes = bytes;
    }
}

static void name_from_packed_table(const struct debug_file *file, struct elf_query *queries, size_t count)
{
    int symbols = dwfl_module_getsymtab(file->module);
    for (int i = 1; i < symbols && i < SYMBOLS_MAX; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(file->module, i, &symbol, &address, &section, NULL, NULL);
        unsigned kind = GELF_ST_TYPE(symbol.st_info);
        if (name && *name && section != SHN_UNDEF && (kind == STT_FUNC || kind == STT_GNU_IFUNC))
            name_by_symbol(name, address, symbol.st_size, queries, count);
    }
}

static void name_rest_from_packed_table(const struct debug_file *file, struct elf_query *queries,
                                        size_t count)
{
    struct elf_query *rest = calloc(count, sizeof *rest);
    size_t rest_count = 0;
    for (size_t i = 0; rest && i < count; i++) {
        if (!queries[i].name)
            rest[rest_count++].elf_address = queries[i].elf_address;
    }
    if (rest_count > 0)
        name_from_packed_table(file, rest, rest_count);
    for (size_t i = 0, next = 0; next < rest_count; i++) {
        if (!queries[i].name)
            queries[i] = rest[next++];
    }
    free(rest);
}

void debug_symbols_find(const struct debug_file *file, const struct debug_module *module,
                        struct string_pool *names, struct elf_query *queries, size_t count)
{
    elf_name_addresses(names, module->path, module->build_id, module->build_id_bytes, queries, count);
    if (file->debug_path && !are_all_named(queries, count) && (!file->dwarf || file->dwarf_bias == 0))
        elf_name_addresses(names, file->debug_path, module->build_id, module->build_id_bytes, queries, count);
    name_rest_from_packed_table(file, queries, count);
}
