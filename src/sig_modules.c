/* Binary search in the published table: 6 steps for 60 libraries, no lock, no call into the loader. */
#include "sig_modules.h"

const struct sig_module *sig_modules_find(const struct sig_modules_table *table, uint64_t pc)
{
    size_t low = 0, high = table ? table->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sig_module *module = &table->modules[middle];
        if (pc < module->start_pc)
            high = middle;
        else if (pc >= module->end_pc)
            low = middle + 1;
        else
            return module;
    }
    return NULL;
}
