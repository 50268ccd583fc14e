/*
 * The ELF readers on hostile files: names or none, nothing read outside, no memory kept, and the same from a
 * file as from memory.
 *
 * Input: byte 0 bit 0 selects a raw image or one of elf_builder.h with symbols and changes from the input,
 * bits 1 to 7 the allocation that fails, 0 for none; the number of addresses to be named and their distances,
 * 16 bits each; the image.
 */
#include "fuzz.h"
#include "lib/elf_builder.h"
#include "elf/elf.h"
#include "names/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    IMAGE_AT = 0x100000, /* in the arena */
    IMAGE_MAX_BYTES = 64 * 1024,
    QUERIES_MAX = 16,
    SYMBOLS_MAX = 12,
    NAME_MAX_BYTES = 24,
    BIAS = 0x10000000,
};

static uint8_t *region;
static int file;
static char path[64];
static unsigned allocations_left; /* until one fails; 0 for never */
static long allocations_held;

/* ---- memory: blocks of their exact size, so that ASan sees their ends; a free must know that size ---- */

void *__wrap_scratch_alloc(size_t bytes);
void __wrap_scratch_free(void *memory, size_t bytes);
void *__wrap_scratch_grow(void *memory, size_t old_bytes, size_t new_bytes);

enum { BLOCK_HEADER_BYTES = 16 };

void *__wrap_scratch_alloc(size_t bytes)
{
    if (bytes > (size_t)256 << 20 || (allocations_left && --allocations_left == 0))
        return NULL;
    char *block = calloc(1, BLOCK_HEADER_BYTES + bytes);
    FUZZ_ASSERT(block);
    memcpy(block, &bytes, sizeof(bytes));
    allocations_held++;
    return block + BLOCK_HEADER_BYTES;
}

void __wrap_scratch_free(void *memory, size_t bytes)
{
    if (!memory)
        return;
    char *block = (char *)memory - BLOCK_HEADER_BYTES;
    FUZZ_ASSERT(memcmp(block, &bytes, sizeof(bytes)) == 0);
    allocations_held--;
    free(block);
}

void *__wrap_scratch_grow(void *memory, size_t old_bytes, size_t new_bytes)
{
    void *grown = __wrap_scratch_alloc(new_bytes);
    if (grown && memory)
        memcpy(grown, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
    __wrap_scratch_free(memory, old_bytes);
    return grown;
}

/* ---- images ---- */

static void take_symbols(struct fuzz_input *input, struct built_symbol *symbols, size_t *ret_count,
                         char (*names)[NAME_MAX_BYTES])
{
    static const uint64_t sections_at[] = {0x1000, 0x2000, 0x3000, 0x4000};
    *ret_count = take_u8(input) % (SYMBOLS_MAX + 1);
    for (size_t i = 0; i < *ret_count; i++) {
        uint8_t choice = take_u8(input), length = take_u8(input) % NAME_MAX_BYTES;
        memset(names[i], 0, NAME_MAX_BYTES);
        for (uint8_t at = 0; at < length; at++)
            names[i][at] = (char)take_u8(input);
        symbols[i] = (struct built_symbol){.name = names[i],
                                           .value = sections_at[choice % 4] + take_number(input),
                                           .size = take_number(input),
                                           .info = take_u8(input),
                                           .section = choice / 4 % 14};
    }
}

/* Overwrites a field wherever it is; what lies after the image is left alone. */
static void change(struct built_elf *elf, uint64_t at, uint64_t value, size_t bytes)
{
    if (at <= elf->size && bytes <= elf->size - at)
        memcpy(elf->bytes + at, &value, bytes); /* little endian */
}

static void take_changes(struct fuzz_input *input, struct built_elf *elf)
{
    static const uint8_t header_fields[] = {
        offsetof(Elf64_Ehdr, e_machine),   offsetof(Elf64_Ehdr, e_phoff),   offsetof(Elf64_Ehdr, e_shoff),
        offsetof(Elf64_Ehdr, e_phentsize), offsetof(Elf64_Ehdr, e_phnum),   offsetof(Elf64_Ehdr, e_shentsize),
        offsetof(Elf64_Ehdr, e_shnum),     offsetof(Elf64_Ehdr, e_shstrndx)};
    static const uint8_t section_fields[] = {0,  4,  8,  16,
                                             24, 32, 40, 56}; /* sh_name .. sh_size, sh_entsize */
    const Elf64_Ehdr header = *built_elf_header(elf);
    size_t keep = elf->size;
    while (input->at < input->end) {
        uint8_t kind = take_u8(input), which = take_u8(input);
        uint64_t value = take_number(input);
        if (kind < 0x20) {
            uint8_t field = header_fields[which % sizeof(header_fields)];
            change(elf, field, value,
                   field == offsetof(Elf64_Ehdr, e_phoff) || field == offsetof(Elf64_Ehdr, e_shoff) ? 8 : 2);
        } else if (kind < 0xa0) {
            uint8_t field = section_fields[which % 8];
            change(elf, header.e_shoff + kind % SECTION_COUNT * sizeof(Elf64_Shdr) + field, value,
                   field < 8 ? 4 : 8);
        } else if (kind < 0xb0) {
            change(elf, header.e_shoff + kind % SECTION_COUNT * sizeof(Elf64_Shdr) + 40, value,
                   4); /* sh_link */
        } else if (kind < 0xf0) {
            change(elf, (uint64_t)kind % 0x40 << 8 | which, value, 1U << kind % 4);
        } else if (value < keep) {
            keep = value;
        }
    }
    elf->size = keep;
}

static struct built_elf take_built_image(struct fuzz_input *input)
{
    static char names[2][SYMBOLS_MAX][NAME_MAX_BYTES];
    struct built_symbol symbols[SYMBOLS_MAX], dynamic[SYMBOLS_MAX];
    size_t count, dynamic_count;
    take_symbols(input, symbols, &count, names[0]);
    take_symbols(input, dynamic, &dynamic_count, names[1]);
    struct built_elf elf = built_elf_create(symbols, count, dynamic, dynamic_count, 1);
    take_changes(input, &elf);
    return elf;
}

/* ---- the promises ---- */

struct lookup {
    struct elf_query queries[QUERIES_MAX];
    size_t count;
};

static void check_names_found(const struct lookup *lookup, int status)
{
    int named = 0;
    for (size_t i = 0; i < lookup->count; i++) {
        const struct elf_query *query = &lookup->queries[i];
        if (!query->name)
            continue;
        named++;
        FUZZ_ASSERT(query->name[0] != '\0' && strlen(query->name) <= IMAGE_MAX_BYTES + 4);
        FUZZ_ASSERT(query->symbol_address <= query->elf_address);
        FUZZ_ASSERT(query->symbol_bytes == 0 ||
                    query->elf_address - query->symbol_address < query->symbol_bytes);
    }
    FUZZ_ASSERT(status < 0 ? named == 0 && status >= -4095 : named == status);
}

static void assert_same(const struct lookup *a, const struct lookup *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const char *left = a->queries[i].name, *right = b->queries[i].name;
        FUZZ_ASSERT(!left == !right && (!left || strcmp(left, right) == 0));
        FUZZ_ASSERT(!left || (a->queries[i].symbol_address == b->queries[i].symbol_address &&
                              a->queries[i].symbol_bytes == b->queries[i].symbol_bytes));
    }
}

/* From memory before a guard page, once more over what it returned, from a file, and from one with a
 * build-id.
 */
static void check_names(const struct lookup *wanted, const uint8_t *image, size_t bytes, unsigned failing)
{
    static const uint8_t build_id[BUILT_BUILD_ID_BYTES] = {1, 0xab};
    struct string_pool names = {0};
    struct lookup memory = *wanted, again, from_file = *wanted, from_known = *wanted;
    int status = elf_name_addresses_in_image(&names, image, bytes, memory.queries, memory.count);
    check_names_found(&memory, status);
    again = memory;
    if (status >= 0) {
        FUZZ_ASSERT(elf_name_addresses_in_image(&names, image, bytes, again.queries, again.count) == status);
        assert_same(&memory, &again);
    }
    FUZZ_ASSERT(elf_name_addresses(&names, path, NULL, 0, from_file.queries, from_file.count) == status);
    assert_same(&memory, &from_file);
    int known =
        elf_name_addresses(&names, path, build_id, sizeof build_id, from_known.queries, from_known.count);
    FUZZ_ASSERT(known == status || known == -ESTALE);
    if (known >= 0)
        assert_same(&memory, &from_known);
    if (failing) {
        struct lookup starved = *wanted;
        allocations_left = failing;
        status = elf_name_addresses_in_image(&names, image, bytes, starved.queries, starved.count);
        allocations_left = 0;
        check_names_found(&starved, status);
    }
    string_pool_deinit(&names);
    FUZZ_ASSERT(allocations_held == 0);
}

/* Not a demangler: some names become longer, some nothing, some fail. */
static char *demangle(const char *mangled, char *buffer, size_t *length, int *status)
{
    size_t bytes = strlen(mangled);
    (void)buffer;
    (void)length;
    *status = bytes % 3 == 0 ? -2 : 0;
    if (bytes % 3 == 0)
        return NULL;
    char *name = calloc(1, bytes + 1);
    FUZZ_ASSERT(name);
    return bytes % 3 == 1 ? name : strcpy(name, mangled);
}

static arena_ref add_module(struct arena *arena, struct modules *modules)
{
    arena_ref ref = arena_alloc(arena, sizeof(struct module));
    FUZZ_ASSERT(ref);
    struct module *module = arena_at(arena, ref);
    module->load_bias = BIAS;
    module->path = arena_strdup(arena, path);
    modules->list.newest = ref;
    modules->list.count = 1;
    return ref;
}

static void check_symbols(const struct lookup *wanted, unsigned failing)
{
    struct arena arena;
    struct tree tree = {.arena = NULL};
    static struct modules modules;
    FUZZ_ASSERT(arena_init(&arena, 1 << 16) == 0 && tree_init(&tree, &arena) == 0);
    modules.list.arena = &arena;
    arena_ref module = add_module(&arena, &modules);
    for (size_t i = 0; i < wanted->count; i++)
        tree_location(&tree, module, BIAS + wanted->queries[i].elf_address,
                      i % 2 ? BIAS + wanted->queries[i].elf_address - i : 0);
    allocations_left = failing;
    struct symbols *symbols =
        symbolize_create(&tree, &modules.list, demangle, &(struct symbolize_process){.modules = &modules});
    allocations_left = 0;
    FUZZ_ASSERT(symbols || failing);
    for (uint32_t i = 0; symbols && i < tree.location_count; i++) {
        uint32_t index = symbols_function_of(symbols, i);
        FUZZ_ASSERT(index < symbols->function_count);
        const struct symbol_function *function = &symbols->functions[index];
        FUZZ_ASSERT(function->name && function->name[0] && function->system_name && function->system_name[0]);
    }
    FUZZ_ASSERT(!symbols || !symbols_module(symbols, module).has_lines); /* symbol tables have none */
    symbolize_destroy(symbols);
    tree_deinit(&tree);
    arena_deinit(&arena);
    FUZZ_ASSERT(allocations_held == 0);
}

static void open_all(void)
{
    if (region)
        return;
    fuzz_arena_reserve();
    region = fuzz_arena_open(IMAGE_AT, IMAGE_MAX_BYTES);
    file = built_file_create("", 0, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, data + size};
    struct lookup wanted = {.count = 0};
    struct built_elf built = {NULL, 0};
    open_all();
    uint8_t mode = take_u8(&input), id[MODULE_BUILD_ID_MAX_BYTES];
    wanted.count = take_u8(&input) % (QUERIES_MAX + 1);
    uint64_t address = 0xff0;
    for (size_t i = 0; i < wanted.count; i++) {
        address += take_fixed(&input, 2);
        wanted.queries[i].elf_address = address;
    }
    if (!(mode & 1))
        built = take_built_image(&input);
    size_t bytes = mode & 1 ? (size_t)(input.end - input.at) : built.size;
    FUZZ_ASSERT(bytes <= IMAGE_MAX_BYTES);
    uint8_t *image = region + IMAGE_MAX_BYTES - bytes;
    if (bytes > 0)
        memcpy(image, mode & 1 ? input.at : built.bytes, bytes);
    FUZZ_ASSERT(ftruncate(file, 0) == 0 && pwrite(file, image, bytes, 0) == (ssize_t)bytes);
    check_names(&wanted, image, bytes, mode >> 1);
    check_symbols(&wanted, mode >> 1);
    FUZZ_ASSERT(elf_build_id_in_notes(image, bytes, id, sizeof id) <= sizeof id);
    built_elf_destroy(&built);
    return 0;
}
