#include "own_module.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take(struct own_module *own, const struct dl_phdr_info *info)
{
    own->build_id_bytes = 0;
    own->load_bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum && own->build_id_bytes == 0; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE)
            own->build_id_bytes =
                elf_build_id_in_notes((const void *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz,
                                      own->build_id, sizeof own->build_id);
    }
}

static int visit_first(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    take(context, info);
    return 1; /* the program comes first */
}

static int visit_libc(struct dl_phdr_info *info, size_t size, void *context)
{
    struct own_module *libc = context;
    (void)size;
    if (!strstr(info->dlpi_name, "/libc.so"))
        return 0;
    take(libc, info);
    strcpy(libc->path, info->dlpi_name);
    return 1;
}

void own_module_libc(struct own_module *libc)
{
    if (!dl_iterate_phdr(visit_libc, libc))
        abort();
}

void own_module_init(struct own_module *own)
{
    ssize_t length = readlink("/proc/self/exe", own->path, sizeof own->path - 1);
    if (length <= 0)
        abort();
    own->path[length] = '\0';
    dl_iterate_phdr(visit_first, own);
}
