/*
 * What is loaded tells the same names as the file it was loaded from, and an image in memory that nobody
 * loaded, however broken, does no harm.
 */
/* test: not-emulated */
#include "lib/unit.h"
#include "elf/elf_loaded.h"
#include "elf/elf.h"
#include "lib/elf_builder.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int setup(void **state)
{
    static struct string_pool names;
    *state = &names;
    return 0;
}

static int teardown(void **state)
{
    string_pool_deinit(*state);
    return 0;
}

/* ---- the C library ---- */

struct object {
    uint64_t bias, low, high, code_start, code_end;
    char path[PATH_MAX];
    uint8_t build_id[64];
    size_t build_id_bytes;
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
    struct object *libc = data;
    (void)size;
    if (!strstr(info->dlpi_name, "/libc.so"))
        return 0;
    *libc = (struct object){.bias = info->dlpi_addr, .low = UINT64_MAX};
    snprintf(libc->path, sizeof libc->path, "%s", info->dlpi_name);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type == PT_NOTE && libc->build_id_bytes == 0)
            libc->build_id_bytes = elf_build_id_in_notes((const void *)(uintptr_t)start, segment->p_memsz,
                                                         libc->build_id, sizeof libc->build_id);
        if (segment->p_type != PT_LOAD)
            continue;
        libc->low = start < libc->low ? start : libc->low;
        libc->high = end > libc->high ? end : libc->high;
        if (segment->p_flags & PF_X) {
            libc->code_start = start;
            libc->code_end = end;
        }
    }
    return 1;
}

static void the_c_library_in_memory_has_the_names_of_its_file(void **state)
{
    enum { STEP_BYTES = 32 };
    struct object libc = {0};
    struct elf_image image;
    dl_iterate_phdr(find_libc, &libc);
    size_t count = (libc.code_end - libc.code_start) / STEP_BYTES, found = 0, exported = 0;
    struct elf_query *loaded = calloc(count, sizeof *loaded), *file = calloc(count, sizeof *file);
    for (size_t i = 0; i < count; i++)
        loaded[i].elf_address = file[i].elf_address = libc.code_start - libc.bias + i * STEP_BYTES;
    assert_int_equal(elf_loaded_open(&image, libc.bias, libc.low, libc.high), 0);
    if (libc.build_id_bytes)
        assert_true(elf_image_has_build_id(&image, libc.build_id, libc.build_id_bytes));
    libc.build_id[0] ^= 1;
    assert_false(elf_image_has_build_id(&image, libc.build_id, 20));
    assert_true(elf_name_from_image(*state, &image, loaded, count) > 0);
    elf_image_deinit(&image);
    assert_true(elf_name_addresses(*state, libc.path, NULL, 0, file, count) > 0);
    for (size_t i = 0; i < count; i++) {
        exported += file[i].name && file[i].symbol_bytes > 0 && !strstr(file[i].name, "@plt");
        if (!loaded[i].name)
            continue;
        found++;
        assert_int_equal(loaded[i].symbol_address, file[i].symbol_address);
        assert_string_equal(loaded[i].name, file[i].name);
    }
    print_message("%zu of %zu addresses in functions\n", found, exported);
    assert_true(found > 1000);
    assert_true(found <= exported);
    free(loaded);
    free(file);
}

/* ---- objects by hand ---- */

enum { BLOCK_BYTES = 0x4000, BIAS_LESS = 0x10000, SYMBOLS = 5 };

/* At their addresses less BIAS_LESS, the address of the object's start in the file. */
struct object_block {
    Elf64_Ehdr header;
    Elf64_Phdr segments[4];
    Elf64_Dyn dynamic[8];
    uint32_t hash[2];
    struct {
        uint32_t bucket_count, first_symbol, bloom_count, bloom_shift;
        uint64_t bloom[2];
        uint32_t buckets[3], chains[4];
    } gnu_hash;
    Elf64_Sym symbols[SYMBOLS + 1];
    char strings[64];
    struct {
        Elf64_Nhdr header;
        char name[4];
        unsigned char id[4];
    } note;
};

#define PLACE(field) (BIAS_LESS + offsetof(struct object_block, field))

static Elf64_Sym make_function(Elf64_Word name, uint64_t value, uint64_t size, uint16_t section)
{
    return (Elf64_Sym){.st_name = name,
                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                       .st_shndx = section,
                       .st_value = value,
                       .st_size = size};
}

/* Symbols 1 to 4 count; the fifth is nearer to everything but after the end of the table. */
static struct object_block *block_create(uint64_t added_to_pointers)
{
    struct object_block *block =
        mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(block, MAP_FAILED);
    memcpy(block->header.e_ident, ELFMAG, SELFMAG);
    block->header.e_ident[EI_CLASS] = ELFCLASS64;
    block->header.e_ident[EI_DATA] = ELFDATA2LSB;
    block->header.e_machine = EM_X86_64;
    block->header.e_phoff = offsetof(struct object_block, segments);
    block->header.e_phentsize = sizeof(Elf64_Phdr);
    block->header.e_phnum = COUNT(block->segments);
    block->header.e_shoff = 0x1000; /* where no section headers are, as in every loaded object */
    block->header.e_shnum = 40;
    block->header.e_shentsize = sizeof(Elf64_Shdr);
    block->segments[0] =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = BIAS_LESS, .p_memsz = 0x1000};
    block->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                      .p_flags = PF_R | PF_X,
                                      .p_vaddr = BIAS_LESS + 0x1000,
                                      .p_memsz = 0x1000,
                                      .p_offset = 77};
    block->segments[2] =
        (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = PLACE(dynamic), .p_memsz = sizeof block->dynamic};
    block->segments[3] = (Elf64_Phdr){
        .p_type = PT_NOTE, .p_vaddr = PLACE(note), .p_offset = 88, .p_memsz = sizeof block->note};
    block->dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {PLACE(symbols) + added_to_pointers}};
    block->dynamic[1] = (Elf64_Dyn){DT_STRTAB, {PLACE(strings) + added_to_pointers}};
    block->dynamic[2] = (Elf64_Dyn){DT_STRSZ, {sizeof block->strings}};
    block->dynamic[3] = (Elf64_Dyn){DT_GNU_HASH, {PLACE(gnu_hash) + added_to_pointers}};
    block->hash[1] = SYMBOLS;
    block->gnu_hash.bucket_count = 3;
    block->gnu_hash.first_symbol = 2;
    block->gnu_hash.bloom_count = 2;
    memcpy(block->gnu_hash.buckets, (const uint32_t[]){2, 0, 3}, sizeof block->gnu_hash.buckets);
    memcpy(block->gnu_hash.chains, (const uint32_t[]){0x11, 0x20, 0x31}, 3 * sizeof(uint32_t));
    memcpy(block->strings, "\0import\0first\0second\0label\0behind", 34);
    block->symbols[1] = make_function(1, 0, 0, SHN_UNDEF);
    block->symbols[2] =
        make_function(8, BIAS_LESS + 0x1000, 0x100, 12); /* a section that the image has not */
    block->symbols[3] = make_function(14, BIAS_LESS + 0x1800, 0x10000, 1); /* reaches beyond its segment */
    block->symbols[4] = make_function(21, BIAS_LESS + 0x1200, 0, 12);
    block->symbols[5] = make_function(27, BIAS_LESS + 0x1080, 0x100, 12);
    block->note.header = (Elf64_Nhdr){4, sizeof block->note.id, NT_GNU_BUILD_ID};
    memcpy(block->note.name, "GNU", 4);
    memcpy(block->note.id, "\1\2\3\4", 4);
    return block;
}

static int open_block(struct elf_image *image, const struct object_block *block)
{
    return elf_loaded_open(image, (uintptr_t)block - BIAS_LESS, (uintptr_t)block,
                           (uintptr_t)block + BLOCK_BYTES);
}

static const uint64_t offsets[] = {0xfff, 0x1000, 0x10ff, 0x1100, 0x1200, 0x1300, 0x1800, 0x1fff, 0x2000};

static void assert_names(struct string_pool *names, const struct object_block *block, const char *at_10ff,
                         const char *at_1100)
{
    const char *expected[] = {NULL, "first", at_10ff, at_1100, NULL, NULL, "second", "second", NULL};
    struct elf_query queries[COUNT(offsets)] = {0};
    struct elf_image image;
    for (size_t i = 0; i < COUNT(offsets); i++)
        queries[i].elf_address = BIAS_LESS + offsets[i];
    assert_int_equal(open_block(&image, block), 0);
    elf_name_from_image(names, &image, queries, COUNT(offsets));
    assert_true(elf_image_has_build_id(&image, (const uint8_t *)"\1\2\3\4", 4));
    assert_false(elf_image_has_build_id(&image, (const uint8_t *)"\1\2\3\5", 4));
    elf_image_deinit(&image);
    for (size_t i = 0; i < COUNT(offsets); i++) {
        if (expected[i])
            assert_string_equal(queries[i].name, expected[i]);
        else
            assert_null(queries[i].name);
    }
}

static void the_hash_table_tells_how_many_symbols_there_are(void **state)
{
    struct object_block *block = block_create(0);
    assert_names(*state, block, "first", NULL);
    block->gnu_hash.chains[2] = 0x30; /* the chain goes on: one symbol more */
    block->gnu_hash.chains[3] = 0x41;
    assert_names(*state, block, "behind", "behind");
    block->dynamic[4] =
        (Elf64_Dyn){DT_HASH, {PLACE(hash)}}; /* which is read in one step, so it is preferred */
    assert_names(*state, block, "first", NULL);
    block->hash[1]++;
    assert_names(*state, block, "behind", "behind");
    munmap(block, BLOCK_BYTES);
}

static void pointers_are_understood_relocated_or_not(void **state)
{
    struct object_block *block = block_create(0);
    for (int i = 0; i < 4; i++) {
        if (block->dynamic[i].d_tag != DT_STRSZ)
            block->dynamic[i].d_un.d_ptr += (uintptr_t)block - BIAS_LESS; /* as glibc does it */
    }
    assert_names(*state, block, "first", NULL);
    munmap(block, BLOCK_BYTES);
}

static void assert_refused(const struct object_block *block, int expected)
{
    struct elf_image image;
    assert_int_equal(open_block(&image, block), expected);
}

static void what_is_no_loaded_object_is_refused(void **state)
{
    struct object_block *block = block_create(0);
    struct elf_image image;
    block->gnu_hash.chains[2] = 0;
    block->gnu_hash.chains[1] = 0;
    memset(&block->symbols[1], 0, sizeof block->symbols - sizeof block->symbols[1]);
    memset(block->strings, 0, sizeof block->strings);
    memset(&block->note, 0, sizeof block->note);
    assert_refused(block, -ENOENT); /* no chain ends before the object does */
    block->gnu_hash.bucket_count = UINT32_MAX;
    block->gnu_hash.first_symbol = UINT32_MAX;
    assert_refused(block, -ENOENT);
    block->dynamic[0].d_un.d_ptr = 1;
    assert_refused(block, -ENOENT);
    block->segments[2].p_vaddr = UINT64_MAX - 8;
    assert_refused(block, -ENOENT);
    block->header.e_phoff = UINT64_MAX - 16;
    assert_refused(block, -ENOEXEC);
    block->header.e_phoff = BLOCK_BYTES - 8;
    assert_refused(block, -ENOEXEC);
    block->header.e_phnum = UINT16_MAX;
    assert_refused(block, -ENOEXEC);
    memset(block->header.e_ident, 0, EI_NIDENT);
    assert_refused(block, -ENOEXEC);
    munmap(block, BLOCK_BYTES);
    assert_refused(block, -ENOEXEC); /* unloaded meanwhile */
    assert_int_equal(elf_loaded_open(&image, 0, 0, 0), -ENOEXEC);
    assert_int_equal(elf_loaded_open(&image, 0, 4096, 0), -ENOEXEC);
}

/* What follows the block is not mapped: reading there fails, and a bound that is not kept is seen. */
static void mutations_are_survived(void **state)
{
    enum { MUTATIONS = 20000 };
    struct object_block *block = block_create(0), *good = block_create(0);
    uint64_t random = 99;
    for (int i = 0; i < MUTATIONS; i++) {
        struct elf_query queries[COUNT(offsets)] = {0};
        struct elf_image image;
        memcpy(block, good, sizeof *block);
        for (int change = 0; change < 1 + i % 4; change++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t at = EI_NIDENT + random % (sizeof *block - EI_NIDENT);
            ((unsigned char *)block)[at] = (unsigned char)(random >> 40 & 1 ? 0xff : random >> 32);
        }
        for (size_t query = 0; query < COUNT(offsets); query++)
            queries[query].elf_address = BIAS_LESS + offsets[query];
        if (open_block(&image, block) < 0)
            continue;
        elf_name_from_image(*state, &image, queries, COUNT(offsets));
        elf_image_deinit(&image);
    }
    munmap(block, BLOCK_BYTES);
    munmap(good, BLOCK_BYTES);
}

#define LOADED_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOADED_TEST(the_c_library_in_memory_has_the_names_of_its_file),
        LOADED_TEST(the_hash_table_tells_how_many_symbols_there_are),
        LOADED_TEST(pointers_are_understood_relocated_or_not),
        LOADED_TEST(what_is_no_loaded_object_is_refused),
        LOADED_TEST(mutations_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
