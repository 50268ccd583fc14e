#include "sig_modules.h"

#include <dlfcn.h>
#include <features.h>

/* Written before the handler is installed, read by it. */
static sig_find_object_fn *sig_find_object;

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

void sig_modules_use_loader(sig_find_object_fn *find_object)
{
    sig_find_object = find_object;
}

bool sig_modules_ask_loader(uint64_t pc, struct sig_module *ret)
{
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object object;
    if (!sig_find_object || sig_find_object((void *)(uintptr_t)pc, &object) != 0)
        return false;
    *ret = (struct sig_module){.start_pc = (uintptr_t)object.dlfo_map_start,
                               .end_pc = (uintptr_t)object.dlfo_map_end,
                               .eh_frame_hdr = (uintptr_t)object.dlfo_eh_frame,
                               .cfi_low = (uintptr_t)object.dlfo_map_start,
                               .cfi_high = (uintptr_t)object.dlfo_map_end};
    return true;
#else
    (void)pc, (void)ret;
    return false;
#endif
}
