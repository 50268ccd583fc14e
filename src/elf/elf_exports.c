#include "elf_exports.h"

#include <stddef.h>
#include <string.h>

enum { WORD_BITS = 64 };

static const uint16_t version_is_hidden = 0x8000; /* an old version, or one for programs linked long ago */

/* What stands before the words, the buckets and the chains of DT_GNU_HASH. */
struct hash_header {
    uint32_t bucket_count, first_symbol, bloom_count, bloom_shift;
};

const struct link_map *elf_exports_own_object(void)
{
    const struct link_map *object = _r_debug.r_map;
    while (object && object->l_ld != _DYNAMIC)
        object = object->l_next;
    return object;
}

/* A table without them is empty, as the loader sees it, and there is nothing to divide by. */
static bool has_buckets(const void *hash)
{
    const struct hash_header *header = hash;
    return header && header->bucket_count != 0 && header->bloom_count != 0;
}

bool elf_exports_of(const struct link_map *object, struct elf_exports *ret)
{
    *ret = (struct elf_exports){.bias = object->l_addr};
    for (const Elf64_Dyn *entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
        const void *at = (const void *)(uintptr_t)elf_exports_pointer(object->l_addr, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            ret->symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            ret->strings = at;
        else if (entry->d_tag == DT_VERSYM)
            ret->versions = at;
        else if (entry->d_tag == DT_GNU_HASH)
            ret->hash = at;
    }
    return ret->symbols && ret->strings && has_buckets(ret->hash);
}

static bool is_shown(const struct elf_exports *exports, uint32_t index, const char *name)
{
    const Elf64_Sym *symbol = &exports->symbols[index];
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           !(exports->versions && exports->versions[index] & version_is_hidden) &&
           strcmp(exports->strings + symbol->st_name, name) == 0;
}

bool elf_exports_find(const struct elf_exports *exports, const char *name, uintptr_t *ret)
{
    const struct hash_header *header = (const void *)exports->hash;
    const uint64_t *bloom = (const void *)(header + 1);
    const uint32_t *buckets = (const void *)(bloom + header->bloom_count);
    const uint32_t *chains = buckets + header->bucket_count, hash = elf_exports_hash(name);
    uint64_t word = bloom[hash / WORD_BITS % header->bloom_count];
    if (!(word >> hash % WORD_BITS & word >> (hash >> header->bloom_shift) % WORD_BITS & 1))
        return false;
    uint32_t index = buckets[hash % header->bucket_count], entry;
    if (index < header->first_symbol)
        return false;
    for (;; index++) { /* the lowest bit is set in the last one of a chain */
        entry = chains[index - header->first_symbol];
        if ((entry | 1) == (hash | 1) && is_shown(exports, index, name))
            break;
        if (entry & 1)
            return false;
    }
    const Elf64_Sym *symbol = &exports->symbols[index];
    bool is_chosen = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
    *ret = is_chosen ? 0 : (uintptr_t)(exports->bias + symbol->st_value);
    return true;
}
