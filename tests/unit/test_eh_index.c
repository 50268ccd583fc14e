/*
 * Search tables of our own: with one, every rule is the same as by the module's .eh_frame_hdr; and whatever
 * stands in .eh_frame, the table is sorted and leads to what is there.
 */
/* test: not-emulated */
#include "lib/unit.h"
#include "modules/eh_index.h"
#include "base/random.h"
#include "sig/cfi/sig_cfi.h"
#include "sig/cfi/sig_eh_frame.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 3000 };

static struct arena arena;
static struct modules modules;

static int setup(void **state)
{
    return arena_init(&arena, 64 << 20) < 0 || modules_init(&modules, &arena) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    modules_deinit(&modules);
    arena_deinit(&arena);
    return 0;
}

static struct sig_module view_of(const struct module *module)
{
    return (struct sig_module){.start_pc = module->start_pc,
                               .end_pc = module->end_pc,
                               .eh_frame_hdr = module->eh_frame_hdr,
                               .cfi_low = module->cfi_low,
                               .cfi_high = module->cfi_high,
                               .search = module->search ? arena_at(&arena, module->search) : NULL,
                               .search_count = module->search_count,
                               .search_base = module->search_base};
}

/* At every seventh address of the module, or of its first 64 KiB. */
static void assert_same_rules(const struct module *module, const struct module *original)
{
    struct sig_module ours = view_of(module), theirs = view_of(original);
    uint64_t end =
        original->end_pc < original->start_pc + 0x10000 ? original->end_pc : original->start_pc + 0x10000;
    int found = 0;
    for (uint64_t pc = original->start_pc; pc < end; pc += 7) {
        struct sig_cie cie, expected_cie;
        struct sig_fde fde, expected_fde;
        bool is_known = sig_eh_frame_find(&theirs, pc, false, &expected_cie, &expected_fde);
        assert_int_equal(sig_eh_frame_find(&ours, pc, false, &cie, &fde), is_known);
        if (!is_known)
            continue;
        found++;
        assert_int_equal(fde.start_pc, expected_fde.start_pc);
        assert_int_equal(fde.end_pc, expected_fde.end_pc);
        assert_int_equal(fde.instructions, expected_fde.instructions);
        assert_int_equal(cie.instructions, expected_cie.instructions);
        assert_int_equal(sig_eh_frame_function_start(&ours, pc), expected_fde.start_pc);
    }
    assert_true(found > 0);
}

/* What the module would be if it had been linked with --no-eh-frame-hdr. */
static struct module without_header(const struct module *module)
{
    struct module bare = *module;
    bare.eh_frame_hdr = bare.cfi_low = bare.cfi_high = 0;
    return bare;
}

static void a_module_without_header_is_found_in_its_file(void **state)
{
    int tried = 0;
    for (arena_ref ref = modules.list.newest; ref;) {
        const struct module *module = arena_at(&arena, ref);
        const char *path = arena_at(&arena, module->path);
        if (path[0] == '/' && module->eh_frame_hdr) {
            struct module bare = without_header(module);
            eh_index_build(&arena, arena_at(&arena, bare.path), &bare);
            if (!bare.search)
                fail_msg("%s: no table", path);
            assert_same_rules(&bare, module);
            tried++;
        }
        ref = module->next;
    }
    assert_true(tried >= 3); /* this program, the C library, the loader */
}

static void another_file_is_not_believed(void **state)
{
    arena_ref libc = modules_find(&modules, (uint64_t)(uintptr_t)strtok),
              program = modules_find(&modules, (uint64_t)(uintptr_t)setup);
    struct module bare = without_header(arena_at(&arena, libc));
    bare.path = ((const struct module *)arena_at(&arena, program))->path;
    eh_index_build(&arena, arena_at(&arena, bare.path), &bare);
    assert_int_equal(bare.search, 0);
    bare.path = arena_strdup(&arena, "/nonexistent");
    eh_index_build(&arena, arena_at(&arena, bare.path), &bare);
    assert_int_equal(bare.search, 0);
}

/* A library that can be unmapped gets a copy of its table; the program's own is read where it is. */
static void a_library_that_may_go_gets_a_copy(void **state)
{
    struct module own = *(const struct module *)arena_at(&arena, modules.list.newest), copied;
    for (arena_ref ref = modules.list.newest; ref; ref = own.next) {
        own = *(const struct module *)arena_at(&arena, ref);
        if (!own.eh_frame_hdr || !own.is_permanent || own.build_id_bytes == 0)
            continue;
        copied = own;
        eh_index_build(&arena, arena_at(&arena, copied.path), &copied);
        assert_int_equal(copied.search, 0);
        copied.is_permanent = false;
        eh_index_build(&arena, arena_at(&arena, copied.path), &copied);
        assert_int_not_equal(copied.search, 0);
        assert_same_rules(&copied, &own);
    }
}

/* A search table over what is not there any more leads nowhere. */
static void a_table_of_another_library_finds_nothing(void **state)
{
    struct module *libc = arena_at(&arena, modules_find(&modules, (uint64_t)(uintptr_t)strtok));
    struct module copied = *libc;
    copied.is_permanent = false;
    eh_index_build(&arena, arena_at(&arena, copied.path), &copied);
    struct sig_module view = view_of(&copied);
    struct sig_cie cie;
    struct sig_fde fde;
    uint64_t pc = (uint64_t)(uintptr_t)strtok + 1;
    assert_true(sig_eh_frame_find(&view, pc, true, &cie, &fde));
    struct sig_search_entry other = {(int32_t)(fde.start_pc + 1 - view.search_base), 0};
    for (uint64_t i = 0; i < view.search_count; i++) {
        if (view.search_base + (uint64_t)(int64_t)view.search[i].start_pc == fde.start_pc)
            other.fde = view.search[i].fde;
    }
    struct sig_module near = view;
    near.search = &other; /* a function around the address, but not the one the table promises */
    near.search_count = 1;
    assert_false(sig_eh_frame_find(&near, pc, true, &cie, &fde));
    view.cfi_shift = 64; /* other bytes at every address */
    assert_false(sig_eh_frame_find(&view, pc, true, &cie, &fde));
    uint64_t page = 4096;
    void *hole = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    view.cfi_shift = (int64_t)((uintptr_t)hole - view.cfi_low); /* nothing readable */
    assert_false(sig_eh_frame_find(&view, pc, true, &cie, &fde));
    munmap(hole, page);
}

static void a_full_arena_gives_no_table(void **state)
{
    struct module bare =
        without_header(arena_at(&arena, modules_find(&modules, (uint64_t)(uintptr_t)strtok)));
    while (arena_alloc(&arena, 8))
        ;
    eh_index_build(&arena, arena_at(&arena, bare.path), &bare);
    assert_int_equal(bare.search, 0);
    assert_int_equal(bare.cfi_high, 0);
}

/* ---- hostile tables ---- */

enum { IMAGE_BYTES = 64 * 1024, TABLE_OFFSET = 4096 };

/* An ELF file whose .eh_frame has these contents, and that is mapped where load_bias says. */
struct hostile {
    char path[64];
    int fd;
    unsigned char *image;
    size_t table_bytes;
};

static void hostile_create(struct hostile *hostile, const void *table, size_t table_bytes)
{
    static const char names[] = "\0.eh_frame\0.shstrtab";
    hostile->fd = memfd_create("hostile", MFD_CLOEXEC);
    hostile->table_bytes = table_bytes;
    snprintf(hostile->path, sizeof(hostile->path), "/proc/self/fd/%d", hostile->fd);
    assert_int_equal(ftruncate(hostile->fd, IMAGE_BYTES), 0);
    hostile->image = mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, hostile->fd, 0);
    assert_ptr_not_equal(hostile->image, MAP_FAILED);
    Elf64_Ehdr *header = (Elf64_Ehdr *)hostile->image;
    Elf64_Shdr *sections = (Elf64_Shdr *)(hostile->image + 512);
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_shoff = 512;
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_shnum = 3;
    header->e_shstrndx = 2;
    sections[1] = (Elf64_Shdr){.sh_name = 1,
                               .sh_type = SHT_PROGBITS,
                               .sh_flags = SHF_ALLOC,
                               .sh_addr = TABLE_OFFSET,
                               .sh_offset = TABLE_OFFSET,
                               .sh_size = table_bytes};
    sections[2] =
        (Elf64_Shdr){.sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = 1024, .sh_size = sizeof(names)};
    memcpy(hostile->image + 1024, names, sizeof(names));
    memcpy(hostile->image + TABLE_OFFSET, table, table_bytes);
}

static void hostile_destroy(struct hostile *hostile)
{
    munmap(hostile->image, IMAGE_BYTES);
    close(hostile->fd);
}

static struct module hostile_module(const struct hostile *hostile)
{
    uint64_t base = (uint64_t)(uintptr_t)hostile->image;
    return (struct module){.start_pc = base,
                           .end_pc = base + IMAGE_BYTES,
                           .load_bias = base,
                           .loaded_low = base,
                           .loaded_high = base + IMAGE_BYTES,
                           .path = arena_strdup(&arena, hostile->path)};
}

static void assert_good_table(const struct module *module)
{
    const struct sig_search_entry *entries = arena_at(&arena, module->search);
    struct sig_module view = view_of(module);
    struct sig_cie cie;
    struct sig_fde fde;
    for (uint32_t i = 0; i < module->search_count; i++) {
        assert_true(i == 0 || entries[i - 1].start_pc <= entries[i].start_pc);
        uint64_t start = module->search_base + (uint64_t)(int64_t)entries[i].start_pc;
        assert_in_range(start, module->loaded_low, module->loaded_high);
        sig_eh_frame_find(&view, start, false, &cie, &fde);
    }
}

/* The file was changed after it was mapped, or another one has its name now. */
static void what_is_not_in_memory_is_not_believed(void **state)
{
    static unsigned char table[16 * 1024], mapped[IMAGE_BYTES];
    struct hostile hostile;
    struct module bare =
        without_header(arena_at(&arena, modules_find(&modules, (uint64_t)(uintptr_t)strtok)));
    eh_index_build(&arena, arena_at(&arena, bare.path), &bare);
    memcpy(table, (const void *)(uintptr_t)bare.cfi_low, sizeof(table));
    hostile_create(&hostile, table, sizeof(table));
    memcpy(mapped, hostile.image, sizeof(mapped));
    for (int is_changed = 0; is_changed < 2; is_changed++) {
        struct module module = hostile_module(&hostile);
        module.load_bias = (uint64_t)(uintptr_t)mapped;
        module.loaded_low = module.load_bias - (1 << 28);
        module.loaded_high = module.load_bias + (1 << 28);
        eh_index_build(&arena, arena_at(&arena, module.path), &module);
        assert_int_equal(module.search != 0, !is_changed);
        mapped[TABLE_OFFSET + sizeof(table) - 1] ^= 1;
    }
    hostile_destroy(&hostile);
}

/* The beginning of the C library's .eh_frame, with some bytes changed. */
static void damaged_tables_do_no_harm(void **state)
{
    static unsigned char table[16 * 1024];
    struct random_state dice;
    struct hostile hostile;
    uint32_t most = 0;
    struct module bare =
        without_header(arena_at(&arena, modules_find(&modules, (uint64_t)(uintptr_t)strtok)));
    eh_index_build(&arena, arena_at(&arena, bare.path), &bare);
    const unsigned char *good = (const unsigned char *)(uintptr_t)bare.cfi_low;
    random_init(&dice, 99);
    hostile_create(&hostile, good, sizeof(table));
    struct module module = hostile_module(&hostile);
    size_t used = arena.used_bytes;
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(hostile.image + TABLE_OFFSET, good, sizeof(table));
        for (uint32_t i = random_below(&dice, 40); i > 0; i--)
            hostile.image[TABLE_OFFSET + random_below(&dice, sizeof(table))] =
                (unsigned char)random_next(&dice);
        struct module tried = module;
        /* The library's functions lie elsewhere, relative to the table:
         * anywhere near passes for the module's. */
        tried.loaded_high = tried.loaded_low + (1 << 29);
        tried.loaded_low -= tried.loaded_low % 4096 + (1 << 28);
        eh_index_build(&arena, arena_at(&arena, tried.path), &tried);
        if (tried.search)
            assert_good_table(&tried);
        most = tried.search_count > most ? tried.search_count : most;
        arena.used_bytes = used;
    }
    hostile_destroy(&hostile);
    assert_true(most > 100);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_module_without_header_is_found_in_its_file),
        TEST(another_file_is_not_believed),
        TEST(a_library_that_may_go_gets_a_copy),
        TEST(a_table_of_another_library_finds_nothing),
        TEST(a_full_arena_gives_no_table),
        TEST(what_is_not_in_memory_is_not_believed),
        TEST(damaged_tables_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
