/*
 * An ELF file laid out as the loader would lay it out, but only to be read: for judging unwind tables of
 * programs that do not run. Nothing of it is executed or relocated; .eh_frame needs no relocation.
 */
#ifndef WALLPROF_ORACLE_STATIC_IMAGE_H
#define WALLPROF_ORACLE_STATIC_IMAGE_H

#include "oracle_static_arch.h"
#include "sig/ground/sig_modules.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMAGE_PAGE_BYTES = 4096 };

struct image {
    uint64_t low, high; /* run-time addresses, all readable */
    uint64_t bias;      /* run-time address minus address in the file */
    bool is_mapped;     /* by us: image_unmap ends it */
    struct sig_module module;
    uint64_t table; /* the pairs of .eh_frame_hdr's search table */
    uint64_t table_count;
};

static inline const Elf64_Phdr *image_headers(const Elf64_Ehdr *elf)
{
    return (const Elf64_Phdr *)((const char *)elf + elf->e_phoff);
}

static inline bool image_is_elf(const Elf64_Ehdr *elf)
{
    return memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 && elf->e_ident[EI_CLASS] == ELFCLASS64 &&
           elf->e_machine == ORACLE_MACHINE && elf->e_phentsize == sizeof(Elf64_Phdr);
}

/* The pages that all PT_LOADs span, as addresses in the file. */
static inline void image_span(const Elf64_Ehdr *elf, uint64_t *ret_low, uint64_t *ret_high)
{
    const Elf64_Phdr *headers = image_headers(elf);
    *ret_low = UINT64_MAX;
    *ret_high = 0;
    for (int i = 0; i < elf->e_phnum; i++) {
        uint64_t low = headers[i].p_vaddr & -(uint64_t)IMAGE_PAGE_BYTES;
        uint64_t high =
            (headers[i].p_vaddr + headers[i].p_memsz + IMAGE_PAGE_BYTES - 1) & -(uint64_t)IMAGE_PAGE_BYTES;
        if (headers[i].p_type != PT_LOAD)
            continue;
        *ret_low = low < *ret_low ? low : *ret_low;
        *ret_high = high > *ret_high ? high : *ret_high;
    }
}

static inline void image_add_executable(const Elf64_Phdr *header, struct image *image)
{
    uint64_t start = image->bias + header->p_vaddr;
    if (image->module.end_pc == 0 || start < image->module.start_pc)
        image->module.start_pc = start;
    if (start + header->p_memsz > image->module.end_pc)
        image->module.end_pc = start + header->p_memsz;
}

/* LSB 5.0 Core 10.6.2, the one form that linkers write: a count as udata4, pairs of datarel sdata4. */
static inline bool image_find_table(struct image *image)
{
    uint64_t header = image->module.eh_frame_hdr;
    if (image->module.cfi_high < header + 12)
        return false;
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)header;
    uint32_t count;
    memcpy(&count, bytes + 8, sizeof(count));
    image->table = header + 12;
    image->table_count = count;
    return bytes[0] == 1 && bytes[2] == 0x03 && bytes[3] == 0x3b &&
           count <= (image->module.cfi_high - image->table) / 8;
}

/* What the loader's list of modules would say of it; false when it has no search table. */
static inline bool image_describe(const Elf64_Ehdr *elf, struct image *image)
{
    const Elf64_Phdr *headers = image_headers(elf);
    for (int i = 0; i < elf->e_phnum; i++) {
        if (headers[i].p_type == PT_GNU_EH_FRAME)
            image->module.eh_frame_hdr = image->bias + headers[i].p_vaddr;
        if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_X))
            image_add_executable(&headers[i], image);
    }
    for (int i = 0; i < elf->e_phnum; i++) {
        uint64_t start = image->bias + headers[i].p_vaddr, end = start + headers[i].p_filesz;
        if (headers[i].p_type == PT_LOAD && image->module.eh_frame_hdr >= start &&
            image->module.eh_frame_hdr < end) {
            image->module.cfi_low = start;
            image->module.cfi_high = end;
        }
    }
    return image_find_table(image);
}

/* One that is mapped already: the vDSO, the program itself. */
static inline bool image_of_memory(const void *elf_header, struct image *ret)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)elf_header;
    *ret = (struct image){.low = 0};
    if (!elf || !image_is_elf(elf))
        return false;
    image_span(elf, &ret->low, &ret->high);
    ret->bias = (uint64_t)(uintptr_t)elf - ret->low;
    ret->low += ret->bias;
    ret->high += ret->bias;
    return image_describe(elf, ret);
}

/*
 * A program for a fixed address is mapped there, for the sake of absolute pointers. Gaps between segments
 * are readable zeros, so that a wild pointer in a table is a difference and not a fault.
 */
static inline bool image_reserve(const Elf64_Ehdr *elf, struct image *image)
{
    image_span(elf, &image->low, &image->high);
    if (image->low >= image->high)
        return false;
    int fixed = elf->e_type == ET_EXEC ? MAP_FIXED_NOREPLACE : 0;
    void *at = mmap((void *)(uintptr_t)(fixed ? image->low : 0), image->high - image->low, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (at == MAP_FAILED)
        return false;
    image->is_mapped = true;
    image->bias = (uint64_t)(uintptr_t)at - image->low;
    image->high += image->bias;
    image->low += image->bias;
    return true;
}

static inline bool image_map_segments(int fd, const Elf64_Ehdr *elf, const struct image *image)
{
    const Elf64_Phdr *headers = image_headers(elf);
    for (int i = 0; i < elf->e_phnum; i++) {
        uint64_t into_page = headers[i].p_vaddr % IMAGE_PAGE_BYTES;
        void *at = (void *)(uintptr_t)(image->bias + headers[i].p_vaddr - into_page);
        if (headers[i].p_type == PT_LOAD && headers[i].p_filesz > 0 &&
            mmap(at, headers[i].p_filesz + into_page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
                 (off_t)(headers[i].p_offset - into_page)) == MAP_FAILED)
            return false;
    }
    return true;
}

static inline void image_unmap(struct image *image)
{
    if (image->is_mapped)
        munmap((void *)(uintptr_t)image->low, image->high - image->low);
    image->is_mapped = false;
}

static inline bool image_map_file(const char *path, struct image *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool mapped = false;
    *ret = (struct image){.low = 0};
    if (fd < 0)
        return false;
    if (fstat(fd, &status) != 0 || status.st_size < IMAGE_PAGE_BYTES) {
        close(fd);
        return false;
    }
    /* The headers are in the first page with every linker in use. */
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)mmap(NULL, IMAGE_PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
    if (elf != MAP_FAILED) {
        mapped = image_is_elf(elf) && elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) <= IMAGE_PAGE_BYTES &&
                 image_reserve(elf, ret) && image_map_segments(fd, elf, ret) && image_describe(elf, ret);
        munmap((void *)(uintptr_t)elf, IMAGE_PAGE_BYTES);
    }
    if (!mapped)
        image_unmap(ret);
    close(fd);
    return mapped;
}

/* A pair of the search table: where a function starts and its FDE. */
static inline uint64_t image_entry_start(const struct image *image, uint64_t index)
{
    int32_t offset;
    memcpy(&offset, (const char *)(uintptr_t)image->table + 8 * index, sizeof(offset));
    return image->module.eh_frame_hdr + (uint64_t)(int64_t)offset;
}

#endif
