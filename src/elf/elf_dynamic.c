#include "elf_dynamic.h"
#include "elf_exports.h"
#include "base/smaller.h"

#include <string.h>

enum {
    SEGMENTS_MAX = 64,
    DYNAMIC_MAX = 1024,
    DYNAMIC_PIECE = 64,
    CHAIN_MAX = 4096,
    NAME_BYTES = 64,
    WORD_BITS = 64
};

/* The offset in the image of a pointer of the dynamic section: glibc adds the bias in place, others do not.
 * 0 if it is outside. */
static uint64_t offset_of(const struct elf_dynamic *object, uint64_t pointer)
{
    const uint64_t low = object->image.loaded_at, bytes = object->image.size_bytes;
    if (pointer - low < bytes)
        return pointer - low;
    return pointer + object->bias - low < bytes ? pointer + object->bias - low : 0;
}

static void note_entry(struct elf_dynamic *object, const Elf64_Dyn *entry)
{
    const uint64_t offset = offset_of(object, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB)
        object->symbols = offset;
    else if (entry->d_tag == DT_STRTAB)
        object->strings = offset;
    else if (entry->d_tag == DT_GNU_HASH)
        object->gnu_hash = offset;
}

static void read_dynamic(struct elf_dynamic *object, const Elf64_Phdr *segment)
{
    const uint64_t offset = segment->p_vaddr + object->bias - object->image.loaded_at;
    const size_t count = (size_t)smaller(segment->p_memsz / sizeof(Elf64_Dyn), DYNAMIC_MAX);
    Elf64_Dyn entries[DYNAMIC_PIECE];
    for (size_t i = 0; i < count; i++) {
        const size_t at = i % DYNAMIC_PIECE,
                     bytes = (size_t)smaller(count - i, DYNAMIC_PIECE) * sizeof *entries;
        if (at == 0 && !elf_image_read(&object->image, offset + i * sizeof *entries, entries, bytes))
            return;
        if (entries[at].d_tag == DT_NULL)
            return;
        note_entry(object, &entries[at]);
    }
}

static bool read_hash_header(struct elf_dynamic *object)
{
    uint32_t header[4];
    if (!elf_image_read(&object->image, object->gnu_hash, header, sizeof header))
        return false;
    object->bucket_count = header[0];
    object->first_symbol = header[1];
    object->bloom_count = header[2];
    object->bloom_shift = header[3];
    return object->bucket_count != 0 && object->bloom_count != 0 && object->bloom_shift < 32;
}

bool elf_dynamic_open(struct elf_dynamic *object, uint64_t bias, uint64_t low, uint64_t high)
{
    *object = (struct elf_dynamic){
        .bias = bias, .image = {.fd = -1, .loaded_at = low, .size_bytes = high > low ? high - low : 0}};
    Elf64_Ehdr header;
    Elf64_Phdr segments[SEGMENTS_MAX];
    if (low == 0 || !elf_image_read(&object->image, 0, &header, sizeof header) ||
        !elf_header_is_ours(&header) || header.e_phentsize != sizeof *segments ||
        header.e_phnum > SEGMENTS_MAX ||
        !elf_image_read(&object->image, header.e_phoff, segments, header.e_phnum * sizeof *segments))
        return false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type == PT_DYNAMIC)
            read_dynamic(object, &segments[i]);
    }
    return object->symbols && object->strings && object->gnu_hash && read_hash_header(object);
}

/* ---- one name ---- */

static uint64_t buckets_at(const struct elf_dynamic *object)
{
    const uint64_t header_bytes = 4 * sizeof(uint32_t);
    return object->gnu_hash + header_bytes + object->bloom_count * sizeof(uint64_t);
}

/* Whether the filter allows a name of this hash. */
static bool may_have(const struct elf_dynamic *object, uint32_t hash)
{
    const uint64_t at = buckets_at(object) - object->bloom_count * sizeof(uint64_t);
    uint64_t word;
    return elf_image_read(&object->image, at + hash / WORD_BITS % object->bloom_count * sizeof word, &word,
                          sizeof word) &&
           (word >> hash % WORD_BITS & word >> (hash >> object->bloom_shift) % WORD_BITS & 1);
}

static bool is_named(const struct elf_dynamic *object, const Elf64_Sym *symbol, const char *name)
{
    char text[NAME_BYTES];
    const size_t bytes = strlen(name) + 1;
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && bytes <= sizeof text &&
           elf_image_read(&object->image, object->strings + symbol->st_name, text, bytes) &&
           memcmp(text, name, bytes) == 0;
}

static bool read_symbol(const struct elf_dynamic *object, uint32_t index, Elf64_Sym *ret)
{
    return elf_image_read(&object->image, object->symbols + index * sizeof *ret, ret, sizeof *ret);
}

size_t elf_dynamic_find_all(const struct elf_dynamic *object, const char *name, struct elf_symbol *ret,
                            size_t most)
{
    size_t count = 0;
    const uint32_t hash = elf_exports_hash(name);
    const uint64_t buckets = buckets_at(object), chains = buckets + object->bucket_count * sizeof hash;
    uint32_t index, entry = 0;
    Elf64_Sym symbol;
    if (!may_have(object, hash) ||
        !elf_image_read(&object->image, buckets + hash % object->bucket_count * sizeof index, &index,
                        sizeof index) ||
        index < object->first_symbol)
        return 0;
    for (uint32_t i = 0; i < CHAIN_MAX && !(entry & 1) && count < most; i++, index++) {
        const uint64_t at = chains + (uint64_t)(index - object->first_symbol) * sizeof entry;
        if (!elf_image_read(&object->image, at, &entry, sizeof entry))
            break;
        if ((entry | 1) != (hash | 1) || !read_symbol(object, index, &symbol) ||
            !is_named(object, &symbol, name))
            continue;
        ret[count++] =
            (struct elf_symbol){.address = object->bias + symbol.st_value, .bytes = symbol.st_size};
    }
    return count;
}
