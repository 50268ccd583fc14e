/* What is mapped where: the records against the loader's own word (dladdr, dl_iterate_phdr), through dlopen
 * and dlclose. */
#include "unit.h"
#include "modules.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static struct wp_arena arena;
static struct wp_modules modules;

static int setup(void **state)
{
    (void)state;
    return arena_init(&arena, 1 << 20) < 0 || modules_init(&modules, &arena) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    modules_deinit(&modules);
    arena_deinit(&arena);
    return 0;
}

static const struct wp_module *module_of(const void *address)
{
    arena_ref ref = modules_find(&modules, (uint64_t)(uintptr_t)address);
    return ref ? arena_at(&arena, ref) : NULL;
}

static const char *path_of(const struct wp_module *module)
{
    return arena_at(&arena, module->path);
}

static void the_program_and_its_libraries_are_known(void **state)
{
    Dl_info info;
    char program[4096];
    (void)state;
    const struct wp_module *main_module = module_of((void *)(uintptr_t)setup);
    assert_non_null(main_module);
    assert_true(main_module->is_main);
    assert_non_null(realpath("/proc/self/exe", program));
    assert_string_equal(path_of(main_module), program);
    const struct wp_module *libc = module_of((void *)(uintptr_t)qsort);
    assert_true(dladdr((void *)(uintptr_t)qsort, &info) != 0);
    assert_string_equal(path_of(libc), info.dli_fname);
    assert_int_equal(libc->load_bias, (uint64_t)(uintptr_t)info.dli_fbase);
    assert_false(libc->is_main);
    assert_int_equal(libc->build_id_bytes, 20);
    assert_true(libc->cfi_low <= libc->eh_frame_hdr && libc->eh_frame_hdr < libc->cfi_high);
}

static void the_vdso_is_known(void **state)
{
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    (void)state;
    const struct wp_module *module = module_of((void *)(uintptr_t)(vdso + 0x800));
    assert_non_null(module);
    assert_string_equal(path_of(module), "[vdso]");
}

static void data_and_stack_are_no_code(void **state)
{
    (void)state;
    assert_null(module_of(&modules));
    assert_null(module_of(&state));
    assert_null(module_of(NULL));
}

static void a_function_starts_where_it_starts(void **state)
{
    uint64_t start = (uint64_t)(uintptr_t)setup;
    (void)state;
    arena_ref module = modules_find(&modules, start);
    assert_int_equal(modules_function_start(&modules, module, start + 9), start);
}

static void nothing_changed_is_told(void **state)
{
    (void)state;
    assert_false(modules_refresh(&modules));
}

/* A library that was not there, that goes, and that comes back: one record, marked as it is. */
static void a_library_comes_and_goes(void **state)
{
    (void)state;
    uint32_t count = modules.count, loaded = modules.sorted_count;
    void *handle = dlopen("libz.so.1", RTLD_NOW);
    if (!handle)
        skip();
    const void *code = dlsym(handle, "adler32");
    assert_null(module_of(code)); /* not before the next look */
    assert_true(modules_refresh(&modules));
    const struct wp_module *module = module_of(code);
    assert_non_null(strstr(path_of(module), "/libz.so"));
    assert_int_equal(modules.count, count + 1);
    dlclose(handle);
    assert_true(modules_refresh(&modules));
    assert_null(module_of(code));
    assert_false(module->is_loaded);
    assert_non_null(strstr(path_of(module), "/libz.so")); /* the name stays */
    assert_int_equal(modules.sorted_count, loaded);
    assert_int_equal(modules_function_start(&modules, modules.newest, (uint64_t)(uintptr_t)code), 0);
}

static void the_table_for_handlers_is_sorted_and_disjoint(void **state)
{
    (void)state;
    const struct sig_modules_table *table = modules_table(&modules);
    assert_int_equal(table->count, modules.sorted_count);
    for (size_t i = 0; i < table->count; i++) {
        assert_true(table->modules[i].start_pc < table->modules[i].end_pc);
        assert_true(i == 0 || table->modules[i - 1].end_pc <= table->modules[i].start_pc);
    }
    assert_non_null(sig_modules_find(table, (uint64_t)(uintptr_t)qsort));
    assert_null(sig_modules_find(table, (uint64_t)(uintptr_t)&arena));
    assert_null(sig_modules_find(NULL, 1));
    assert_ptr_not_equal(modules_table(&modules), table); /* the old one stays whole until the next */
    assert_ptr_equal(modules_table(&modules), table);
}

static void a_full_arena_drops_and_counts(void **state)
{
    struct wp_arena small;
    struct wp_modules some;
    (void)state;
    assert_int_equal(arena_init(&small, 4096), 0);
    while (arena_alloc_reserved(&small, 64))
        ;
    assert_true(modules_init(&some, &small) < 0);
    assert_true(some.dropped > 0);
    modules_deinit(&some);
    arena_deinit(&small);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_program_and_its_libraries_are_known),
        TEST(the_vdso_is_known),
        TEST(data_and_stack_are_no_code),
        TEST(a_function_starts_where_it_starts),
        TEST(nothing_changed_is_told),
        TEST(a_library_comes_and_goes),
        TEST(the_table_for_handlers_is_sorted_and_disjoint),
        TEST(a_full_arena_drops_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
