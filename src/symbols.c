#include "symbols.h"

struct symbols_module symbols_module(const struct wp_symbols *symbols, arena_ref module)
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
