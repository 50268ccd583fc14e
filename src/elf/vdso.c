/*
 * The vDSO is believed, because the kernel maps it. The number of its symbols is not known: they end where
 * their strings begin, as every linker lays them out. With another layout no function is found.
 */
#include "vdso.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* The object's own addresses are without its load bias. */
struct object {
    uint64_t bias;
    const Elf64_Sym *symbols;
    const char *strings;
    uint64_t strings_bytes;
};

static const void *at(const struct object *object, uint64_t address)
{
    return (const void *)(uintptr_t)(object->bias + address);
}

static void read_vdso_dynamic(struct object *object, const Elf64_Dyn *dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            object->symbols = at(object, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_STRTAB)
            object->strings = at(object, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_STRSZ)
            object->strings_bytes = dynamic->d_un.d_val;
    }
}

static void read_object(struct object *object, const Elf64_Ehdr *header)
{
    const char *base = (const char *)header;
    const Elf64_Phdr *segments = (const void *)(base + header->e_phoff), *dynamic = NULL, *first = NULL;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && !first)
            first = &segments[i];
        if (segments[i].p_type == PT_DYNAMIC)
            dynamic = &segments[i];
    }
    if (!first || !dynamic)
        return;
    object->bias = (uint64_t)(uintptr_t)base + first->p_offset - first->p_vaddr;
    read_vdso_dynamic(object, at(object, dynamic->p_vaddr));
}

Elf64_Addr vdso_function(const Elf64_Ehdr *header, const char *name)
{
    struct object object = {0};
    size_t length = strlen(name) + 1;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    read_object(&object, header);
    if (!object.symbols || (const char *)object.symbols > object.strings)
        return 0;
    for (const Elf64_Sym *symbol = object.symbols; (const char *)(symbol + 1) <= object.strings; symbol++) {
        bool is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
        if (is_function && symbol->st_name + length <= object.strings_bytes &&
            memcmp(object.strings + symbol->st_name, name, length) == 0)
            return object.bias + symbol->st_value;
    }
    return 0;
}

sig_clock_fn *vdso_clock_gettime(void)
{
    static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    const Elf64_Ehdr *header = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    Elf64_Addr found = 0;
    for (size_t i = 0; header && !found && i < sizeof(names) / sizeof(names[0]); i++)
        found = vdso_function(header, names[i]);
    return (sig_clock_fn *)(uintptr_t)found;
}
