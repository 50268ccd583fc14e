/* This test program as a module of a profile: where it is, its build-id, and how far it is from its file. */
#ifndef WALLPROF_TESTS_OWN_MODULE_H
#define WALLPROF_TESTS_OWN_MODULE_H

#include "elf/elf.h"

#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct own_module {
    char path[PATH_MAX];
    uint64_t load_bias;
    uint8_t build_id[32];
    size_t build_id_bytes; /* 0: the linker made none */
};

static inline int own_module_visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct own_module *own = context;
    (void)size;
    own->load_bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum && own->build_id_bytes == 0; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE)
            own->build_id_bytes =
                elf_build_id_in_notes((const void *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz,
                                      own->build_id, sizeof own->build_id);
    }
    return 1; /* the program comes first */
}

static inline void own_module_init(struct own_module *own)
{
    ssize_t length = readlink("/proc/self/exe", own->path, sizeof own->path - 1);
    if (length <= 0)
        abort();
    own->path[length] = '\0';
    own->build_id_bytes = 0;
    dl_iterate_phdr(own_module_visit, own);
}

#endif
