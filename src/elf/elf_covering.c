#include "elf_covering.h"
#include "base/smaller.h"

#include <string.h>

struct search {
    uint64_t address;
    Elf64_Sym best; /* st_size is 0 before the first */
};

static bool is_named_thing(const Elf64_Sym *symbol)
{
    unsigned char type = ELF64_ST_TYPE(symbol->st_info);
    return (type == STT_OBJECT || type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_COMMON) &&
           symbol->st_shndx != SHN_UNDEF && symbol->st_name != 0;
}

static bool is_local(const Elf64_Sym *symbol)
{
    return ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
}

/* Of several the one that begins last, then a global one, then the first. */
static bool is_better(const Elf64_Sym *symbol, const Elf64_Sym *best)
{
    if (best->st_size == 0 || symbol->st_value != best->st_value)
        return best->st_size == 0 || symbol->st_value > best->st_value;
    return is_local(best) && !is_local(symbol);
}

static void offer(void *context, const void *entry)
{
    struct search *search = context;
    const Elf64_Sym *symbol = entry;
    if (search->address - symbol->st_value < symbol->st_size && is_named_thing(symbol) &&
        is_better(symbol, &search->best))
        search->best = *symbol;
}

static bool read_name(const struct elf_image *image, const Elf64_Shdr *strings, uint64_t at,
                      char ret[ELF_COVERING_NAME_BYTES])
{
    const uint64_t end = strings ? elf_section_bytes(image, strings) : 0;
    const size_t bytes = (size_t)smaller(since(at, end), ELF_COVERING_NAME_BYTES);
    return bytes > 0 && elf_image_read(image, strings->sh_offset + at, ret, bytes) && *ret &&
           memchr(ret, '\0', bytes);
}

bool elf_covering_find(const struct elf_image *image, uint64_t elf_address, uint64_t *bytes_left,
                       struct elf_covering *ret)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const Elf64_Shdr *table = elf_section_of_type(image, types[i], sizeof(Elf64_Sym));
        struct search search = {.address = elf_address};
        const uint64_t bytes = table ? elf_section_bytes(image, table) : 0;
        if (bytes == 0 || bytes > *bytes_left)
            continue;
        *bytes_left -= bytes;
        elf_table_visit(image, table, sizeof(Elf64_Sym), offer, &search);
        ret->elf_address = search.best.st_value;
        if (search.best.st_size > 0 &&
            read_name(image, elf_section_strings(image, table), search.best.st_name, ret->name))
            return true;
    }
    return false;
}
