/* Every location gets its frames: inlined calls, files and lines where they are known, else what says as much
 * as is known; functions are neither split nor merged, and no other file is believed. */
#include "lib/unit.h"
#include "tool/debug/names.h"
#include "lib/fake_module.h"
#include "lib/own_module.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

enum { OTHER_BIAS = 0x10000000 };

struct fixture {
    struct arena arena;
    struct tree tree;
    struct module_list modules;
    struct profile profile;
    struct names_options options;
    struct symbols *symbols;
    struct own_module own;
};

/* ---- code whose lines are known ---- */

extern const char spot_of_inner[], spot_of_outer[];
int outer_function(int x);

enum { LINE = __LINE__ }; /* the numbers below count from here */
static inline __attribute__((always_inline)) int inner_function(int x)
{
    __asm__ volatile(".globl spot_of_inner\nspot_of_inner: nop");
    return x + 1;
}
__attribute__((noinline)) int outer_function(int x)
{
    x = inner_function(x);
    __asm__ volatile(".globl spot_of_outer\nspot_of_outer: nop");
    return x * 3;
}
enum {
    INNER_LINE = LINE + 1,
    INNER_SPOT = LINE + 3,
    OUTER_LINE = LINE + 6,
    INNER_CALL = LINE + 8,
    OUTER_SPOT = LINE + 9
};

/* ---- a profile by hand ---- */

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.modules = {.arena = &fixture.arena}};
    fixture.profile =
        (struct profile){.arena = &fixture.arena, .tree = &fixture.tree, .modules = &fixture.modules};
    own_module_init(&fixture.own);
    setenv("WALLPROF_CACHE", "off", 1);
    *state = &fixture;
    return arena_init(&fixture.arena, 1 << 24) || tree_init(&fixture.tree, &fixture.arena);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    names_release(fixture->symbols);
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

static struct module *module_at(struct fixture *fixture, arena_ref ref)
{
    return arena_at(&fixture->arena, ref);
}

static arena_ref add_own_module(struct fixture *fixture)
{
    arena_ref ref = fake_module(&fixture->modules, fixture->own.path, fixture->own.load_bias);
    struct module *module = module_at(fixture, ref);
    memcpy(module->build_id, fixture->own.build_id, sizeof module->build_id);
    module->build_id_bytes = (uint32_t)fixture->own.build_id_bytes;
    return ref;
}

static void make_names(struct fixture *fixture)
{
    assert_int_equal(names_make(&fixture->profile, &fixture->options, &fixture->symbols), 0);
    const struct symbols *symbols = fixture->symbols;
    assert_int_equal(symbols->location_count, fixture->tree.location_count);
    for (uint32_t i = 0; i < symbols->location_count; i++) {
        uint32_t count;
        const struct symbol_frame *frames = symbols_frames(symbols, i, &count);
        assert_true(count > 0);
        for (uint32_t j = 0; j < count; j++)
            assert_true(frames[j].function < symbols->function_count);
    }
}

static uint32_t frame_count(const struct fixture *fixture, uint32_t location)
{
    uint32_t count;
    symbols_frames(fixture->symbols, location, &count);
    return count;
}

static const struct symbol_frame *frame_of(const struct fixture *fixture, uint32_t location, uint32_t index)
{
    uint32_t count;
    const struct symbol_frame *frames = symbols_frames(fixture->symbols, location, &count);
    assert_true(index < count);
    return &frames[index];
}

static const struct symbol_function *function_of(const struct fixture *fixture, uint32_t location,
                                                 uint32_t index)
{
    return &fixture->symbols->functions[frame_of(fixture, location, index)->function];
}

static void assert_made_up(const struct fixture *fixture, uint32_t location, const char *name)
{
    const struct symbol_function *function = function_of(fixture, location, 0);
    assert_int_equal(frame_count(fixture, location), 1);
    assert_string_equal(function->name, name);
    assert_string_equal(function->system_name, name);
    assert_false(function->is_symbol);
    assert_null(function->file);
}

/* In this file, at that line. */
static void assert_here(const struct fixture *fixture, uint32_t location, uint32_t index, const char *name,
                        uint32_t line, uint32_t start_line)
{
    const struct symbol_function *function = function_of(fixture, location, index);
    const char *slash = strrchr(function->file, '/');
    assert_string_equal(function->system_name, name);
    assert_true(function->is_symbol);
    assert_int_equal(function->file[0], '/');
    assert_string_equal(slash + 1, "test_tool_names.c");
    assert_int_equal(function->start_line, start_line);
    assert_int_equal(frame_of(fixture, location, index)->line, line);
}

/* ---- the tests ---- */

static void pseudo_locations_have_their_names(void **state)
{
    struct fixture *fixture = *state;
    uint32_t anonymous = fake_location_index(&fixture->tree, 0, 0x12345678, 0);
    make_names(fixture);
    assert_int_equal(fixture->symbols->function_count, PSEUDO_COUNT + 1);
    for (int i = 0; i < PSEUDO_COUNT; i++) {
        const struct location *location = tree_location_at(&fixture->tree, fixture->tree.pseudo[i]);
        assert_made_up(fixture, location->index, tree_pseudo_name((enum pseudo_frame)i));
    }
    assert_made_up(fixture, anonymous, "[anonymous code]");
    assert_int_equal(fixture->symbols->module_count, 0);
}

static void inlined_calls_are_frames(void **state)
{
    struct fixture *fixture = *state;
    arena_ref module = add_own_module(fixture);
    uint32_t inner = fake_location_index(&fixture->tree, module, (uint64_t)(uintptr_t)spot_of_inner, 0);
    uint32_t outer = fake_location_index(&fixture->tree, module, (uint64_t)(uintptr_t)spot_of_outer, 0);
    make_names(fixture);
    assert_int_equal(frame_count(fixture, inner), 2);
    assert_here(fixture, inner, 0, "inner_function", INNER_SPOT, INNER_LINE);
    assert_here(fixture, inner, 1, "outer_function", INNER_CALL, OUTER_LINE);
    assert_int_equal(frame_count(fixture, outer), 1);
    assert_here(fixture, outer, 0, "outer_function", OUTER_SPOT, OUTER_LINE);
    assert_int_equal(symbols_function_of(fixture->symbols, inner),
                     symbols_function_of(fixture->symbols, outer));
    struct symbols_module known = symbols_module(fixture->symbols, module);
    assert_true(known.has_functions && known.has_files && known.has_lines && known.has_inlines);
    assert_int_equal(fixture->symbols->lost_file_count, 0);
}

static void one_file_loaded_twice_has_one_set_of_functions(void **state)
{
    struct fixture *fixture = *state;
    arena_ref first = add_own_module(fixture), second = add_own_module(fixture);
    module_at(fixture, second)->load_bias += OTHER_BIAS;
    uint32_t one = fake_location_index(&fixture->tree, first, (uint64_t)(uintptr_t)spot_of_outer, 0);
    uint32_t two =
        fake_location_index(&fixture->tree, second, (uint64_t)(uintptr_t)spot_of_outer + OTHER_BIAS, 0);
    make_names(fixture);
    assert_here(fixture, one, 0, "outer_function", OUTER_SPOT, OUTER_LINE);
    assert_int_equal(symbols_function_of(fixture->symbols, one), symbols_function_of(fixture->symbols, two));
    assert_int_equal(fixture->symbols->module_count, 2);
    assert_false(symbols_module(fixture->symbols, first).has_inlines);
}

static void another_file_is_not_believed(void **state)
{
    struct fixture *fixture = *state;
    arena_ref changed = add_own_module(fixture), without = add_own_module(fixture);
    module_at(fixture, changed)->build_id[0] ^= 1;
    module_at(fixture, without)->build_id_bytes = 0;
    uint64_t address = (uint64_t)(uintptr_t)spot_of_inner;
    uint32_t first = fake_location_index(&fixture->tree, changed, address, 0),
             second = fake_location_index(&fixture->tree, without, address, 0);
    make_names(fixture);
    char name[PATH_MAX + 64];
    snprintf(name, sizeof name, "[%s+0x%llx]", strrchr(fixture->own.path, '/') + 1,
             (unsigned long long)(address - fixture->own.load_bias));
    assert_made_up(fixture, first, name);
    assert_made_up(fixture, second, name);
    assert_int_equal(fixture->symbols->lost_file_count, 1); /* of one path */
    assert_int_equal(fixture->symbols->lost_files[0].error, -ESTALE);
    assert_int_equal(fixture->symbols->module_count, 0);
}

static void nameless_functions_are_grouped_by_their_start(void **state)
{
    struct fixture *fixture = *state;
    arena_ref module = fake_module(&fixture->modules, "/no/such/dir/libfoo.so", OTHER_BIAS);
    arena_ref again = fake_module(&fixture->modules, "/no/such/dir/libfoo.so", 2 * OTHER_BIAS);
    uint32_t known[] = {
        fake_location_index(&fixture->tree, module, OTHER_BIAS + 0x1234, OTHER_BIAS + 0x1200),
        fake_location_index(&fixture->tree, module, OTHER_BIAS + 0x1210, OTHER_BIAS + 0x1200),
        fake_location_index(&fixture->tree, again, 2 * OTHER_BIAS + 0x1220, 2 * OTHER_BIAS + 0x1200)};
    uint32_t unknown = fake_location_index(&fixture->tree, module, OTHER_BIAS + 0x2004, 0);
    make_names(fixture);
    for (int i = 0; i < 3; i++) {
        assert_made_up(fixture, known[i], "[libfoo.so+0x1200]");
        assert_int_equal(symbols_function_of(fixture->symbols, known[i]),
                         symbols_function_of(fixture->symbols, known[0]));
    }
    assert_made_up(fixture, unknown, "[libfoo.so+0x2004]");
    assert_int_equal(fixture->symbols->function_count, PSEUDO_COUNT + 2);
    assert_int_equal(fixture->symbols->lost_file_count, 1);
    assert_int_equal(fixture->symbols->lost_files[0].error, -ENOENT);
}

static void a_module_without_a_path_is_unknown(void **state)
{
    struct fixture *fixture = *state;
    arena_ref module = fake_module(&fixture->modules, "x", OTHER_BIAS);
    module_at(fixture, module)->path = 0;
    uint32_t location = fake_location_index(&fixture->tree, module, OTHER_BIAS + 0x10, 0);
    make_names(fixture);
    assert_made_up(fixture, location, "[unknown+0x10]");
    assert_int_equal(fixture->symbols->lost_file_count, 0);
}

/* The outermost function by the symbol that the process found;
 * but not where that only says which part it is. */
static void a_function_is_called_by_its_symbol(void **state)
{
    struct fixture *fixture = *state;
    arena_ref module = add_own_module(fixture);
    uint32_t inner = fake_location_index(&fixture->tree, module, (uint64_t)(uintptr_t)spot_of_inner, 0);
    uint32_t outer = fake_location_index(&fixture->tree, module, (uint64_t)(uintptr_t)spot_of_outer, 0);
    const struct names_known hints[] = {
        {.location = inner, .system_name = "outer_alias", .is_hint = true},
        {.location = outer, .system_name = "outer_function.constprop.0", .is_hint = true}};
    fixture->options = (struct names_options){.known = hints, .known_count = 2, .is_quiet = true};
    make_names(fixture);
    assert_here(fixture, inner, 0, "inner_function", INNER_SPOT, INNER_LINE);
    assert_here(fixture, inner, 1, "outer_alias", INNER_CALL, OUTER_LINE);
    assert_here(fixture, outer, 0, "outer_function", OUTER_SPOT, OUTER_LINE);
}

static void what_the_process_knew_comes_first(void **state)
{
    struct fixture *fixture = *state;
    arena_ref module = add_own_module(fixture);
    uint32_t code = fake_location_index(&fixture->tree, 0, 0x30001000, 0),
             again = fake_location_index(&fixture->tree, 0, 0x30001100, 0);
    uint32_t nameless = fake_location_index(&fixture->tree, 0, 0x30002000, 0);
    uint32_t inside = fake_location_index(&fixture->tree, module, (uint64_t)(uintptr_t)spot_of_inner, 0);
    const struct code_region regions[] = {
        {.start = 0x30000000, .end = 0x30003000, .path = "[JIT]", .has_names = true}};
    const struct names_known known[] = {{.location = code, .region = 1, .system_name = "_Z3hotv"},
                                        {.location = again, .region = 1, .system_name = "_Z3hotv"},
                                        {.location = nameless, .region = 1},
                                        {.location = inside, .name = "was here", .system_name = "was_here"},
                                        {.location = 1000000, .region = 1, .system_name = "nowhere"},
                                        {.location = nameless + 100, .region = 7}};
    fixture->options = (struct names_options){known, sizeof known / sizeof *known, regions, 1, true};
    make_names(fixture);
    assert_string_equal(function_of(fixture, code, 0)->name, "hot()");
    assert_string_equal(function_of(fixture, code, 0)->system_name, "_Z3hotv");
    assert_true(function_of(fixture, code, 0)->is_symbol);
    assert_int_equal(symbols_function_of(fixture->symbols, code),
                     symbols_function_of(fixture->symbols, again));
    assert_made_up(fixture, nameless, "[anonymous code]");
    assert_string_equal(function_of(fixture, inside, 0)->name, "was here");
    assert_string_equal(function_of(fixture, inside, 0)->system_name, "was_here");
    assert_int_equal(fixture->symbols->region_count, 1);
    assert_string_equal(fixture->symbols->regions[0].path, "[JIT]");
    assert_ptr_not_equal(fixture->symbols->regions[0].path, regions[0].path);
    assert_int_equal(fixture->symbols->region_of[code], 1);
    assert_int_equal(fixture->symbols->region_of[nameless], 1);
    assert_int_equal(fixture->symbols->region_of[inside], 0);
}

/* Where the kernel has its clock_gettime is found by its symbol. */
static void the_vdso_is_this_kernels_or_none(void **state)
{
    struct fixture *fixture = *state;
    const Elf64_Ehdr *header = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (!header)
        skip();
    arena_ref ours = fake_module(&fixture->modules, "[vdso]", OTHER_BIAS),
              other = fake_module(&fixture->modules, "[vdso]", 2 * OTHER_BIAS);
    struct module *module = module_at(fixture, ours);
    const Elf64_Phdr *segments = (const void *)((const char *)header + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_NOTE)
            module->build_id_bytes = (uint32_t)elf_build_id_in_notes(
                (const char *)header + segments[i].p_offset, segments[i].p_filesz, module->build_id,
                sizeof module->build_id);
    }
    assert_true(module->build_id_bytes > 0);
    *module_at(fixture, other) = *module;
    module_at(fixture, other)->load_bias = 2 * OTHER_BIAS;
    module_at(fixture, other)->build_id[3] ^= 0x10;
    uint64_t address = 0;
    struct string_pool names = {0};
    size_t bytes = header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr);
    struct elf_query query = {0};
    for (address = 0x400; address < bytes && !query.name; address += 16) {
        query.elf_address = address;
        elf_name_addresses_in_image(&names, header, bytes, &query, 1);
    }
    assert_non_null(query.name);
    uint32_t named = fake_location_index(&fixture->tree, ours, OTHER_BIAS + query.elf_address, 0);
    uint32_t nameless = fake_location_index(&fixture->tree, other, 2 * OTHER_BIAS + query.elf_address, 0);
    make_names(fixture);
    char name[64];
    snprintf(name, sizeof name, "[vdso+0x%llx]", (unsigned long long)query.elf_address);
    assert_string_equal(function_of(fixture, named, 0)->name, query.name);
    assert_made_up(fixture, nameless, name);
    assert_int_equal(fixture->symbols->lost_file_count, 0);
    string_pool_deinit(&names);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(pseudo_locations_have_their_names),
        TEST(inlined_calls_are_frames),
        TEST(one_file_loaded_twice_has_one_set_of_functions),
        TEST(another_file_is_not_believed),
        TEST(nameless_functions_are_grouped_by_their_start),
        TEST(a_module_without_a_path_is_unknown),
        TEST(a_function_is_called_by_its_symbol),
        TEST(what_the_process_knew_comes_first),
        TEST(the_vdso_is_this_kernels_or_none),
    };
    return outer_function(0) != 3 || cmocka_run_group_tests(tests, NULL, NULL);
}
