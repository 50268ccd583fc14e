/* Nothing that is read is believed beyond the caller's bounds: only an address inside becomes an offset. */
#include "elf_loaded.h"

#include "base/arena.h"

#include <errno.h>
#include <string.h>

enum {
    SEGMENTS_MAX = 256,
    DYNAMIC_MAX = 1024,   /* entries of the dynamic section that are read */
    CHAIN_MAX = 1 << 16,  /* symbols in the last chain of a hash table */
    PIECE_NUMBERS = 1024, /* numbers of a hash table that are read at once */
    SYMBOLS_MAX = 1 << 24,
};

/* Indexes of the sections that are made here; code and notes follow. */
enum { SECTION_SYMBOLS = 1, SECTION_STRINGS, SECTION_FIRST_SEGMENT };

struct loaded {
    struct elf_image *image;
    uint64_t load_bias, low, high;
    uint64_t symbols, strings, string_bytes, hash, gnu_hash; /* offsets in the image, 0 for none */
    size_t next_section;
};

/* The offset of an address; 0 if it is outside (at 0 is the ELF header, never a table). */
static uint64_t offset_of(const struct loaded *loaded, uint64_t elf_address)
{
    uint64_t address = elf_address + loaded->load_bias;
    return address >= loaded->low && address < loaded->high ? address - loaded->low : 0;
}

/* The same for a pointer of the dynamic section. glibc adds the load bias in place, other loaders do not. */
static uint64_t offset_of_pointer(const struct loaded *loaded, uint64_t pointer)
{
    return pointer >= loaded->low && pointer < loaded->high ? pointer - loaded->low
                                                            : offset_of(loaded, pointer);
}

/* ---- the dynamic section ---- */

static void note_dynamic(struct loaded *loaded, const Elf64_Dyn *entry)
{
    switch (entry->d_tag) {
    case DT_SYMTAB:
        loaded->symbols = offset_of_pointer(loaded, entry->d_un.d_ptr);
        break;
    case DT_STRTAB:
        loaded->strings = offset_of_pointer(loaded, entry->d_un.d_ptr);
        break;
    case DT_STRSZ:
        loaded->string_bytes = entry->d_un.d_val;
        break;
    case DT_HASH:
        loaded->hash = offset_of_pointer(loaded, entry->d_un.d_ptr);
        break;
    case DT_GNU_HASH:
        loaded->gnu_hash = offset_of_pointer(loaded, entry->d_un.d_ptr);
        break;
    default:
        break;
    }
}

static void read_dynamic(struct loaded *loaded, const Elf64_Phdr *segment)
{
    uint64_t offset = offset_of(loaded, segment->p_vaddr);
    Elf64_Dyn entry;
    for (size_t i = 0; offset && i < DYNAMIC_MAX && i < segment->p_memsz / sizeof entry; i++) {
        if (!elf_image_read(loaded->image, offset + i * sizeof entry, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            return;
        note_dynamic(loaded, &entry);
    }
}

/* ---- how many symbols ---- */

static bool read_word(const struct loaded *loaded, uint64_t offset, uint32_t *ret)
{
    return elf_image_read(loaded->image, offset, ret, sizeof *ret);
}

static uint32_t greatest_number(const struct loaded *loaded, uint64_t offset, uint32_t count)
{
    uint32_t piece[PIECE_NUMBERS], greatest = 0;
    for (uint32_t done = 0, now; done < count; done += now) {
        now = count - done < PIECE_NUMBERS ? count - done : PIECE_NUMBERS;
        if (!elf_image_read(loaded->image, offset + (uint64_t)done * sizeof *piece, piece,
                            now * sizeof *piece))
            return 0;
        for (uint32_t i = 0; i < now; i++)
            greatest = piece[i] > greatest ? piece[i] : greatest;
    }
    return greatest;
}

/* The last symbol is the end of the last chain. A bit of its hash says that it is an end. */
static uint64_t count_by_gnu_hash(const struct loaded *loaded)
{
    struct {
        uint32_t bucket_count, first_symbol, bloom_count, bloom_shift;
    } header;
    uint32_t hash = 0;
    if (!elf_image_read(loaded->image, loaded->gnu_hash, &header, sizeof header))
        return 0;
    uint64_t buckets = loaded->gnu_hash + sizeof header + (uint64_t)header.bloom_count * sizeof(uint64_t);
    uint64_t chains = buckets + (uint64_t)header.bucket_count * sizeof hash;
    uint64_t symbol = greatest_number(loaded, buckets, header.bucket_count);
    if (symbol < header.first_symbol)
        return header.first_symbol;
    for (uint32_t i = 0; i < CHAIN_MAX; i++, symbol++) {
        if (!read_word(loaded, chains + (symbol - header.first_symbol) * sizeof hash, &hash))
            return 0;
        if (hash & 1)
            return symbol + 1;
    }
    return 0;
}

static uint64_t count_symbols(const struct loaded *loaded)
{
    uint32_t chain_count;
    uint64_t count = 0;
    if (loaded->hash && read_word(loaded, loaded->hash + sizeof chain_count, &chain_count))
        count = chain_count;
    else if (loaded->gnu_hash)
        count = count_by_gnu_hash(loaded);
    return count < SYMBOLS_MAX ? count : 0;
}

/* ---- sections ---- */

static void add_section(struct loaded *loaded, const Elf64_Phdr *segment)
{
    Elf64_Shdr section = {.sh_addr = segment->p_vaddr, .sh_size = segment->p_memsz};
    if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
        section.sh_type = SHT_NOBITS;
        section.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    } else if (segment->p_type == PT_NOTE && offset_of(loaded, segment->p_vaddr)) {
        section.sh_type = SHT_NOTE;
        section.sh_offset = offset_of(loaded, segment->p_vaddr);
    } else {
        return;
    }
    loaded->image->sections[loaded->next_section++] = section;
}

static int read_segments(struct loaded *loaded)
{
    struct elf_image *image = loaded->image;
    const Elf64_Ehdr header = image->header;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!elf_image_read(image, header.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return -ENOEXEC;
        if (segment.p_type == PT_DYNAMIC)
            read_dynamic(loaded, &segment);
        add_section(loaded, &segment);
    }
    uint64_t count = count_symbols(loaded);
    if (!loaded->symbols || !loaded->strings || count == 0)
        return -ENOENT;
    image->sections[SECTION_SYMBOLS] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
                                                    .sh_offset = loaded->symbols,
                                                    .sh_size = count * sizeof(Elf64_Sym),
                                                    .sh_entsize = sizeof(Elf64_Sym),
                                                    .sh_link = SECTION_STRINGS};
    image->sections[SECTION_STRINGS] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = loaded->strings, .sh_size = loaded->string_bytes};
    return 0;
}

int elf_loaded_open(struct elf_image *image, uint64_t load_bias, uint64_t low, uint64_t high)
{
    struct loaded loaded = {.image = image,
                            .load_bias = load_bias,
                            .low = low,
                            .high = high,
                            .next_section = SECTION_FIRST_SEGMENT};
    *image = (struct elf_image){.fd = -1, .loaded_at = low, .size_bytes = high > low ? high - low : 0};
    if (low == 0 || !elf_image_read(image, 0, &image->header, sizeof image->header) ||
        !elf_header_is_ours(&image->header) || image->header.e_phentsize != sizeof(Elf64_Phdr) ||
        image->header.e_phnum > SEGMENTS_MAX)
        return -ENOEXEC;
    size_t count = SECTION_FIRST_SEGMENT + (size_t)image->header.e_phnum;
    image->sections = scratch_alloc(count * sizeof(Elf64_Shdr));
    if (!image->sections)
        return -ENOMEM;
    image->section_count = count;
    int status = read_segments(&loaded);
    /* Hides the file's sections, which are not loaded, and segments, whose offsets are those in the file. */
    image->header.e_phnum = image->header.e_shnum = image->header.e_shstrndx = 0;
    image->header.e_phoff = image->header.e_shoff = 0;
    if (status < 0)
        elf_image_deinit(image);
    return status;
}
