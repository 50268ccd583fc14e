/*
 * Only instructions that are certain are believed:
 *
 * - x86_64: an optional endbr64 and bnd prefix, then an indirect jump through a slot (System V psABI,
 *   procedure linkage table).
 * - aarch64: an optional bti c, adrp x16 and ldr x17 from the slot, up to br x17 (ELF for the Arm 64-bit
 *   Architecture, AAELF64, 5.7.3).
 *
 * Lazy entries, which only push their number, run once each. They and their common entry stay nameless.
 */
#include "elf_plt.h"

#include "base/arena.h"
#include "base/sort.h"

#include <string.h>

enum {
    PLT_SECTIONS_MAX = 8,
    RELOCATION_SECTIONS_MAX = 8,
    X86_64_ENTRY_MAX_BYTES = 16,
    TARGET_NAME_MAX_BYTES = 64 * 1024
};

/* A query inside a trampoline. Addresses are as in the file. */
struct trampoline {
    uint64_t slot;   /* that it jumps through */
    uint64_t start;  /* of its first instruction */
    uint32_t bytes;  /* its length */
    uint32_t symbol; /* index in .dynsym, 0 until the slot's relocation is found */
    size_t query;
};
_Static_assert(sizeof(struct trampoline) <= SORT_RECORD_MAX_BYTES, "sort_records moves whole records");

struct plt;

/* Finds the trampoline around an address of a section, and fills in all but its symbol and its query. */
typedef bool plt_find_fn(const struct plt *plt, const Elf64_Shdr *section, uint64_t address,
                         struct trampoline *ret);

struct plt {
    const struct elf_image *image;
    plt_find_fn *find;
    uint32_t relocation_types[2]; /* that slots have */
    const Elf64_Shdr *sections[PLT_SECTIONS_MAX];
    size_t section_count;
    struct trampoline *trampolines; /* sorted by slot once all are found */
    size_t count;
};

static bool is_plt_name(const char *name)
{
    return name &&
           (strcmp(name, ".plt") == 0 || strcmp(name, ".plt.sec") == 0 || strcmp(name, ".plt.got") == 0);
}

static void find_sections(struct plt *plt)
{
    const struct elf_image *image = plt->image;
    struct elf_bytes names = elf_section_load(image, elf_section_names(image));
    for (size_t i = 1; i < image->section_count && plt->section_count < PLT_SECTIONS_MAX; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        if ((section->sh_flags & SHF_EXECINSTR) && is_plt_name(elf_string(&names, section->sh_name)))
            plt->sections[plt->section_count++] = section;
    }
    elf_bytes_free(&names);
}

static const Elf64_Shdr *section_of(const struct plt *plt, uint64_t address)
{
    for (size_t i = 0; i < plt->section_count; i++) {
        const Elf64_Shdr *section = plt->sections[i];
        if (address >= section->sh_addr &&
            address - section->sh_addr < elf_section_bytes(plt->image, section))
            return section;
    }
    return NULL;
}

/* The displacement of the jump, relative to the entry's start; 0 when the entry is of another kind. */
static int64_t jump_displacement(const unsigned char *entry, size_t bytes)
{
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t at = bytes > sizeof endbr64 && memcmp(entry, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    int32_t displacement;
    if (entry[at] == 0xf2)
        at++;
    if (at + 2 + sizeof displacement > bytes || entry[at] != 0xff || entry[at + 1] != 0x25)
        return 0;
    memcpy(&displacement, entry + at + 2, sizeof displacement);
    return (int64_t)(at + 2 + sizeof displacement) + displacement;
}

static bool find_x86_64(const struct plt *plt, const Elf64_Shdr *section, uint64_t address,
                        struct trampoline *ret)
{
    size_t bytes = section->sh_entsize == X86_64_ENTRY_MAX_BYTES / 2 ? X86_64_ENTRY_MAX_BYTES / 2
                                                                     : X86_64_ENTRY_MAX_BYTES;
    uint64_t offset = (address - section->sh_addr) / bytes * bytes;
    unsigned char entry[X86_64_ENTRY_MAX_BYTES];
    if (!elf_image_read(plt->image, section->sh_offset + offset, entry, bytes))
        return false;
    int64_t displacement = jump_displacement(entry, bytes);
    uint64_t start = section->sh_addr + offset;
    *ret =
        (struct trampoline){.slot = start + (uint64_t)displacement, .start = start, .bytes = (uint32_t)bytes};
    return displacement != 0;
}

/* Instructions of aarch64 (Arm Architecture Reference Manual, C6.2). Masks leave out what varies. */
enum {
    ARM_INSTRUCTION_BYTES = 4,
    ARM_ENTRY_MAX = 6, /* instructions */
};
static const uint32_t arm_bti_c = 0xd503245f, arm_br_x17 = 0xd61f0220, arm_push = 0xa9bf7bf0;

/* The instruction at an address, 0 outside of the section. */
static uint32_t arm_instruction(const struct plt *plt, const Elf64_Shdr *section, uint64_t address)
{
    uint64_t offset = address - section->sh_addr;
    uint32_t word;
    if (offset >= elf_section_bytes(plt->image, section) ||
        !elf_image_read(plt->image, section->sh_offset + offset, &word, sizeof word))
        return 0;
    return word;
}

static bool arm_is_adrp_x16(uint32_t word)
{
    return (word & 0x9f00001f) == 0x90000010;
}

static bool arm_is_ldr_x17(uint32_t word)
{
    return (word & 0xffc003ff) == 0xf9400211; /* ldr x17, [x16, #8 * n] */
}

/* The address that adrp and ldr add up to. */
static uint64_t arm_slot(uint64_t adrp_address, uint32_t adrp, uint32_t ldr)
{
    const int page_bits = 12, immediate_bits = 21;
    uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    pages -= (pages >> (immediate_bits - 1)) << immediate_bits; /* the top bit is the sign */
    return (adrp_address >> page_bits << page_bits) + (pages << page_bits) + (ldr >> 10 & 0xfff) * 8;
}

static bool find_aarch64(const struct plt *plt, const Elf64_Shdr *section, uint64_t address,
                         struct trampoline *ret)
{
    uint64_t at = address / ARM_INSTRUCTION_BYTES * ARM_INSTRUCTION_BYTES;
    if (arm_instruction(plt, section, at) == arm_bti_c)
        at += ARM_INSTRUCTION_BYTES;
    for (int i = 1; i < ARM_ENTRY_MAX && !arm_is_adrp_x16(arm_instruction(plt, section, at)); i++)
        at -= ARM_INSTRUCTION_BYTES;
    uint32_t adrp = arm_instruction(plt, section, at),
             ldr = arm_instruction(plt, section, at + ARM_INSTRUCTION_BYTES),
             before = arm_instruction(plt, section, at - ARM_INSTRUCTION_BYTES);
    if (!arm_is_adrp_x16(adrp) || !arm_is_ldr_x17(ldr) || before == arm_push)
        return false;
    ret->slot = arm_slot(at, adrp, ldr);
    ret->start = before == arm_bti_c ? at - ARM_INSTRUCTION_BYTES : at;
    uint64_t last = at;
    while (last < ret->start + ARM_ENTRY_MAX * ARM_INSTRUCTION_BYTES &&
           arm_instruction(plt, section, last) != arm_br_x17)
        last += ARM_INSTRUCTION_BYTES;
    ret->bytes = (uint32_t)(last + ARM_INSTRUCTION_BYTES - ret->start);
    return address < ret->start + ret->bytes && arm_instruction(plt, section, last) == arm_br_x17;
}

static void find_trampoline(struct plt *plt, uint64_t address, size_t query)
{
    const Elf64_Shdr *section = section_of(plt, address);
    struct trampoline found = {.symbol = 0};
    if (!section || !plt->find(plt, section, address, &found))
        return;
    found.query = query;
    plt->trampolines[plt->count++] = found;
}

/* Several queries can lie in trampolines that jump through one slot. */
static void visit_relocation(void *context, const void *entry)
{
    struct plt *plt = context;
    const Elf64_Rela *relocation = entry;
    uint32_t type = ELF64_R_TYPE(relocation->r_info), symbol = ELF64_R_SYM(relocation->r_info);
    if (symbol == 0 || (type != plt->relocation_types[0] && type != plt->relocation_types[1]))
        return;
    size_t i = sort_find_first(plt->trampolines, plt->count, sizeof *plt->trampolines, relocation->r_offset);
    for (; i < plt->count && plt->trampolines[i].slot == relocation->r_offset; i++) {
        if (plt->trampolines[i].symbol)
            break; /* the first relocation of a slot counts: a table of equal ones costs no more */
        plt->trampolines[i].symbol = symbol;
    }
}

static void find_slot_symbols(struct plt *plt, const Elf64_Shdr *dynsym)
{
    size_t looked_at = 0;
    for (size_t i = 1; i < plt->image->section_count && looked_at < RELOCATION_SECTIONS_MAX; i++) {
        const Elf64_Shdr *section = &plt->image->sections[i];
        if (section->sh_type != SHT_RELA || section->sh_link >= plt->image->section_count ||
            &plt->image->sections[section->sh_link] != dynsym)
            continue;
        looked_at++;
        elf_table_visit(plt->image, section, sizeof(Elf64_Rela), visit_relocation, plt);
    }
}

static void name_trampoline(const struct plt *plt, const struct trampoline *trampoline,
                            const Elf64_Shdr *dynsym, const struct elf_bytes *strings,
                            struct string_pool *names, struct elf_query *query)
{
    Elf64_Sym symbol;
    uint64_t offset = (uint64_t)trampoline->symbol * sizeof symbol;
    if (trampoline->symbol == 0 || elf_section_bytes(plt->image, dynsym) < offset + sizeof symbol ||
        !elf_image_read(plt->image, dynsym->sh_offset + offset, &symbol, sizeof symbol))
        return;
    const char *target = elf_string(strings, symbol.st_name);
    size_t bytes = target ? strnlen(target, TARGET_NAME_MAX_BYTES + 1) : 0;
    if (bytes == 0 || bytes > TARGET_NAME_MAX_BYTES)
        return;
    query->name = string_pool_join(names, target, bytes, "@plt");
    query->symbol_address = trampoline->start;
    query->symbol_bytes = trampoline->bytes;
}

static void name_trampolines(struct plt *plt, struct string_pool *names, struct elf_query *queries)
{
    const Elf64_Shdr *dynsym = elf_section_of_type(plt->image, SHT_DYNSYM, sizeof(Elf64_Sym));
    if (!dynsym)
        return;
    sort_records(plt->trampolines, plt->count, sizeof *plt->trampolines, sort_compare_numbers);
    find_slot_symbols(plt, dynsym);
    struct elf_bytes strings = elf_section_load(plt->image, elf_section_strings(plt->image, dynsym));
    for (size_t i = 0; i < plt->count; i++) {
        const struct trampoline *trampoline = &plt->trampolines[i];
        name_trampoline(plt, trampoline, dynsym, &strings, names, &queries[trampoline->query]);
    }
    elf_bytes_free(&strings);
}

static bool choose_machine(struct plt *plt)
{
    if (plt->image->header.e_machine == EM_X86_64) {
        plt->find = find_x86_64;
        plt->relocation_types[0] = R_X86_64_JUMP_SLOT;
        plt->relocation_types[1] = R_X86_64_GLOB_DAT;
    } else if (plt->image->header.e_machine == EM_AARCH64) {
        plt->find = find_aarch64;
        plt->relocation_types[0] = R_AARCH64_JUMP_SLOT;
        plt->relocation_types[1] = R_AARCH64_GLOB_DAT;
    }
    return plt->find != NULL;
}

void elf_plt_name(const struct elf_image *image, struct string_pool *names, struct elf_query *queries,
                  size_t count)
{
    struct plt plt = {.image = image};
    if (!choose_machine(&plt))
        return;
    find_sections(&plt);
    const size_t bytes = count * sizeof *plt.trampolines;
    plt.trampolines = plt.section_count > 0 ? scratch_alloc(bytes) : NULL;
    for (size_t i = 0; plt.trampolines && i < count; i++) {
        if (!queries[i].name)
            find_trampoline(&plt, queries[i].elf_address, i);
    }
    if (plt.count > 0)
        name_trampolines(&plt, names, queries);
    scratch_free(plt.trampolines, bytes);
}
