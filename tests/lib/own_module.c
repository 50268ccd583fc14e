#include "own_module.h"

#include <link.h>
#include <stdlib.h>
#include <unistd.h>

static int own_module_visit(struct dl_phdr_info *info, size_t size, void *context)
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

void own_module_init(struct own_module *own)
{
    ssize_t length = readlink("/proc/self/exe", own->path, sizeof own->path - 1);
    if (length <= 0)
        abort();
    own->path[length] = '\0';
    own->build_id_bytes = 0;
    dl_iterate_phdr(own_module_visit, own);
}
