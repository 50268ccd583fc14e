#include "symbols.h"

#include <stdio.h>
#include <string.h>

enum { BASENAME_MAX_BYTES = 255 };

/* The name "[vdso]" has its brackets already. */
int symbols_offset_name(char ret[SYMBOLS_OFFSET_NAME_BYTES], const char *module, uint64_t offset)
{
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;
    size_t bytes = strnlen(name, BASENAME_MAX_BYTES);
    bool has_brackets = bytes > 2 && name[0] == '[' && name[bytes - 1] == ']';
    return snprintf(ret, SYMBOLS_OFFSET_NAME_BYTES, "[%.*s+0x%llx]", (int)bytes - 2 * has_brackets,
                    name + has_brackets, (unsigned long long)offset);
}

struct symbols_module symbols_module(const struct symbols *symbols, arena_ref module)
{
    uint32_t low = 0, high = symbols->module_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (symbols->modules[middle].module == module)
            return symbols->modules[middle];
        if (symbols->modules[middle].module < module)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct symbols_module){.module = module};
}
