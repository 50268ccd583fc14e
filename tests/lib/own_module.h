/* This test program as a module of a profile: where it is, its build-id, and how far it is from its file. */
#ifndef WALLPROF_OWN_MODULE_H
#define WALLPROF_OWN_MODULE_H

#include "elf/elf.h"

#include <limits.h>
#include <stdint.h>

struct own_module {
    char path[PATH_MAX];
    uint64_t load_bias;
    uint8_t build_id[32];
    size_t build_id_bytes; /* 0: the linker made none */
};

void own_module_init(struct own_module *own);

#endif
