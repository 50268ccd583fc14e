/* Every location has a function, functions are neither split nor merged, and names are what people expect. */
#include "lib/unit.h"
#include "names/symbolize.h"
#include "elf/elf.h"
#include "lib/elf_builder.h"
#include "lib/fake_module.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { BIAS = 0x10000000 };

struct fixture {
    struct arena arena;
    struct tree tree;
    struct modules modules;
    struct symbolize_process process;
    struct symbols *symbols;
};

static char *fake_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.modules = {.list.arena = &fixture.arena}};
    *state = &fixture;
    return arena_init(&fixture.arena, 1 << 24) || tree_init(&fixture.tree, &fixture.arena);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    symbolize_destroy(fixture->symbols);
    tree_deinit(&fixture->tree);
    arena_deinit(&fixture->arena);
    return 0;
}

static void symbolize(struct fixture *fixture, symbolize_demangle_fn *demangle)
{
    fixture->process.modules = &fixture->modules;
    fixture->symbols = symbolize_create(&fixture->tree, &fixture->modules.list, demangle, &fixture->process);
    assert_non_null(fixture->symbols);
    for (uint32_t i = 0; i < fixture->tree.location_count; i++)
        assert_true(symbols_function_of(fixture->symbols, i) < fixture->symbols->function_count);
}

static const struct symbol_function *function_of(const struct fixture *fixture, uint32_t location)
{
    return &fixture->symbols->functions[symbols_function_of(fixture->symbols, location)];
}

static void assert_made_up(const struct fixture *fixture, uint32_t location, const char *name)
{
    const struct symbol_function *function = function_of(fixture, location);
    assert_string_equal(function->name, name);
    assert_string_equal(function->system_name, name);
    assert_false(function->is_symbol);
}

static void assert_symbol(const struct fixture *fixture, uint32_t location, const char *name,
                          const char *system_name)
{
    const struct symbol_function *function = function_of(fixture, location);
    assert_string_equal(function->name, name);
    assert_string_equal(function->system_name, system_name);
    assert_true(function->is_symbol);
}

static void pseudo_locations_have_their_names(void **state)
{
    struct fixture *fixture = *state;
    symbolize(fixture, NULL);
    assert_int_equal(fixture->symbols->function_count, PSEUDO_COUNT);
    for (int i = 0; i < PSEUDO_COUNT; i++) {
        const struct location *location = tree_location_at(&fixture->tree, fixture->tree.pseudo[i]);
        assert_made_up(fixture, location->index, tree_pseudo_name((enum pseudo_frame)i));
    }
}

/* ---- code outside all modules ---- */

static const struct code_region *region_of(const struct fixture *fixture, uint32_t location)
{
    uint32_t region = fixture->symbols->region_of[location];
    return region ? &fixture->symbols->regions[region - 1] : NULL;
}

static void assert_region(const struct fixture *fixture, uint32_t location, uint64_t start, uint64_t end,
                          const char *path)
{
    const struct code_region *region = region_of(fixture, location);
    assert_non_null(region);
    assert_int_equal(region->start, start);
    assert_int_equal(region->end, end);
    assert_string_equal(region->path, path);
}

static void code_without_a_module_is_anonymous(void **state)
{
    struct fixture *fixture = *state;
    arena_ref module = fake_module(&fixture->modules.list, "/no/such", BIAS);
    uint32_t first = fake_location_index(&fixture->tree, 0, 0x12345008, 0),
             last = fake_location_index(&fixture->tree, 0, 0x12347fff, 0);
    uint32_t far = fake_location_index(&fixture->tree, 0, 0x22345fff, 0);
    uint32_t inside = fake_location_index(&fixture->tree, module, BIAS + 1, 0);
    symbolize(fixture, NULL);
    assert_made_up(fixture, first, "[anonymous code]");
    assert_int_equal(symbols_function_of(fixture->symbols, first),
                     symbols_function_of(fixture->symbols, last));
    assert_int_equal(symbols_function_of(fixture->symbols, first),
                     symbols_function_of(fixture->symbols, far));
    /* Nothing is mapped there: the pages that were seen, as far as they are near each other. */
    assert_int_equal(fixture->symbols->region_count, 2);
    assert_region(fixture, first, 0x12345000, 0x12348000, "[anonymous executable]");
    assert_ptr_equal(region_of(fixture, last), region_of(fixture, first));
    assert_region(fixture, far, 0x22345000, 0x22346000, "[anonymous executable]");
    assert_null(region_of(fixture, inside));
    for (int i = 0; i < PSEUDO_COUNT; i++)
        assert_null(region_of(fixture, (uint32_t)i));
}

/* The list of a process that is not running; its number is above all that Linux gives (4194304). */
static void listed_code_has_its_names(void **state)
{
    struct fixture *fixture = *state;
    char path[PERF_MAP_PATH_BYTES];
    struct perf_maps maps;
    static const char text[] = "30001000 100 hot one\n30002000 100 _Z1f\n30001100 80 hot one\n";
    perf_maps_init(&maps, 1000000000 + getpid(), 0, NULL);
    perf_map_path(maps.sources[0].pid, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    fixture->process.perf_maps = &maps;
    uint32_t first = fake_location_index(&fixture->tree, 0, 0x30001000, 0),
             again = fake_location_index(&fixture->tree, 0, 0x30001150, 0);
    uint32_t mangled = fake_location_index(&fixture->tree, 0, 0x30002001, 0);
    uint32_t unlisted = fake_location_index(&fixture->tree, 0, 0x30002100, 0);
    /* A module has the same addresses: the list is not about it. */
    uint32_t inside = fake_location_index(&fixture->tree, fake_module(&fixture->modules.list, "/no/such", 0),
                                          0x30001000, 0);
    symbolize(fixture, fake_demangle);
    close(fd);
    unlink(path);
    assert_symbol(fixture, first, "hot one", "hot one");
    assert_int_equal(symbols_function_of(fixture->symbols, first),
                     symbols_function_of(fixture->symbols, again)); /* compiled twice, one function */
    assert_symbol(fixture, mangled, "demangled(1f)", "_Z1f");
    assert_made_up(fixture, unlisted, "[anonymous code]");
    assert_made_up(fixture, inside, "[such+0x30001000]");
    assert_int_equal(fixture->symbols->region_count, 1);
    assert_region(fixture, unlisted, 0x30001000, 0x30003000, "[JIT]");
    assert_true(region_of(fixture, first)->has_names);
    assert_null(region_of(fixture, inside));
}

static void nameless_functions_are_grouped_by_their_start(void **state)
{
    struct fixture *fixture = *state;
    arena_ref module = fake_module(&fixture->modules.list, "/no/such/dir/libfoo.so", BIAS);
    uint32_t known[] = {fake_location_index(&fixture->tree, module, BIAS + 0x1234, BIAS + 0x1200),
                        fake_location_index(&fixture->tree, module, BIAS + 0x1210, BIAS + 0x1200)};
    uint32_t unknown[] = {fake_location_index(&fixture->tree, module, BIAS + 0x2000, 0),
                          fake_location_index(&fixture->tree, module, BIAS + 0x2004, 0)};
    /* Another function lies between two parts of the first one. */
    uint32_t part = fake_location_index(&fixture->tree, module, BIAS + 0x3000, BIAS + 0x1200);
    symbolize(fixture, NULL);
    assert_made_up(fixture, known[0], "[libfoo.so+0x1200]");
    assert_int_equal(symbols_function_of(fixture->symbols, known[0]),
                     symbols_function_of(fixture->symbols, known[1]));
    assert_int_equal(symbols_function_of(fixture->symbols, known[0]),
                     symbols_function_of(fixture->symbols, part));
    assert_made_up(fixture, unknown[0], "[libfoo.so+0x2000]");
    assert_made_up(fixture, unknown[1], "[libfoo.so+0x2004]");
    assert_int_equal(fixture->symbols->function_count, PSEUDO_COUNT + 3);
    assert_false(symbols_module(fixture->symbols, module).has_functions);
}

static void made_up_names_stand_once(void **state)
{
    struct fixture *fixture = *state;
    arena_ref before = fake_module(&fixture->modules.list, "/no/such/libfoo.so", BIAS);
    arena_ref after = fake_module(&fixture->modules.list, "/no/such/libfoo.so", 2 * BIAS);
    arena_ref other = fake_module(&fixture->modules.list, "/no/such/libbar.so", 3 * BIAS);
    uint32_t first = fake_location_index(&fixture->tree, before, BIAS + 0x10, 0);
    uint32_t second = fake_location_index(&fixture->tree, after, 2 * BIAS + 0x10, 0);
    uint32_t third = fake_location_index(&fixture->tree, other, 3 * BIAS + 0x10, 0);
    symbolize(fixture, NULL);
    assert_made_up(fixture, first, "[libfoo.so+0x10]");
    assert_made_up(fixture, third, "[libbar.so+0x10]");
    assert_int_equal(symbols_function_of(fixture->symbols, first),
                     symbols_function_of(fixture->symbols, second));
    assert_int_equal(fixture->symbols->function_count, PSEUDO_COUNT + 2);
}

static void odd_paths_make_readable_names(void **state)
{
    struct fixture *fixture = *state;
    char path[4096];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    uint32_t bracketed = fake_location_index(
        &fixture->tree, fake_module(&fixture->modules.list, "[program]", BIAS), BIAS + 1, 0);
    uint32_t relative =
        fake_location_index(&fixture->tree, fake_module(&fixture->modules.list, "lib.so", BIAS), BIAS + 1, 0);
    uint32_t empty =
        fake_location_index(&fixture->tree, fake_module(&fixture->modules.list, "", BIAS), BIAS + 1, 0);
    uint32_t longest =
        fake_location_index(&fixture->tree, fake_module(&fixture->modules.list, path, BIAS), BIAS + 1, 0);
    arena_ref unnamed = fake_module(&fixture->modules.list, "x", BIAS);
    ((struct module *)arena_at(&fixture->arena, unnamed))->path = 0;
    uint32_t pathless = fake_location_index(&fixture->tree, unnamed, BIAS + 1, 0);
    symbolize(fixture, NULL);
    assert_made_up(fixture, bracketed, "[program+0x1]");
    assert_made_up(fixture, relative, "[lib.so+0x1]");
    assert_made_up(fixture, empty, "[+0x1]");
    assert_made_up(fixture, pathless, "[unknown+0x1]");
    assert_true(strlen(function_of(fixture, longest)->name) < 300);
}

/* ---- symbols ---- */

__attribute__((noinline)) static int static_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x * 3;
}

static int store_first_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static void own_functions_are_found(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_MAX] = "";
    uint64_t bias = 0;
    dl_iterate_phdr(store_first_bias, &bias);
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    arena_ref module = fake_module(&fixture->modules.list, path, bias),
              other = fake_module(&fixture->modules.list, "/no/such", bias);
    uint32_t start = fake_location_index(&fixture->tree, module, (uintptr_t)static_function, 0);
    uint32_t inside = fake_location_index(&fixture->tree, module, (uintptr_t)static_function + 2,
                                          (uintptr_t)static_function);
    uint32_t setup_at = fake_location_index(&fixture->tree, module, (uintptr_t)setup, 0);
    uint32_t elsewhere = fake_location_index(&fixture->tree, other, (uintptr_t)static_function, 0);
    symbolize(fixture, NULL);
    assert_symbol(fixture, start, "static_function", "static_function");
    assert_symbol(fixture, setup_at, "setup", "setup");
    assert_int_equal(symbols_function_of(fixture->symbols, start),
                     symbols_function_of(fixture->symbols, inside));
    assert_false(function_of(fixture, elsewhere)->is_symbol);
    assert_true(symbols_module(fixture->symbols, module).has_functions);
    assert_false(symbols_module(fixture->symbols, other).has_functions);
    assert_false(symbols_module(fixture->symbols, 0).has_functions);
}

static void the_vdso_is_read_from_memory(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t image = getauxval(AT_SYSINFO_EHDR);
    if (image == 0)
        skip();
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(uintptr_t)image;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(uintptr_t)(image + header->e_phoff);
    arena_ref module = fake_module(&fixture->modules.list, "[vdso]", image);
    struct module *vdso = arena_at(&fixture->arena, module);
    vdso->loaded_low = image;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD)
            vdso->loaded_high = image + segments[i].p_vaddr + segments[i].p_memsz;
    }
    for (uint64_t address = image; address < vdso->loaded_high; address += 16)
        fake_location_index(&fixture->tree, module, address, 0);
    symbolize(fixture, NULL);
    bool found = false;
    for (uint32_t i = 0; i < fixture->symbols->function_count; i++)
        found |= strstr(fixture->symbols->functions[i].name, "clock_gettime") != NULL;
    assert_true(found);
    uint32_t first = symbols_function_of(fixture->symbols, PSEUDO_COUNT);
    assert_string_equal(fixture->symbols->functions[first].name, "[vdso+0x0]");
}

/* A module whose file has these symbols, at BIAS. The descriptor keeps the file; the caller closes it. */
static arena_ref add_built_module(struct fixture *fixture, const struct built_symbol *symbols, size_t count,
                                  int *fd)
{
    struct built_elf elf = built_elf_create(symbols, count, NULL, 0, 1);
    char path[64];
    *fd = built_file_create(elf.bytes, elf.size, path);
    built_elf_destroy(&elf);
    return fake_module(&fixture->modules.list, path, BIAS);
}

static void functions_of_one_name_stay_apart(void **state)
{
    static const struct built_symbol symbols[] = {{"helper", 0x1000, 0x100, FUNC(LOCAL), TEXT},
                                                  {"nested", 0x1040, 0x10, FUNC(LOCAL), TEXT},
                                                  {"helper", 0x1100, 0x100, FUNC(LOCAL), TEXT}};
    struct fixture *fixture = *state;
    int fd;
    arena_ref module = add_built_module(fixture, symbols, COUNT(symbols), &fd);
    uint32_t first = fake_location_index(&fixture->tree, module, BIAS + 0x1000, 0);
    uint32_t nested = fake_location_index(&fixture->tree, module, BIAS + 0x1044, 0);
    uint32_t again = fake_location_index(&fixture->tree, module, BIAS + 0x1080, 0);
    uint32_t second = fake_location_index(&fixture->tree, module, BIAS + 0x1100, 0);
    symbolize(fixture, NULL);
    assert_symbol(fixture, first, "helper", "helper");
    assert_symbol(fixture, nested, "nested", "nested");
    assert_symbol(fixture, second, "helper", "helper");
    assert_int_equal(symbols_function_of(fixture->symbols, first),
                     symbols_function_of(fixture->symbols, again));
    assert_int_not_equal(symbols_function_of(fixture->symbols, first),
                         symbols_function_of(fixture->symbols, second));
    assert_int_equal(fixture->symbols->function_count, PSEUDO_COUNT + 3);
    close(fd);
}

static void modules_do_not_share_symbols(void **state)
{
    static const struct built_symbol symbols[] = {{"f", 0x1000, 0x100, FUNC(LOCAL), TEXT},
                                                  {"g", 0x1000, 0x100, FUNC(GLOBAL), TEXT}};
    struct fixture *fixture = *state;
    int fds[2];
    uint32_t f =
        fake_location_index(&fixture->tree, add_built_module(fixture, symbols, 1, &fds[0]), BIAS + 0x1000, 0);
    uint32_t g =
        fake_location_index(&fixture->tree, add_built_module(fixture, symbols, 2, &fds[1]), BIAS + 0x1000, 0);
    symbolize(fixture, NULL);
    assert_symbol(fixture, f, "f", "f");
    assert_symbol(fixture, g, "g", "g");
    close(fds[0]);
    close(fds[1]);
}

static void a_label_ends_where_a_function_is_known_to_start(void **state)
{
    static const struct built_symbol symbols[] = {{"label", 0x1000, 0, NOTYPE(GLOBAL), TEXT}};
    struct fixture *fixture = *state;
    int fd;
    arena_ref module = add_built_module(fixture, symbols, COUNT(symbols), &fd);
    uint32_t unknown = fake_location_index(&fixture->tree, module, BIAS + 0x1020, 0);
    uint32_t same = fake_location_index(&fixture->tree, module, BIAS + 0x1030, BIAS + 0x1000);
    uint32_t later = fake_location_index(&fixture->tree, module, BIAS + 0x1810, BIAS + 0x1800);
    symbolize(fixture, NULL);
    assert_symbol(fixture, unknown, "label", "label");
    assert_symbol(fixture, same, "label", "label");
    assert_false(function_of(fixture, later)->is_symbol);
    close(fd);
}

static void a_replaced_file_is_not_believed(void **state)
{
    static const struct built_symbol symbols[] = {{"f", 0x1000, 0x100, FUNC(LOCAL), TEXT}};
    struct fixture *fixture = *state;
    int fds[2];
    arena_ref refs[2];
    uint32_t locations[2];
    for (int i = 0; i < 2; i++) {
        refs[i] = add_built_module(fixture, symbols, COUNT(symbols), &fds[i]);
        struct module *module = arena_at(&fixture->arena, refs[i]);
        module->build_id_bytes = BUILT_BUILD_ID_BYTES;
        module->build_id[0] = (uint8_t)(1 + i); /* the file's is 1 */
        module->build_id[1] = 0xab;
        locations[i] = fake_location_index(&fixture->tree, refs[i], BIAS + 0x1008, 0);
    }
    symbolize(fixture, NULL);
    assert_symbol(fixture, locations[0], "f", "f");
    assert_false(function_of(fixture, locations[1])->is_symbol);
    assert_true(symbols_module(fixture->symbols, refs[0]).has_functions);
    assert_false(symbols_module(fixture->symbols, refs[1]).has_functions);
    assert_int_equal(fixture->symbols->lost_file_count, 1);
    assert_int_equal(fixture->symbols->lost_files[0].module, refs[1]);
    assert_int_equal(fixture->symbols->lost_files[0].error, -ESTALE);
    close(fds[0]);
    close(fds[1]);
}

struct libc_object {
    uint64_t bias, code_start, code_end;
    char path[PATH_MAX];
    uint8_t build_id[MODULE_BUILD_ID_MAX_BYTES];
    uint32_t build_id_bytes;
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
    struct libc_object *libc = data;
    (void)size;
    if (!strstr(info->dlpi_name, "/libc.so"))
        return 0;
    libc->bias = info->dlpi_addr;
    snprintf(libc->path, sizeof libc->path, "%s", info->dlpi_name);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            libc->code_start = start;
            libc->code_end = start + segment->p_memsz;
        }
        if (segment->p_type == PT_NOTE && libc->build_id_bytes == 0)
            libc->build_id_bytes = (uint32_t)elf_build_id_in_notes(
                (const void *)(uintptr_t)start, segment->p_memsz, libc->build_id, sizeof libc->build_id);
    }
    return 1;
}

/* Without a build-id the debug file cannot be found: the difference is what it knows. */
static void debug_files_name_what_was_stripped(void **state)
{
    enum { STEP_BYTES = 64 };
    struct fixture *fixture = *state;
    struct libc_object libc = {0};
    char debug_path[128] = "/usr/lib/debug/.build-id/";
    dl_iterate_phdr(find_libc, &libc);
    for (uint32_t i = 0; i < libc.build_id_bytes; i++)
        sprintf(debug_path + strlen(debug_path), i == 1 ? "/%02x" : "%02x", libc.build_id[i]);
    if (access(strcat(debug_path, ".debug"), R_OK) != 0)
        skip(); /* the C library's debug symbols are not installed */
    arena_ref full = fake_module(&fixture->modules.list, libc.path, libc.bias),
              stripped = fake_module(&fixture->modules.list, libc.path, libc.bias);
    struct module *module = arena_at(&fixture->arena, full);
    memcpy(module->build_id, libc.build_id, sizeof libc.build_id);
    module->build_id_bytes = libc.build_id_bytes;
    for (uint64_t address = libc.code_start; address < libc.code_end; address += STEP_BYTES) {
        fake_location_index(&fixture->tree, full, address, 0);
        fake_location_index(&fixture->tree, stripped, address, 0);
    }
    symbolize(fixture, NULL);
    unsigned with = 0, without = 0;
    for (uint32_t i = PSEUDO_COUNT; i < fixture->tree.location_count; i += 2) {
        with += function_of(fixture, i)->is_symbol;
        without += function_of(fixture, i + 1)->is_symbol;
    }
    assert_true(without > 0);
    assert_true(with > without + without / 10);
}

/* ---- demangling ---- */

static char *fake_demangle(const char *mangled, char *buffer, size_t *length, int *status)
{
    assert_null(buffer);
    assert_null(length);
    assert_memory_equal(mangled, "_Z", 2);
    *status = strstr(mangled, "bad") ? -2 : 0;
    char *result = NULL;
    if (*status == 0)
        assert_true(asprintf(&result, "demangled(%s)", mangled + 2) > 0);
    return result;
}

static const struct built_symbol mangled_symbols[] = {
    {"_Z1f", 0x1000, 16, FUNC(GLOBAL), TEXT},     {"_Zbad", 0x1010, 16, FUNC(GLOBAL), TEXT},
    {"_Z1g@@V2", 0x1020, 16, FUNC(GLOBAL), TEXT}, {"plain", 0x1030, 16, FUNC(GLOBAL), TEXT},
    {"_Y", 0x1040, 16, FUNC(GLOBAL), TEXT},
};

static void names_are_demangled(void **state)
{
    static const char *const expected[] = {"demangled(1f)", "_Zbad", "demangled(1g)@@V2", "plain", "_Y"};
    struct fixture *fixture = *state;
    int fd;
    arena_ref module = add_built_module(fixture, mangled_symbols, COUNT(mangled_symbols), &fd);
    uint32_t locations[COUNT(mangled_symbols)];
    for (size_t i = 0; i < COUNT(mangled_symbols); i++)
        locations[i] = fake_location_index(&fixture->tree, module, BIAS + mangled_symbols[i].value, 0);
    symbolize(fixture, fake_demangle);
    for (size_t i = 0; i < COUNT(mangled_symbols); i++)
        assert_symbol(fixture, locations[i], expected[i], mangled_symbols[i].name);
    close(fd);
}

static void without_a_demangler_names_stay(void **state)
{
    struct fixture *fixture = *state;
    int fd;
    arena_ref module = add_built_module(fixture, mangled_symbols, COUNT(mangled_symbols), &fd);
    uint32_t location = fake_location_index(&fixture->tree, module, BIAS + 0x1000, 0);
    symbolize(fixture, NULL);
    assert_symbol(fixture, location, "_Z1f", "_Z1f");
    close(fd);
}

/* ---- scale ---- */

static void thousands_of_locations_are_kept_apart(void **state)
{
    enum { LOCATIONS = 20000, MODULES = 7 };
    struct fixture *fixture = *state;
    arena_ref modules[MODULES];
    char path[32], name[64];
    for (int i = 0; i < MODULES; i++) {
        snprintf(path, sizeof path, "/no/such/lib%d.so", i);
        modules[i] = fake_module(&fixture->modules.list, path, BIAS);
    }
    for (uint32_t i = 0; i < LOCATIONS; i++)
        fake_location_index(&fixture->tree, modules[i % MODULES], BIAS + (i * 2654435761U) % 1000003, 0);
    symbolize(fixture, NULL);
    assert_int_equal(fixture->symbols->function_count, fixture->tree.location_count);
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        snprintf(name, sizeof name, "[lib%d.so+0x%x]", (int)(i % MODULES), (i * 2654435761U) % 1000003);
        assert_made_up(fixture, PSEUDO_COUNT + i, name);
    }
}

#define SYMBOLIZE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SYMBOLIZE_TEST(pseudo_locations_have_their_names),
        SYMBOLIZE_TEST(code_without_a_module_is_anonymous),
        SYMBOLIZE_TEST(listed_code_has_its_names),
        SYMBOLIZE_TEST(nameless_functions_are_grouped_by_their_start),
        SYMBOLIZE_TEST(made_up_names_stand_once),
        SYMBOLIZE_TEST(odd_paths_make_readable_names),
        SYMBOLIZE_TEST(own_functions_are_found),
        SYMBOLIZE_TEST(the_vdso_is_read_from_memory),
        SYMBOLIZE_TEST(functions_of_one_name_stay_apart),
        SYMBOLIZE_TEST(modules_do_not_share_symbols),
        SYMBOLIZE_TEST(a_label_ends_where_a_function_is_known_to_start),
        SYMBOLIZE_TEST(a_replaced_file_is_not_believed),
        SYMBOLIZE_TEST(debug_files_name_what_was_stripped),
        SYMBOLIZE_TEST(names_are_demangled),
        SYMBOLIZE_TEST(without_a_demangler_names_stay),
        SYMBOLIZE_TEST(thousands_of_locations_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
