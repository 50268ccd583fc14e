#include "debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <elfutils/libdwelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool debug_file_asks_servers(void)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    return servers && *servers;
}

/*
 * libdwfl loads libdebuginfod for each file without debug information, also where there is no server to ask.
 * With the libraries that it needs, some 35, that takes 10 ms. So the linker leads libdwfl's dlopen here.
 */
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    bool is_useless = name && strncmp(name, "libdebuginfod", 13) == 0 && !debug_file_asks_servers();
    return is_useless ? NULL : __real_dlopen(name, flags);
}

/* libdwfl knows where to search. But a debug link has to be a plain file name, and lead to no other
 * directory. */
static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                           const char *path, const char *link, GElf_Word link_crc, char **ret_path)
{
    if (link && strchr(link, '/'))
        link = NULL;
    return dwfl_standard_find_debuginfo(module, data, name, base, path, link, link_crc, ret_path);
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = find_debug_file,
                                         .section_address = dwfl_offline_section_address};

static bool has_build_id(Elf *elf, const uint8_t *build_id, size_t build_id_bytes)
{
    const void *found;
    ssize_t bytes = dwelf_elf_gnu_build_id(elf, &found);
    if (bytes <= 0)
        return build_id_bytes == 0;
    return (size_t)bytes == build_id_bytes && memcmp(found, build_id, build_id_bytes) == 0;
}

static bool is_code(Elf *elf)
{
    GElf_Ehdr header;
    return gelf_getehdr(elf, &header) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

/* Debug information of code that the linker has dropped stays at address 0, below all code. */
static uint64_t lowest_code(Elf *elf)
{
    size_t count;
    GElf_Phdr segment;
    uint64_t lowest = UINT64_MAX;
    if (elf_getphdrnum(elf, &count) != 0)
        return 0;
    for (size_t i = 0; i < count && i < PN_XNUM; i++) {
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
            segment.p_vaddr < lowest)
            lowest = segment.p_vaddr;
    }
    return lowest == UINT64_MAX ? 0 : lowest;
}

/* libdwfl owns the descriptor afterwards, unless it fails. */
static int report_file(struct debug_file *file, const char *path, int fd)
{
    dwfl_report_begin(file->dwfl);
    file->module = dwfl_report_elf(file->dwfl, path, path, fd, 0, true);
    if (!file->module) {
        close(fd);
        return -ENOEXEC;
    }
    dwfl_report_end(file->dwfl, NULL, NULL);
    return 0;
}

static int take_dwarf(struct debug_file *file, const uint8_t *build_id, size_t build_id_bytes)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(file->module, &bias);
    if (!elf || !is_code(elf))
        return -ENOEXEC;
    if (!has_build_id(elf, build_id, build_id_bytes))
        return -ESTALE;
    file->dwarf = dwfl_module_getdwarf(file->module, &file->dwarf_bias);
    file->code_low = lowest_code(elf) - (file->dwarf ? file->dwarf_bias : 0);
    dwfl_module_info(file->module, NULL, NULL, NULL, NULL, NULL, NULL, &file->debug_path);
    return 0;
}

/* Only regular files are opened for reading: opening a FIFO would wait for a writer. */
static int open_regular(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), error = 0;
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) < 0)
        error = -errno;
    else if (!S_ISREG(status.st_mode))
        error = S_ISDIR(status.st_mode) ? -EISDIR : -ENOEXEC;
    if (error)
        close(fd);
    return error ? error : fd;
}

int debug_file_open(struct debug_file *file, const char *path, const uint8_t *build_id, size_t build_id_bytes)
{
    *file = (struct debug_file){0};
    int fd = open_regular(path);
    if (fd < 0)
        return fd;
    file->dwfl = dwfl_begin(&callbacks);
    if (!file->dwfl) {
        close(fd);
        return -ENOMEM;
    }
    int error = report_file(file, path, fd);
    if (!error)
        error = take_dwarf(file, build_id, build_id_bytes);
    if (error)
        debug_file_close(file);
    return error;
}

void debug_file_close(struct debug_file *file)
{
    if (file->dwfl)
        dwfl_end(file->dwfl);
    *file = (struct debug_file){0};
}
