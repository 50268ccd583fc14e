/*
 * The tool's reader of debug information on hostile files: every address has a row, chains are bounded,
 * strings end, and the same comes out of bytes as went in. libdw is not under test, but what is taken from it
 * is; and names go through the demanglers.
 *
 * Input: byte 0 selects sections (0, 1), a raw image (2), or a table as name_cache.h reads it (3). Of
 * sections: the number of addresses and their distances, 16 bits each; then sections, each by its number, the
 * length of its contents in 16 bits, the contents. A table has its checksum put right.
 */
#include "fuzz.h"
#include "base/hash.h"
#include "lib/elf_builder.h"
#include "tool/debug/debug_info.h"
#include "tool/debug/demangle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INPUT_MAX_BYTES = 32 * 1024,
    IMAGE_MAX_BYTES = 64 * 1024,
    ADDRESSES_MAX = 16,
    SECTIONS_MAX = 16,
    CHECKSUM_AT = 8, /* in a table, after its magic number, */
    CHECKED_FROM = 16
};

static const char *const section_names[] = {".debug_info",   ".debug_abbrev",   ".debug_line",
                                            ".debug_str",    ".debug_line_str", ".debug_rnglists",
                                            ".debug_ranges", ".debug_types",    ".debug_str_offsets",
                                            ".debug_addr",   ".gnu_debugdata",  ".gnu_debuglink"};

enum { SECTION_NAMES = sizeof section_names / sizeof *section_names };

static uint8_t image[IMAGE_MAX_BYTES];
static char path[64];
static int file = -1;

/* libdw 0.188 forgets the name of a debug file that it has looked for (find_debuginfo_in_path); unit tests
 * look for leaks of ours. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

/* ---- images ---- */

/* A program header for 64 KiB of code at 0x1000, the sections, their names and headers. */
static size_t build_image(struct fuzz_input *input)
{
    Elf64_Shdr sections[SECTIONS_MAX + 2] = {{0}};
    char names[SECTIONS_MAX * 24] = "\0.shstrtab";
    size_t at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), names_bytes = 11, count = 1;
    while (input->at < input->end && count <= SECTIONS_MAX) {
        const char *name = section_names[take_u8(input) % SECTION_NAMES];
        size_t bytes = take_fixed(input, 2), left = (size_t)(input->end - input->at);
        bytes = bytes < left ? bytes : left;
        sections[count++] = (Elf64_Shdr){.sh_name = (Elf64_Word)names_bytes,
                                         .sh_type = SHT_PROGBITS,
                                         .sh_offset = at,
                                         .sh_size = bytes,
                                         .sh_addralign = 1};
        memcpy(image + at, input->at, bytes);
        strcpy(names + names_bytes, name);
        names_bytes += strlen(name) + 1;
        at += bytes;
        input->at += bytes;
    }
    sections[count++] = (Elf64_Shdr){
        .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = names_bytes, .sh_addralign = 1};
    memcpy(image + at, names, names_bytes);
    at = (at + names_bytes + 7) & ~(size_t)7;
    memcpy(image + at, sections, count * sizeof *sections);
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof header,
                         .e_shoff = at,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 1,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = (Elf64_Half)count,
                         .e_shstrndx = (Elf64_Half)(count - 1)};
    Elf64_Phdr segment = {.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_X,
                          .p_vaddr = 0x1000,
                          .p_filesz = 0,
                          .p_memsz = 0x10000,
                          .p_align = 0x1000};
    memcpy(image, &header, sizeof header);
    memcpy(image + sizeof header, &segment, sizeof segment);
    return at + count * sizeof *sections;
}

/* ---- the promises ---- */

static void check_string(const struct frame_table *table, uint32_t string)
{
    static char text[DEMANGLED_MAX_BYTES];
    FUZZ_ASSERT(string == 0 || string < table->strings.text_used);
    const char *found = frame_table_text(table, string);
    FUZZ_ASSERT(strlen(found) <= table->strings.text_used);
    size_t bytes = demangle(found, text);
    FUZZ_ASSERT(bytes < sizeof text && (bytes == 0 || text[bytes] == '\0'));
}

static void check_table(const struct frame_table *table)
{
    for (size_t i = 0; i < table->row_count; i++) {
        const struct frame_row *row = &table->rows[i];
        FUZZ_ASSERT(row->frame_count <= FRAMES_PER_ADDRESS_MAX && row->first_frame <= table->frame_count);
        FUZZ_ASSERT(row->frame_count <= table->frame_count - row->first_frame);
        FUZZ_ASSERT(frame_table_find(table, row->address) == row);
    }
    for (size_t i = 0; i < table->frame_count; i++) {
        check_string(table, table->frames[i].system_name);
        check_string(table, table->frames[i].file);
    }
}

static void check_bytes(const struct frame_table *table)
{
    struct frame_table again;
    static const uint8_t key[] = {1, 2, 3, 4};
    size_t count;
    const size_t key_bytes[] = {sizeof key, 3, sizeof key},
                 cuts[] = {0, 0, 1}; /* only the first ones are right */
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        unsigned char *bytes = frame_table_encode(table, key, sizeof key, &count);
        FUZZ_ASSERT(bytes);
        int error = frame_table_decode(&again, bytes, count - cuts[i], key, key_bytes[i]);
        FUZZ_ASSERT(error == (i == 0 ? 0 : -EBADMSG));
        FUZZ_ASSERT(i > 0 ||
                    (again.row_count == table->row_count && again.frame_count == table->frame_count));
        frame_table_free(&again);
    }
    struct frame_table nothing = {0}, merged = frame_table_merge(table, &nothing, false);
    FUZZ_ASSERT(merged.row_count == table->row_count && merged.frame_count == table->frame_count);
    frame_table_free(&merged);
}

static void check_image(size_t bytes, const uint64_t *addresses, size_t count, bool is_known)
{
    struct frame_table table;
    struct debug_module module = {.path = path, .is_known = is_known};
    FUZZ_ASSERT(ftruncate(file, 0) == 0 && pwrite(file, image, bytes, 0) == (ssize_t)bytes);
    int status = debug_info_read(&module, addresses, count, &table);
    FUZZ_ASSERT(status <= 0 && status >= -4095);
    FUZZ_ASSERT(status == 0 || table.row_count == 0);
    for (size_t i = 0; status == 0 && i < count; i++)
        FUZZ_ASSERT(frame_table_find(&table, addresses[i]));
    check_table(&table);
    check_bytes(&table);
    frame_table_free(&table);
}

static void check_table_bytes(struct fuzz_input *input)
{
    struct frame_table table;
    size_t count = (size_t)(input->end - input->at);
    unsigned char *bytes = malloc(count + 1); /* at its exact end, but never of no size */
    FUZZ_ASSERT(bytes);
    memcpy(bytes, input->at, count);
    if (count > CHECKED_FROM) {
        uint64_t checksum = hash_words(hash_of_nothing, bytes + CHECKED_FROM, count - CHECKED_FROM);
        memcpy(bytes + CHECKSUM_AT, &checksum, sizeof checksum);
    }
    if (frame_table_decode(&table, bytes, count, NULL, 0) == 0)
        check_table(&table);
    frame_table_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, data + size};
    uint64_t addresses[ADDRESSES_MAX], address = 0xfff;
    if (file < 0) {
        file = built_file_create("", 0, path);
        setenv("DEBUGINFOD_URLS", "", 1);
    }
    if (size > INPUT_MAX_BYTES)
        return 0;
    uint8_t mode = take_u8(&input) % 4;
    if (mode == 3) {
        check_table_bytes(&input);
        return 0;
    }
    const uint8_t number = take_u8(&input);
    size_t count = 1 + number % ADDRESSES_MAX, bytes = 0;
    for (size_t i = 0; i < count; i++)
        addresses[i] = address += 1 + take_fixed(&input, 2);
    if (mode == 2) {
        bytes = (size_t)(input.end - input.at);
        if (bytes > 0)
            memcpy(image, input.at, bytes);
    } else {
        bytes = build_image(&input);
    }
    check_image(bytes, addresses, count, number >= 128);
    return 0;
}
