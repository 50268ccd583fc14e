#include "elf_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Elf64_Ehdr *built_elf_header(const struct built_elf *elf)
{
    return (Elf64_Ehdr *)elf->bytes;
}

Elf64_Shdr *built_elf_section(const struct built_elf *elf, int index)
{
    return (Elf64_Shdr *)(elf->bytes + built_elf_header(elf)->e_shoff) + index;
}

size_t built_elf_append(struct built_elf *elf, const void *contents, size_t bytes)
{
    size_t at = elf->size, padded = (bytes + 7) & ~(size_t)7;
    elf->bytes = realloc(elf->bytes, at + padded);
    if (!elf->bytes)
        abort();
    memset(elf->bytes + at, 0, padded);
    if (contents)
        memcpy(elf->bytes + at, contents, bytes);
    elf->size += padded;
    return at;
}

static void built_place(struct built_elf *elf, Elf64_Shdr *section, const void *contents, size_t bytes)
{
    section->sh_offset = built_elf_append(elf, contents, bytes);
    section->sh_size = bytes;
}

/* A symbol table and its strings; the first symbol is the empty one. */
static void built_symbols(struct built_elf *elf, Elf64_Shdr *table, Elf64_Shdr *strings,
                          const struct built_symbol *symbols, size_t count)
{
    size_t string_bytes = 1;
    for (size_t i = 0; i < count; i++)
        string_bytes += strlen(symbols[i].name) + 1;
    char *names = calloc(1, string_bytes), *name = names + 1;
    Elf64_Sym *entries = calloc(count + 1, sizeof *entries);
    if (!names || !entries)
        abort();
    for (size_t i = 0; i < count; i++) {
        entries[i + 1] = (Elf64_Sym){.st_name = (Elf64_Word)(name - names),
                                     .st_info = symbols[i].info,
                                     .st_shndx = symbols[i].section,
                                     .st_value = symbols[i].value,
                                     .st_size = symbols[i].size};
        name = stpcpy(name, symbols[i].name) + 1;
    }
    built_place(elf, table, entries, (count + 1) * sizeof *entries);
    built_place(elf, strings, names, string_bytes);
    free(names);
    free(entries);
}

/* Three trampolines, the way ld writes them with and without -z ibtplt, lld without;
 * their slots in another order. */
static void built_plt(struct built_elf *elf, Elf64_Shdr *plt, Elf64_Shdr *relocations)
{
    static const unsigned char code[] = {
        0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x15,
        0x10, 0,    0,    0x0f, 0x1f, 0x44, 0,    0, /* 0x400b+0x1015 */
        0xff, 0x25, 0x02, 0x10, 0,    0,    0x68, 0,
        0,    0,    0,    0xe9, 0,    0,    0,    0, /* 0x4016+0x1002 */
        0xff, 0x35, 0,    0,    0,    0,    0xff, 0x25,
        0,    0,    0,    0,    0x0f, 0x1f, 0x40, 0, /* not a trampoline */
    };
    const Elf64_Rela entries[] = {
        {.r_offset = 0x5020, .r_info = ELF64_R_INFO(1, R_X86_64_GLOB_DAT)},
        {.r_offset = 0x5018, .r_info = ELF64_R_INFO(2, R_X86_64_JUMP_SLOT)},
        {.r_offset = 0x5018, .r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT)},
    };
    built_place(elf, plt, code, sizeof code);
    built_place(elf, relocations, entries, sizeof entries);
}

static void built_note(struct built_elf *elf, Elf64_Shdr *section, unsigned char build_id_first)
{
    struct {
        Elf64_Nhdr header;
        char name[4];
        unsigned char id[BUILT_BUILD_ID_BYTES];
    } note = {{sizeof note.name, sizeof note.id, NT_GNU_BUILD_ID}, "GNU", {build_id_first, 0xab}};
    built_place(elf, section, &note, sizeof note);
}

static void built_name_sections(struct built_elf *elf, Elf64_Shdr *sections)
{
    static const char *const names[SECTION_COUNT] = {"",
                                                     ".text",
                                                     ".init",
                                                     ".data",
                                                     ".symtab",
                                                     ".strtab",
                                                     ".dynsym",
                                                     ".dynstr",
                                                     ".plt.sec",
                                                     ".rela.plt",
                                                     ".note.gnu.build-id",
                                                     ".shstrtab"};
    char strings[256] = "";
    size_t used = 0;
    for (int i = 0; i < SECTION_COUNT; i++) {
        sections[i].sh_name = (Elf64_Word)used;
        used += strlen(strcpy(strings + used, names[i])) + 1;
    }
    built_place(elf, &sections[SHSTRTAB], strings, used);
}

struct built_elf built_elf_create(const struct built_symbol *symbols, size_t count,
                                  const struct built_symbol *dynamic, size_t dynamic_count,
                                  unsigned char build_id_first)
{
    struct built_elf elf = {0};
    Elf64_Shdr sections[SECTION_COUNT] = {
        [TEXT] = {.sh_type = SHT_NOBITS,
                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                  .sh_addr = 0x1000,
                  .sh_size = 0x1000},
        [INIT] = {.sh_type = SHT_NOBITS,
                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                  .sh_addr = 0x2000,
                  .sh_size = 0x100},
        [DATA] = {.sh_type = SHT_NOBITS,
                  .sh_flags = SHF_ALLOC | SHF_WRITE,
                  .sh_addr = 0x3000,
                  .sh_size = 0x100},
        [SYMTAB] = {.sh_type = SHT_SYMTAB, .sh_link = STRTAB, .sh_entsize = sizeof(Elf64_Sym)},
        [STRTAB] = {.sh_type = SHT_STRTAB},
        [DYNSYM] = {.sh_type = SHT_DYNSYM, .sh_link = DYNSTR, .sh_entsize = sizeof(Elf64_Sym)},
        [DYNSTR] = {.sh_type = SHT_STRTAB},
        [PLT] = {.sh_type = SHT_PROGBITS,
                 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                 .sh_addr = 0x4000,
                 .sh_entsize = 16},
        [RELA] = {.sh_type = SHT_RELA, .sh_link = DYNSYM, .sh_entsize = sizeof(Elf64_Rela)},
        [NOTE] = {.sh_type = SHT_NOTE},
        [SHSTRTAB] = {.sh_type = SHT_STRTAB},
    };
    built_elf_append(&elf, NULL, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
    built_symbols(&elf, &sections[SYMTAB], &sections[STRTAB], symbols, count);
    built_symbols(&elf, &sections[DYNSYM], &sections[DYNSTR], dynamic, dynamic_count);
    built_plt(&elf, &sections[PLT], &sections[RELA]);
    built_note(&elf, &sections[NOTE], build_id_first);
    built_name_sections(&elf, sections);
    size_t headers = built_elf_append(&elf, sections, sizeof sections);
    *(Elf64_Phdr *)(elf.bytes + sizeof(Elf64_Ehdr)) = (Elf64_Phdr){
        .p_type = PT_NOTE, .p_offset = sections[NOTE].sh_offset, .p_filesz = sections[NOTE].sh_size};
    *built_elf_header(&elf) = (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
        .e_shoff = headers,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTION_COUNT,
        .e_shstrndx = SHSTRTAB};
    return elf;
}

void built_elf_destroy(struct built_elf *elf)
{
    free(elf->bytes);
    *elf = (struct built_elf){0};
}

int built_file_create(const void *bytes, size_t size, char path[static 64])
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}
