/*
 * Names found in ELF files agree with the tools that everybody uses, and no file, however broken, does harm.
 * Broken images are given as memory blocks of their exact size: a sanitizer build sees every byte read
 * outside.
 */
#include "lib/unit.h"
#include "elf/elf.h"
#include "elf/elf_image.h"
#include "lib/elf_builder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MUTATIONS = 20000 };

/* ---- helpers ---- */

static int setup_names(void **state)
{
    static struct string_pool names;
    *state = &names;
    return 0;
}

static int teardown_names(void **state)
{
    string_pool_deinit(*state);
    return 0;
}

/* The name of one address in an image of these symbols; NULL for none. */
static const char *name_in(struct string_pool *names, const struct built_symbol *symbols, size_t count,
                           uint64_t address)
{
    struct built_elf elf = built_elf_create(symbols, count, NULL, 0, 1);
    struct elf_query query = {.elf_address = address};
    int named = elf_name_addresses_in_image(names, elf.bytes, elf.size, &query, 1);
    assert_int_equal(named, query.name != NULL);
    built_elf_destroy(&elf);
    return query.name;
}

#define assert_named(symbols, address, expected)                                                             \
    assert_string_equal(name_in(*state, symbols, COUNT(symbols), address), expected)
#define assert_nameless(symbols, address) assert_null(name_in(*state, symbols, COUNT(symbols), address))

static const struct built_symbol sample_symbols[] = {
    {"first", 0x1000, 0x40, FUNC(GLOBAL), TEXT}, {"second", 0x1100, 0x80, FUNC(LOCAL), TEXT},
    {"label", 0x1400, 0, NOTYPE(LOCAL), TEXT},   {"start", 0x2000, 0, FUNC(GLOBAL), INIT},
    {"data", 0x3000, 8, FUNC(GLOBAL), DATA},
};
static const struct built_symbol sample_dynamic[] = {
    {"puts", 0, 0, FUNC(GLOBAL), SHN_UNDEF},
    {"read", 0, 0, FUNC(GLOBAL), SHN_UNDEF},
    {"exported", 0x1300, 0x20, FUNC(GLOBAL), TEXT},
};
static const uint64_t sample_addresses[] = {0x0fff, 0x1000, 0x103f, 0x1040, 0x1150, 0x1310, 0x1410,
                                            0x2004, 0x3000, 0x4000, 0x4017, 0x4020, 0x9000};

static struct built_elf sample_elf(void)
{
    return built_elf_create(sample_symbols, COUNT(sample_symbols), sample_dynamic, COUNT(sample_dynamic),
                            0x5a);
}

static void sample_queries(struct elf_query queries[COUNT(sample_addresses)])
{
    for (size_t i = 0; i < COUNT(sample_addresses); i++)
        queries[i] = (struct elf_query){.elf_address = sample_addresses[i]};
}

/* Whatever is wrong with an image: every name is a string, and their number is the one returned. */
static int check_image(const unsigned char *bytes, size_t size)
{
    struct elf_query queries[COUNT(sample_addresses)];
    struct string_pool names = {0};
    sample_queries(queries);
    int named = elf_name_addresses_in_image(&names, bytes, size, queries, COUNT(queries));
    int counted = 0;
    for (size_t i = 0; i < COUNT(queries); i++) {
        if (!queries[i].name)
            continue;
        counted++;
        assert_true(strlen(queries[i].name) > 0);
        assert_true(queries[i].symbol_address <= queries[i].elf_address);
    }
    if (named < 0)
        assert_int_equal(counted, 0);
    else
        assert_int_equal(named, counted);
    string_pool_deinit(&names);
    return named;
}

/* ---- real files ---- */

__attribute__((noinline)) static int static_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x * 3;
}

__attribute__((noinline)) int global_function(int x);
int global_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x * 5;
}

static int store_first_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static uint64_t own_bias(void)
{
    uint64_t bias = 0;
    dl_iterate_phdr(store_first_bias, &bias);
    return bias;
}

static void own_functions_have_their_names(void **state)
{
    struct {
        uintptr_t address;
        const char *name;
    } expected[] = {{(uintptr_t)static_function, "static_function"},
                    {(uintptr_t)global_function, "global_function"},
                    {(uintptr_t)own_bias, "own_bias"}};
    for (size_t i = 0; i < COUNT(expected); i++) {
        struct elf_query query = {.elf_address = expected[i].address + 1 - own_bias()};
        assert_int_equal(elf_name_addresses(*state, "/proc/self/exe", NULL, 0, &query, 1), 1);
        assert_string_equal(query.name, expected[i].name);
        assert_int_equal(query.symbol_address, expected[i].address - own_bias());
        assert_true(query.symbol_bytes > 1);
    }
}

/* One line of nm -S: a sized symbol for code (T, t) or weak (W, w: also thread-local data). */
struct nm_symbol {
    unsigned long address, bytes;
    char kind, name[1000];
};

static size_t read_nm(struct nm_symbol *symbols, size_t capacity)
{
    char command[64], line[1200];
    size_t count = 0;
    snprintf(command, sizeof command, "nm -S --defined-only -n /proc/%d/exe", (int)getpid());
    FILE *nm = popen(command, "r");
    while (nm && count < capacity && fgets(line, sizeof line, nm)) {
        struct nm_symbol *symbol = &symbols[count];
        if (sscanf(line, "%lx %lx %c %999s", &symbol->address, &symbol->bytes, &symbol->kind, symbol->name) ==
                4 &&
            strchr("tTwW", symbol->kind))
            count++;
    }
    return nm && pclose(nm) == 0 ? count : 0;
}

static void agrees_with_nm(void **state)
{
    enum { CAPACITY = 16384 };
    struct nm_symbol *symbols = calloc(CAPACITY, sizeof *symbols);
    struct elf_query *queries = calloc(CAPACITY, sizeof *queries);
    size_t symbol_count = read_nm(symbols, CAPACITY), count = 0;
    if (symbol_count == 0)
        skip(); /* no nm here */
    for (size_t i = 0; i < symbol_count; i++) {
        if (strchr("tT", symbols[i].kind))
            queries[count++].elf_address = symbols[i].address;
    }
    assert_true(count > 20);
    assert_int_equal(elf_name_addresses(*state, "/proc/self/exe", NULL, 0, queries, count), count);
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t j = 0; j < symbol_count && !found; j++)
            found = symbols[j].address == queries[i].elf_address &&
                    symbols[j].bytes == queries[i].symbol_bytes && !strcmp(symbols[j].name, queries[i].name);
        if (!found)
            fail_msg("%s is not what nm says of %lx", queries[i].name, (unsigned long)queries[i].elf_address);
    }
    free(symbols);
    free(queries);
}

static void agrees_with_dladdr_in_libc(void **state)
{
    static const char *const functions[] = {"qsort",  "fopen",          "getenv",
                                            "printf", "pthread_create", "nanosleep"};
    for (size_t i = 0; i < COUNT(functions); i++) {
        void *address = dlsym(RTLD_DEFAULT, functions[i]);
        Dl_info info;
        assert_non_null(address);
        assert_int_not_equal(dladdr((char *)address + 1, &info), 0);
        struct elf_query query = {.elf_address = (uintptr_t)address + 1 - (uintptr_t)info.dli_fbase};
        assert_int_equal(elf_name_addresses(*state, info.dli_fname, NULL, 0, &query, 1), 1);
        assert_int_equal(query.symbol_address, (uintptr_t)info.dli_saddr - (uintptr_t)info.dli_fbase);
        assert_true(query.name[0] != '_');
        /* Whichever of several names it is, it is one of this function. */
        if (strcmp(query.name, functions[i]) != 0)
            assert_ptr_equal(dlsym(RTLD_DEFAULT, query.name), address);
    }
}

/* ---- the choice among symbols ---- */

static void sample_is_named_as_meant(void **state)
{
    static const char *const expected[COUNT(sample_addresses)] = {
        [1] = "first", [2] = "first", [4] = "second",   [5] = "exported",
        [6] = "label", [7] = "start", [9] = "puts@plt", [10] = "read@plt"};
    struct built_elf elf = sample_elf();
    struct elf_query queries[COUNT(sample_addresses)];
    sample_queries(queries);
    assert_int_equal(elf_name_addresses_in_image(*state, elf.bytes, elf.size, queries, COUNT(queries)), 8);
    for (size_t i = 0; i < COUNT(queries); i++) {
        if (expected[i])
            assert_string_equal(queries[i].name, expected[i]);
        else
            assert_null(queries[i].name);
    }
    assert_int_equal(queries[10].symbol_address, 0x4010);
    assert_int_equal(queries[2].symbol_bytes, 0x40);
    assert_int_equal(queries[6].symbol_bytes, 0);
    built_elf_destroy(&elf);
}

static void plt_needs_a_known_machine(void **state)
{
    static const uint16_t machines[] = {EM_AARCH64, EM_RISCV};
    for (size_t i = 0; i < COUNT(machines); i++) {
        struct built_elf elf = sample_elf();
        struct elf_query query = {.elf_address = 0x4000};
        built_elf_header(&elf)->e_machine = machines[i]; /* but x86_64's instructions */
        assert_int_equal(elf_name_addresses_in_image(*state, elf.bytes, elf.size, &query, 1), 0);
        built_elf_destroy(&elf);
    }
}

/* The sample with trampolines of aarch64: as ld writes them, and with -z force-bti and -z pac-plt. */
static struct built_elf aarch64_elf(void)
{
    static const uint32_t code[] = {
        0xa9bf7bf0, 0xb0000010, 0xf9400e11, 0xd61f0220,              /* pushes: the first entry */
        0xb0000010, 0xf9400e11, 0xd61f0220,                          /* slot 0x5018 */
        0xd503245f, 0xb0000010, 0xf9401211, 0xd503219f, 0xd61f0220}; /* 0x5020 */
    struct built_elf elf = sample_elf();
    Elf64_Shdr *plt = built_elf_section(&elf, PLT), *relocations = built_elf_section(&elf, RELA);
    Elf64_Rela *entries = (Elf64_Rela *)(void *)(elf.bytes + relocations->sh_offset);
    built_elf_header(&elf)->e_machine = EM_AARCH64;
    memcpy(elf.bytes + plt->sh_offset, code, sizeof code);
    entries[0].r_info = ELF64_R_INFO(1, R_AARCH64_GLOB_DAT);
    entries[1].r_info = ELF64_R_INFO(2, R_AARCH64_JUMP_SLOT);
    entries[2].r_info = ELF64_R_INFO(1, R_AARCH64_JUMP_SLOT);
    return elf;
}

static void trampolines_of_aarch64_have_names(void **state)
{
    static const struct {
        uint64_t address, start, bytes;
        const char *name;
    } expected[] = {{0x4000, 0, 0, NULL},
                    {0x4004, 0, 0, NULL},
                    {0x400c, 0, 0, NULL},
                    {0x4010, 0x4010, 12, "read@plt"},
                    {0x4014, 0x4010, 12, "read@plt"},
                    {0x401a, 0x4010, 12, "read@plt"},
                    {0x401c, 0x401c, 20, "puts@plt"},
                    {0x4020, 0x401c, 20, "puts@plt"},
                    {0x402c, 0x401c, 20, "puts@plt"}};
    struct built_elf elf = aarch64_elf();
    for (size_t i = 0; i < COUNT(expected); i++) {
        struct elf_query query = {.elf_address = expected[i].address};
        elf_name_addresses_in_image(*state, elf.bytes, elf.size, &query, 1);
        if (!expected[i].name) {
            assert_null(query.name);
            continue;
        }
        assert_string_equal(query.name, expected[i].name);
        assert_int_equal(query.symbol_address, expected[i].start);
        assert_int_equal(query.symbol_bytes, expected[i].bytes);
    }
    built_elf_destroy(&elf);
}

/* A slot on a page below: the immediate of adrp is signed. */
static void a_slot_may_lie_before_its_trampoline(void **state)
{
    struct built_elf elf = aarch64_elf();
    Elf64_Shdr *plt = built_elf_section(&elf, PLT);
    const uint32_t adrp = 0xf0fffff0; /* -1 page */
    struct elf_query query = {.elf_address = 0x6010};
    plt->sh_addr = 0x6000;
    memcpy(elf.bytes + plt->sh_offset + 16, &adrp, sizeof adrp);
    elf_name_addresses_in_image(*state, elf.bytes, elf.size, &query, 1);
    assert_string_equal(query.name, "read@plt");
    built_elf_destroy(&elf);
}

static void label_reaches_until_something_sized(void **state)
{
    static const struct built_symbol symbols[] = {
        {"early", 0x1000, 0, NOTYPE(GLOBAL), TEXT},   {"late", 0x1100, 0, FUNC(GLOBAL), TEXT},
        {"sized", 0x1200, 0x100, FUNC(GLOBAL), TEXT}, {"inner", 0x1280, 0, NOTYPE(LOCAL), TEXT},
        {"after", 0x1300, 0, NOTYPE(LOCAL), TEXT},    {"alias", 0x1400, 0, NOTYPE(LOCAL), TEXT},
        {"aliased", 0x1400, 0x10, FUNC(LOCAL), TEXT}};
    assert_named(symbols, 0x10ff, "early");
    assert_named(symbols, 0x1100, "late");
    assert_named(symbols, 0x11ff, "late");
    assert_named(symbols, 0x1200, "sized");
    assert_named(symbols, 0x12ff, "sized"); /* containing beats the nearer label */
    assert_named(symbols, 0x1300, "after");
    assert_named(symbols, 0x1400, "aliased");
    assert_nameless(symbols, 0x1410);
    assert_nameless(symbols, 0x2000); /* another section */
}

static void label_inside_a_function_ends_with_it(void **state)
{
    static const struct built_symbol symbols[] = {{"sized", 0x1200, 0x100, FUNC(GLOBAL), TEXT},
                                                  {"inner", 0x1280, 0, NOTYPE(LOCAL), TEXT}};
    assert_named(symbols, 0x12ff, "sized");
    assert_nameless(symbols, 0x1300);
}

static void a_nameless_function_is_not_its_neighbour(void **state)
{
    static const struct built_symbol symbols[] = {{"before", 0x1000, 0, NOTYPE(GLOBAL), TEXT},
                                                  {"", 0x1010, 0x10, FUNC(LOCAL), TEXT},
                                                  {"same_start", 0x1010, 0, NOTYPE(LOCAL), TEXT}};
    assert_named(symbols, 0x100f, "before");
    assert_nameless(symbols, 0x1010);
    assert_nameless(symbols, 0x101f);
    assert_nameless(symbols, 0x1020);
}

static void among_aliases_the_readable_one_wins(void **state)
{
    static const struct built_symbol underscores[] = {{"__write", 0x1000, 16, FUNC(GLOBAL), TEXT},
                                                      {"write", 0x1000, 16, FUNC(WEAK), TEXT},
                                                      {"_w", 0x1000, 16, FUNC(GLOBAL), TEXT}};
    static const struct built_symbol bindings[] = {{"a", 0x1000, 16, FUNC(LOCAL), TEXT},
                                                   {"weak", 0x1000, 16, FUNC(WEAK), TEXT},
                                                   {"longest", 0x1000, 16, FUNC(GLOBAL), TEXT}};
    static const struct built_symbol lengths[] = {{"name@@V1", 0x1000, 16, FUNC(GLOBAL), TEXT},
                                                  {"name", 0x1000, 16, FUNC(GLOBAL), TEXT},
                                                  {"namf", 0x1000, 16, FUNC(GLOBAL), TEXT}};
    static const struct built_symbol mangled[] = {{"__impl", 0x1000, 16, FUNC(GLOBAL), TEXT},
                                                  {"_ZN1AC2Ev", 0x1000, 16, FUNC(WEAK), TEXT},
                                                  {"_ZN1AC1Ev", 0x1000, 16, FUNC(WEAK), TEXT}};
    assert_named(underscores, 0x1004, "write");
    assert_named(bindings, 0x1004, "longest");
    assert_named(lengths, 0x1004, "name");
    assert_named(mangled, 0x1004, "_ZN1AC1Ev");
}

static void of_overlapping_functions_the_nearest_start_wins(void **state)
{
    static const struct built_symbol symbols[] = {{"inner", 0x1040, 0x10, FUNC(LOCAL), TEXT},
                                                  {"outer", 0x1000, 0x100, FUNC(GLOBAL), TEXT},
                                                  {"crossing", 0x10f0, 0x40, FUNC(LOCAL), TEXT},
                                                  {"endless", 0x1200, UINT64_MAX, FUNC(LOCAL), TEXT}};
    assert_named(symbols, 0x103f, "outer");
    assert_named(symbols, 0x1040, "inner");
    assert_named(symbols, 0x1050, "outer");
    assert_named(symbols, 0x10f8, "crossing");
    assert_named(symbols, 0x112f, "crossing");
    assert_nameless(symbols, 0x1130);
    assert_named(symbols, 0x1fff, "endless");
    assert_nameless(symbols, 0x2000);
}

static void only_code_counts(void **state)
{
    static const struct built_symbol symbols[] = {
        {"data", 0x3000, 16, FUNC(GLOBAL), DATA},
        {"object", 0x1000, 16, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), TEXT},
        {"undefined", 0x1000, 16, FUNC(GLOBAL), SHN_UNDEF},
        {"absolute", 0x1000, 16, FUNC(GLOBAL), SHN_ABS},
        {"no_such_section", 0x1000, 16, FUNC(GLOBAL), 500},
        {"elsewhere", 0x1000, 16, FUNC(GLOBAL), INIT},
        {"", 0x1000, 16, FUNC(GLOBAL), TEXT},
        {"ifunc", 0x1010, 16, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), TEXT},
    };
    assert_nameless(symbols, 0x3000);
    assert_nameless(symbols, 0x1000);
    assert_named(symbols, 0x1010, "ifunc");
}

static void mapping_symbols_are_no_names_on_aarch64(void **state)
{
    static const struct built_symbol symbols[] = {{"$x", 0x1010, 0, NOTYPE(LOCAL), TEXT},
                                                  {"$d.7", 0x1020, 0, NOTYPE(LOCAL), TEXT},
                                                  {"$dollar", 0x1000, 0, NOTYPE(LOCAL), TEXT}};
    struct built_elf elf = built_elf_create(symbols, COUNT(symbols), NULL, 0, 1);
    struct elf_query query = {.elf_address = 0x1030};
    built_elf_header(&elf)->e_machine = EM_AARCH64;
    assert_int_equal(elf_name_addresses_in_image(*state, elf.bytes, elf.size, &query, 1), 1);
    assert_string_equal(query.name, "$dollar");
    built_elf_destroy(&elf);
    assert_named(symbols, 0x1030, "$d.7"); /* an ordinary name elsewhere */
}

static void a_second_file_adds_but_only_improves(void **state)
{
    static const struct built_symbol stripped[] = {{"exported", 0x1000, 0x200, FUNC(GLOBAL), TEXT},
                                                   {"label", 0x1400, 0, NOTYPE(GLOBAL), TEXT}};
    static const struct built_symbol full[] = {{"same_place", 0x1000, 0x200, FUNC(GLOBAL), TEXT},
                                               {"nearer", 0x1100, 0x10, FUNC(LOCAL), TEXT},
                                               {"hidden", 0x1300, 0x10, FUNC(LOCAL), TEXT},
                                               {"nearer_label", 0x1304, 0, FUNC(LOCAL), TEXT},
                                               {"sized", 0x13f0, 0x100, FUNC(LOCAL), TEXT}};
    static const char *const expected[] = {"exported", "nearer", "hidden", "sized"};
    struct elf_query queries[] = {
        {.elf_address = 0x1000}, {.elf_address = 0x1108}, {.elf_address = 0x1308}, {.elf_address = 0x1410}};
    struct built_elf first = built_elf_create(stripped, COUNT(stripped), NULL, 0, 1);
    struct built_elf second = built_elf_create(full, COUNT(full), NULL, 0, 1);
    assert_int_equal(elf_name_addresses_in_image(*state, first.bytes, first.size, queries, 4), 3);
    assert_string_equal(queries[3].name, "label");
    assert_int_equal(elf_name_addresses_in_image(*state, second.bytes, second.size, queries, 4), 4);
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_string_equal(queries[i].name, expected[i]);
    assert_int_equal(elf_name_addresses_in_image(*state, first.bytes, first.size, queries, 4), 4);
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_string_equal(queries[i].name, expected[i]);
    built_elf_destroy(&first);
    built_elf_destroy(&second);
}

static unsigned long next_random(unsigned long *seed)
{
    *seed = *seed * 6364136223846793005UL + 1442695040888963407UL;
    return *seed >> 33;
}

/* The segment tree against the definition, on small dense sets of random overlapping symbols. */
static void agrees_with_the_definition(void **state)
{
    enum { SYMBOLS = 12, ADDRESSES = 0x40 };
    unsigned long seed = 7;
    for (int round = 0; round < 300; round++) {
        struct built_symbol symbols[SYMBOLS];
        char strings[SYMBOLS][16];
        struct elf_query queries[ADDRESSES] = {{0}};
        for (int i = 0; i < SYMBOLS; i++) {
            snprintf(strings[i], sizeof strings[i], "f%d", i);
            symbols[i] = (struct built_symbol){strings[i], 0x1000 + (next_random(&seed) % 8) * 8 + (i & 7),
                                               next_random(&seed) % 24, FUNC(GLOBAL), TEXT};
        }
        size_t count = 1 + next_random(&seed) % ADDRESSES;
        for (size_t i = 0; i < count; i++)
            queries[i].elf_address = 0x1000 + i;
        struct built_elf elf = built_elf_create(symbols, SYMBOLS, NULL, 0, 1);
        assert_true(elf_name_addresses_in_image(*state, elf.bytes, elf.size, queries, count) >= 0);
        built_elf_destroy(&elf);
        for (size_t i = 0; i < count; i++) {
            uint64_t address = queries[i].elf_address, sized = 0, label = 0, edge = 0;
            for (int j = 0; j < SYMBOLS; j++) {
                uint64_t start = symbols[j].value, end = start + symbols[j].size;
                if (start > address)
                    continue;
                if (start == end)
                    label = start > label ? start : label;
                else if (address < end)
                    sized = start > sized ? start : sized;
                if (start < end && start + 1 > edge)
                    edge = start + 1;
                if (start < end && end <= address && end > edge)
                    edge = end;
            }
            uint64_t expected = sized ? sized : label >= edge ? label : 0;
            assert_int_equal(queries[i].name != NULL, expected != 0);
            assert_int_equal(queries[i].symbol_address, expected);
        }
    }
}

/* ---- files that cannot be used ---- */

static int name_file(struct string_pool *names, const char *path, const uint8_t *build_id,
                     size_t build_id_bytes)
{
    struct elf_query query = {.elf_address = 0x1000};
    int status = elf_name_addresses(names, path, build_id, build_id_bytes, &query, 1);
    if (status < 0)
        assert_null(query.name);
    return status;
}

static void build_id_must_match(void **state)
{
    const uint8_t right[BUILT_BUILD_ID_BYTES] = {0x5a, 0xab}, wrong[BUILT_BUILD_ID_BYTES] = {0x5b, 0xab};
    struct built_elf elf = sample_elf();
    char path[64];
    int fd = built_file_create(elf.bytes, elf.size, path);
    assert_int_equal(name_file(*state, path, NULL, 0), 1);
    assert_int_equal(name_file(*state, path, right, sizeof right), 1);
    assert_int_equal(name_file(*state, path, wrong, sizeof wrong), -ESTALE);
    assert_int_equal(name_file(*state, path, right, sizeof right - 1), -ESTALE);
    close(fd);

    built_elf_header(&elf)->e_phnum = 0; /* the section is enough */
    fd = built_file_create(elf.bytes, elf.size, path);
    assert_int_equal(name_file(*state, path, right, sizeof right), 1);
    close(fd);

    built_elf_header(&elf)->e_phnum = 1; /* so is the segment */
    built_elf_section(&elf, NOTE)->sh_type = SHT_PROGBITS;
    fd = built_file_create(elf.bytes, elf.size, path);
    assert_int_equal(name_file(*state, path, right, sizeof right), 1);
    close(fd);

    built_elf_header(&elf)->e_phnum = 0; /* without any there is no telling */
    fd = built_file_create(elf.bytes, elf.size, path);
    assert_int_equal(name_file(*state, path, right, sizeof right), -ESTALE);
    close(fd);
    built_elf_destroy(&elf);
}

static void what_is_no_elf_is_refused(void **state)
{
    char path[64], directory[] = "/tmp/test_elf.XXXXXX", fifo[sizeof directory + 8];
    int fd = built_file_create("", 0, path);
    assert_int_equal(name_file(*state, path, NULL, 0), -ENOEXEC);
    close(fd);
    fd = built_file_create("#!/bin/sh\n", 10, path);
    assert_int_equal(name_file(*state, path, NULL, 0), -ENOEXEC);
    close(fd);
    assert_non_null(mkdtemp(directory));
    assert_int_equal(name_file(*state, directory, NULL, 0), -EISDIR);
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    assert_int_equal(name_file(*state, fifo, NULL, 0), -ENOENT);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(name_file(*state, fifo, NULL, 0), -ENOEXEC); /* and does not wait for a writer */
    unlink(fifo);
    rmdir(directory);
}

static void other_classes_and_byte_orders_are_refused(void **state)
{
    struct built_elf elf = sample_elf();
    built_elf_header(&elf)->e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(check_image(elf.bytes, elf.size), -ENOEXEC);
    built_elf_header(&elf)->e_ident[EI_CLASS] = ELFCLASS64;
    built_elf_header(&elf)->e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
    assert_int_equal(check_image(elf.bytes, elf.size), -ENOEXEC);
    built_elf_destroy(&elf);
}

/* ---- broken and hostile files ---- */

/* How many names are left when one number in the sample is replaced. */
static int names_left(size_t offset, const void *value, size_t bytes)
{
    struct built_elf elf = sample_elf();
    memcpy(elf.bytes + offset, value, bytes);
    int named = check_image(elf.bytes, elf.size);
    built_elf_destroy(&elf);
    return named;
}

static size_t section_field(int section, size_t field)
{
    struct built_elf elf = sample_elf();
    size_t offset = (size_t)((unsigned char *)built_elf_section(&elf, section) - elf.bytes) + field;
    built_elf_destroy(&elf);
    return offset;
}

static int names_left_with_section(int section, size_t field, uint64_t value)
{
    return names_left(section_field(section, field), &value, sizeof value);
}

static void huge_sections_are_cut(void **state)
{
    static const uint64_t hostile[] = {UINT64_MAX,     UINT64_MAX - 7,    UINT64_MAX - 23,
                                       UINT64_MAX / 2, (uint64_t)1 << 63, (uint64_t)1 << 40};
    for (size_t i = 0; i < COUNT(hostile); i++) {
        assert_true(names_left_with_section(SYMTAB, offsetof(Elf64_Shdr, sh_size), hostile[i]) >= 5);
        assert_true(names_left_with_section(STRTAB, offsetof(Elf64_Shdr, sh_size), hostile[i]) == 8);
        assert_int_equal(names_left_with_section(SYMTAB, offsetof(Elf64_Shdr, sh_offset), hostile[i]), 3);
        assert_int_equal(names_left_with_section(STRTAB, offsetof(Elf64_Shdr, sh_offset), hostile[i]), 3);
        assert_int_equal(names_left_with_section(PLT, offsetof(Elf64_Shdr, sh_offset), hostile[i]), 6);
        assert_int_equal(names_left_with_section(RELA, offsetof(Elf64_Shdr, sh_offset), hostile[i]), 6);
        assert_true(names_left_with_section(TEXT, offsetof(Elf64_Shdr, sh_size), hostile[i]) >= 0);
        assert_int_equal(names_left(offsetof(Elf64_Ehdr, e_shoff), &hostile[i], sizeof hostile[i]), 0);
        names_left(offsetof(Elf64_Ehdr, e_phoff), &hostile[i], sizeof hostile[i]);
    }
}

static void reading_outside_an_image_is_refused(void **state)
{
    static const uint64_t outside[][2] = {{0, 65}, {1, 64},         {64, 1},
                                          {65, 0}, {UINT64_MAX, 1}, {UINT64_MAX - 63, 64}};
    const unsigned char memory[64] = {0};
    const struct elf_image image = {.fd = -1, .memory = memory, .size_bytes = sizeof memory};
    unsigned char buffer[128];
    for (size_t i = 0; i < COUNT(outside); i++)
        assert_false(elf_image_read(&image, outside[i][0], buffer, outside[i][1]));
    assert_true(elf_image_read(&image, 0, buffer, 64));
    assert_true(elf_image_read(&image, 64, buffer, 0));
}

static void odd_entry_sizes_and_links_are_refused(void **state)
{
    const uint16_t shentsize = sizeof(Elf64_Shdr) - 1;
    assert_int_equal(names_left(offsetof(Elf64_Ehdr, e_shentsize), &shentsize, sizeof shentsize), 0);
    assert_int_equal(names_left_with_section(SYMTAB, offsetof(Elf64_Shdr, sh_entsize), 0), 3);
    assert_int_equal(names_left_with_section(SYMTAB, offsetof(Elf64_Shdr, sh_entsize), 16), 3);
    assert_int_equal(names_left_with_section(SYMTAB, offsetof(Elf64_Shdr, sh_link), 99), 3);
    assert_int_equal(names_left_with_section(SYMTAB, offsetof(Elf64_Shdr, sh_link), DATA), 3);
    assert_int_equal(names_left_with_section(SYMTAB, offsetof(Elf64_Shdr, sh_link), NOTE), 3);
    assert_int_equal(names_left_with_section(SYMTAB, offsetof(Elf64_Shdr, sh_flags), SHF_COMPRESSED), 3);
}

static void section_count_can_stand_in_section_0(void **state)
{
    struct built_elf elf = sample_elf();
    built_elf_header(&elf)->e_shnum = 0;
    assert_int_equal(check_image(elf.bytes, elf.size), 0);
    built_elf_section(&elf, 0)->sh_size = SECTION_COUNT;
    built_elf_header(&elf)->e_shstrndx = SHN_XINDEX;
    built_elf_section(&elf, 0)->sh_link = SHSTRTAB;
    assert_int_equal(check_image(elf.bytes, elf.size), 8);
    built_elf_section(&elf, 0)->sh_size = UINT64_MAX; /* as many as there is room for */
    assert_int_equal(check_image(elf.bytes, elf.size), 8);
    built_elf_destroy(&elf);
}

static void names_outside_the_string_table_are_refused(void **state)
{
    struct built_elf elf = sample_elf();
    Elf64_Sym *first = (Elf64_Sym *)(elf.bytes + built_elf_section(&elf, SYMTAB)->sh_offset) + 1;
    char *strings = (char *)elf.bytes + built_elf_section(&elf, STRTAB)->sh_offset;
    size_t bytes = built_elf_section(&elf, STRTAB)->sh_size;
    first->st_name = (Elf64_Word)bytes; /* both queries in "first" lose their name */
    assert_int_equal(check_image(elf.bytes, elf.size), 6);
    first->st_name = UINT32_MAX;
    assert_int_equal(check_image(elf.bytes, elf.size), 6);
    first->st_name = (Elf64_Word)bytes - 1; /* empty */
    assert_int_equal(check_image(elf.bytes, elf.size), 6);
    first->st_name = (Elf64_Word)bytes - 2; /* the last letter of "data" */
    assert_int_equal(check_image(elf.bytes, elf.size), 8);
    strings[bytes - 1] = 'x'; /* no longer terminated */
    assert_int_equal(check_image(elf.bytes, elf.size), 6);
    built_elf_destroy(&elf);
}

static void check_truncations(const unsigned char *bytes, size_t size, size_t step)
{
    for (size_t length = 0; length <= size; length += step) {
        unsigned char *cut = malloc(length ? length : 1);
        assert_non_null(cut);
        memcpy(cut, bytes, length);
        int named = check_image(cut, length);
        if (length < sizeof(Elf64_Ehdr))
            assert_int_equal(named, -ENOEXEC);
        free(cut);
    }
}

static void every_truncation_is_survived(void **state)
{
    struct built_elf elf = sample_elf();
    check_truncations(elf.bytes, elf.size, 1);
    built_elf_destroy(&elf);
}

/* Here it is the file that ends, as a rebuilt binary does while it is written. */
static void every_truncation_of_a_file_is_survived(void **state)
{
    const uint8_t build_id[BUILT_BUILD_ID_BYTES] = {0x5a, 0xab};
    struct built_elf elf = sample_elf();
    char path[64];
    int fd = built_file_create(elf.bytes, elf.size, path);
    for (size_t length = elf.size; length-- > 0;) {
        assert_int_equal(ftruncate(fd, (off_t)length), 0);
        int status = name_file(*state, path, build_id, sizeof build_id);
        assert_true(status == 0 || status == 1 || status == -ESTALE || status == -ENOEXEC);
    }
    close(fd);
    built_elf_destroy(&elf);
}

static void truncations_of_a_real_program_are_survived(void **state)
{
    enum { CAPACITY = 256 * 1024 };
    unsigned char *bytes = malloc(CAPACITY);
    int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, bytes, CAPACITY);
    assert_true(size > (ssize_t)sizeof(Elf64_Ehdr));
    check_truncations(bytes, (size_t)size, 13);
    close(fd);
    free(bytes);
}

static void mutate(unsigned char *bytes, size_t size, unsigned long *seed)
{
    static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff};
    for (unsigned long changes = 1 + next_random(seed) % 8; changes > 0; changes--) {
        unsigned char *byte = &bytes[next_random(seed) % size];
        *byte = next_random(seed) & 1 ? telling[next_random(seed) % COUNT(telling)]
                                      : (unsigned char)next_random(seed);
    }
}

static void mutations_are_survived(void **state)
{
    struct built_elf elf = sample_elf();
    unsigned char *mutated = malloc(elf.size);
    unsigned long seed = 20240229;
    int fewer = 0;
    for (int i = 0; i < MUTATIONS; i++) {
        memcpy(mutated, elf.bytes, elf.size);
        mutate(mutated, elf.size, &seed);
        fewer += check_image(mutated, elf.size) < 8;
    }
    assert_true(fewer > MUTATIONS / 10); /* they did hit something */
    free(mutated);
    built_elf_destroy(&elf);
}

static void mutated_files_are_survived(void **state)
{
    const uint8_t build_id[BUILT_BUILD_ID_BYTES] = {0x5a, 0xab};
    struct built_elf elf = sample_elf();
    unsigned char *mutated = malloc(elf.size);
    unsigned long seed = 19700101;
    char path[64];
    int fd = built_file_create(elf.bytes, elf.size, path), stale = 0;
    for (int i = 0; i < MUTATIONS / 4; i++) {
        memcpy(mutated, elf.bytes, elf.size);
        mutate(mutated, elf.size, &seed);
        assert_int_equal(pwrite(fd, mutated, elf.size, 0), elf.size);
        stale += name_file(*state, path, build_id, sizeof build_id) == -ESTALE;
    }
    assert_true(stale > 0);
    close(fd);
    free(mutated);
    built_elf_destroy(&elf);
}

/* Every symbol covers every address: looking at each pair would take a minute. */
static void time_is_bounded_by_the_tables(void **state)
{
    enum { SYMBOLS = 200000, QUERIES = 20000 };
    struct built_symbol *symbols = calloc(SYMBOLS, sizeof *symbols);
    struct elf_query *queries = calloc(QUERIES, sizeof *queries);
    for (size_t i = 0; i < SYMBOLS; i++)
        symbols[i] = (struct built_symbol){"x", 0x1000 + i % 64, UINT64_MAX, FUNC(GLOBAL), TEXT};
    struct built_elf elf = built_elf_create(symbols, SYMBOLS, NULL, 0, 1);
    built_elf_section(&elf, TEXT)->sh_size = QUERIES + 64;
    for (size_t i = 0; i < QUERIES; i++)
        queries[i].elf_address = 0x1040 + i;
    clock_t start = clock();
    assert_int_equal(elf_name_addresses_in_image(*state, elf.bytes, elf.size, queries, QUERIES), QUERIES);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5);
    assert_int_equal(queries[0].symbol_address, 0x103f);
    assert_int_equal(queries[QUERIES - 1].symbol_address, 0x103f);
    built_elf_destroy(&elf);
    free(symbols);
    free(queries);
}

/* Every relocation is for the slot that every trampoline jumps through, and names nothing: as above. */
static void time_is_bounded_by_the_relocations(void **state)
{
    enum { ENTRIES = 20000, ENTRY_BYTES = 16, RELOCATIONS = 1000000, SLOT = 0x1000000 };
    static unsigned char code[ENTRIES][ENTRY_BYTES];
    Elf64_Rela *relocations = calloc(RELOCATIONS, sizeof *relocations);
    struct elf_query *queries = calloc(ENTRIES, sizeof *queries);
    struct built_elf elf = built_elf_create(sample_symbols, COUNT(sample_symbols), sample_symbols, 1, 1);
    const uint64_t plt = built_elf_section(&elf, PLT)->sh_addr;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        int32_t distance = (int32_t)(SLOT - (plt + i * ENTRY_BYTES + 6));
        code[i][0] = 0xff;
        code[i][1] = 0x25;
        memcpy(&code[i][2], &distance, sizeof distance);
        queries[i].elf_address = plt + i * ENTRY_BYTES;
    }
    for (size_t i = 0; i < RELOCATIONS; i++)
        relocations[i] = (Elf64_Rela){.r_offset = SLOT, .r_info = ELF64_R_INFO(0, R_X86_64_JUMP_SLOT)};
    size_t code_at = built_elf_append(&elf, code, sizeof code);
    size_t relocations_at = built_elf_append(&elf, relocations, RELOCATIONS * sizeof *relocations);
    built_elf_section(&elf, PLT)->sh_offset = code_at;
    built_elf_section(&elf, PLT)->sh_size = sizeof code;
    built_elf_section(&elf, RELA)->sh_offset = relocations_at;
    built_elf_section(&elf, RELA)->sh_size = RELOCATIONS * sizeof *relocations;
    clock_t start = clock();
    assert_int_equal(elf_name_addresses_in_image(*state, elf.bytes, elf.size, queries, ENTRIES), 0);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5);
    built_elf_destroy(&elf);
    free(relocations);
    free(queries);
}

/* ---- notes ---- */

static void build_id_in_notes_is_found_and_bounded(void **state)
{
    static const unsigned char notes[] = {4, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4,
                                          4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'X', 'Y', 'Z', 0, 9, 9, 9, 0,
                                          4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 7, 8, 9};
    uint8_t id[8];
    assert_int_equal(elf_build_id_in_notes(notes, sizeof notes, id, sizeof id), 3);
    assert_memory_equal(id, "\7\10\11", 3);
    assert_int_equal(elf_build_id_in_notes(notes, sizeof notes, id, 2), 0);
    for (size_t length = 0; length < sizeof notes; length++) {
        unsigned char *cut = malloc(length ? length : 1);
        memcpy(cut, notes, length);
        assert_int_equal(elf_build_id_in_notes(cut, length, id, sizeof id), 0);
        memset(cut, 0xff, length); /* sizes that overflow when padded */
        assert_int_equal(elf_build_id_in_notes(cut, length, id, sizeof id), 0);
        free(cut);
    }
}

#define NAMES_TEST(function) cmocka_unit_test_setup_teardown(function, setup_names, teardown_names)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NAMES_TEST(own_functions_have_their_names),
        NAMES_TEST(agrees_with_nm),
        NAMES_TEST(agrees_with_dladdr_in_libc),
        NAMES_TEST(sample_is_named_as_meant),
        NAMES_TEST(plt_needs_a_known_machine),
        NAMES_TEST(trampolines_of_aarch64_have_names),
        NAMES_TEST(a_slot_may_lie_before_its_trampoline),
        NAMES_TEST(label_reaches_until_something_sized),
        NAMES_TEST(label_inside_a_function_ends_with_it),
        NAMES_TEST(a_nameless_function_is_not_its_neighbour),
        NAMES_TEST(among_aliases_the_readable_one_wins),
        NAMES_TEST(of_overlapping_functions_the_nearest_start_wins),
        NAMES_TEST(only_code_counts),
        NAMES_TEST(mapping_symbols_are_no_names_on_aarch64),
        NAMES_TEST(a_second_file_adds_but_only_improves),
        NAMES_TEST(agrees_with_the_definition),
        NAMES_TEST(build_id_must_match),
        NAMES_TEST(what_is_no_elf_is_refused),
        NAMES_TEST(other_classes_and_byte_orders_are_refused),
        NAMES_TEST(huge_sections_are_cut),
        cmocka_unit_test(reading_outside_an_image_is_refused),
        NAMES_TEST(odd_entry_sizes_and_links_are_refused),
        NAMES_TEST(section_count_can_stand_in_section_0),
        NAMES_TEST(names_outside_the_string_table_are_refused),
        NAMES_TEST(every_truncation_is_survived),
        NAMES_TEST(every_truncation_of_a_file_is_survived),
        NAMES_TEST(truncations_of_a_real_program_are_survived),
        NAMES_TEST(mutations_are_survived),
        NAMES_TEST(mutated_files_are_survived),
        NAMES_TEST(time_is_bounded_by_the_tables),
        NAMES_TEST(time_is_bounded_by_the_relocations),
        NAMES_TEST(build_id_in_notes_is_found_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
