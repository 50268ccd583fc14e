/*
 * Small ELF images by hand, for tests: the symbols that are asked for, in a file that is otherwise ordinary.
 *
 * Sections: 1 .text [0x1000,0x2000) and 2 .init [0x2000,0x2100), both code; 3 .data [0x3000,0x3100);
 * 4 .symtab, 5 .strtab, 6 .dynsym, 7 .dynstr, 8 .plt.sec [0x4000,0x4030), 9 .rela.plt, 10 .note.gnu.build-id,
 * 11 .shstrtab. One PT_NOTE segment. Sections without contents (the code but for .plt.sec) hold zeros.
 */
#ifndef WALLPROF_ELF_BUILDER_H
#define WALLPROF_ELF_BUILDER_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT = 1, INIT, DATA, SYMTAB, STRTAB, DYNSYM, DYNSTR, PLT, RELA, NOTE, SHSTRTAB, SECTION_COUNT };
enum { BUILT_BUILD_ID_BYTES = 20 };

struct built_symbol {
    const char *name;
    uint64_t value, size;
    unsigned char info; /* ELF64_ST_INFO */
    uint16_t section;
};

#define FUNC(binding)   ELF64_ST_INFO(STB_##binding, STT_FUNC)
#define NOTYPE(binding) ELF64_ST_INFO(STB_##binding, STT_NOTYPE)

struct built_elf {
    unsigned char *bytes; /* malloc'd at its exact size, so that a sanitizer sees reads after its end */
    size_t size;
};

Elf64_Ehdr *built_elf_header(const struct built_elf *elf);
Elf64_Shdr *built_elf_section(const struct built_elf *elf, int index);

/* Appends contents padded to 8 bytes and returns where they are. */
size_t built_elf_append(struct built_elf *elf, const void *contents, size_t bytes);

/* An image with these symbols in .symtab and those in .dynsym; the build-id is build_id_first,
 * 0xab, 0, 0... */
struct built_elf built_elf_create(const struct built_symbol *symbols, size_t count,
                                  const struct built_symbol *dynamic, size_t dynamic_count,
                                  unsigned char build_id_first);
void built_elf_destroy(struct built_elf *elf);

/* A file with these bytes that has a path for as long as the descriptor, which is returned, is open. */
int built_file_create(const void *bytes, size_t size, char path[static 64]);

#endif
