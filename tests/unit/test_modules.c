/* What is mapped where: the records against the loader's own word (dladdr, dl_iterate_phdr), through dlopen
 * and dlclose. */
#include "lib/unit.h"
#include "lib/arch.h"
#include "modules/modules.h"
#include "sig/cfi/sig_cfi.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static struct arena arena;
static struct modules modules;

static int setup(void **state)
{
    return arena_init(&arena, 1 << 20) < 0 || modules_init(&modules, &arena) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    modules_deinit(&modules);
    arena_deinit(&arena);
    return 0;
}

static const struct module *module_of(const void *address)
{
    arena_ref ref = modules_find(&modules, (uint64_t)(uintptr_t)address);
    return ref ? arena_at(&arena, ref) : NULL;
}

static const char *path_of(const struct module *module)
{
    return arena_at(&arena, module->path);
}

static void the_program_and_its_libraries_are_known(void **state)
{
    Dl_info info;
    char program[4096];
    const struct module *main_module = module_of((void *)(uintptr_t)setup);
    assert_non_null(main_module);
    assert_true(main_module->is_main);
    assert_non_null(realpath("/proc/self/exe", program));
    assert_string_equal(path_of(main_module), program);
    const struct module *libc = module_of((void *)(uintptr_t)qsort);
    assert_true(dladdr((void *)(uintptr_t)qsort, &info) != 0);
    assert_string_equal(path_of(libc), info.dli_fname);
    assert_int_equal(libc->load_bias, (uint64_t)(uintptr_t)info.dli_fbase);
    assert_false(libc->is_main);
    assert_int_equal(libc->build_id_bytes, 20);
    assert_true(libc->cfi_low <= libc->eh_frame_hdr && libc->eh_frame_hdr < libc->cfi_high);
    assert_true(main_module->is_permanent && libc->is_permanent);
}

static void the_vdso_is_known(void **state)
{
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (!vdso)
        skip(); /* qemu-user before 8.2 has none */
    const struct module *module = module_of((void *)(uintptr_t)(vdso + 0x800));
    assert_non_null(module);
    assert_string_equal(path_of(module), "[vdso]");
    assert_true(module->is_permanent);
}

static void data_and_stack_are_no_code(void **state)
{
    assert_null(module_of(&modules));
    assert_null(module_of(&state));
    assert_null(module_of(NULL));
}

static void a_function_starts_where_it_starts(void **state)
{
    uint64_t start = (uint64_t)(uintptr_t)setup;
    if (!kernel_copies_memory())
        skip();
    arena_ref module = modules_find(&modules, start);
    assert_int_equal(modules_function_start(&modules, module, start + 9), start);
}

static void nothing_changed_is_told(void **state)
{
    assert_false(modules_refresh(&modules));
}

/* A library that was not there, that goes, and that comes back: one record, marked as it is. */
static void a_library_comes_and_goes(void **state)
{
    uint32_t count = modules.list.count, loaded = modules.now.count;
    void *handle = dlopen("libz.so.1", RTLD_NOW);
    if (!handle)
        skip();
    const void *code = dlsym(handle, "adler32");
    assert_null(module_of(code)); /* not before the next snapshot */
    assert_true(modules_refresh(&modules));
    const struct module *module = module_of(code);
    assert_non_null(strstr(path_of(module), "/libz.so"));
    assert_false(module->is_permanent);
    assert_non_null(modules_table(&modules));
    assert_int_equal(modules.list.count, count + 1);
    dlclose(handle);
    assert_true(modules_refresh(&modules));
    assert_null(module_of(code));
    assert_false(module->is_loaded);
    assert_non_null(strstr(path_of(module), "/libz.so")); /* the name stays */
    assert_int_equal(modules.now.count, loaded);
    if (kernel_copies_memory())
        assert_int_equal(modules_function_start(&modules, modules.list.newest, (uint64_t)(uintptr_t)code + 1),
                         code);
}

static void the_table_for_handlers_is_sorted_and_disjoint(void **state)
{
    const struct sig_modules_table *table = modules_table(&modules);
    assert_int_equal(table->count, modules.now.count);
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

/* What is loaded is known again, as it was, and nothing else;
 * no table has anything of the arena in between. */
static void a_cleared_arena_has_what_is_loaded(void **state)
{
    struct modules_saved kept;
    struct module segment = {.start_pc = 0x10000, .end_pc = 0x20000, .is_first_segment = true};
    struct loader_state there = {.loads = modules.now.loads + 1, .unloads = modules.now.unloads};
    modules_begin_snapshot(&modules);
    modules_add_segment(&modules, &segment, "a-name-that-is-not-absolute.so");
    modules_end_snapshot(&modules, &there);
    assert_int_not_equal(modules_find(&modules, 0x15000), 0);
    assert_true(modules_refresh(&modules)); /* it is gone: the snapshot before still has it */
    uint32_t count = modules.now.count, number = modules.now.number;
    char path[PATH_MAX];
    strcpy(path, path_of(module_of((void *)(uintptr_t)qsort)));
    assert_non_null(modules_table(&modules));

    modules_drop_search_tables(&modules);
    const struct sig_modules_table *bare = modules_table(&modules);
    for (size_t i = 0; i < bare->count; i++)
        assert_null(bare->modules[i].search);
    assert_int_equal(modules_save_records(&modules, &kept), 0);
    arena_clear(&arena);
    modules_restore_records(&modules, &kept);

    assert_int_equal(modules.now.count, count);
    assert_int_equal(modules.now.number, number);
    assert_int_equal(modules.dropped, 0);
    assert_true(modules.list.count <= count + 1);
    const struct module *libc = module_of((void *)(uintptr_t)qsort);
    assert_string_equal(path_of(libc), path);
    assert_true(libc->is_loaded);
    assert_false(libc->is_sampled);
    if (kernel_copies_memory())
        assert_int_not_equal(
            modules_function_start(&modules, modules_find(&modules, (uintptr_t)qsort), (uintptr_t)qsort), 0);
    assert_true(module_of((void *)(uintptr_t)setup)->is_main);
    assert_false(modules_refresh(&modules)); /* nothing has changed, as far as the loader goes */
    arena_ref gone;
    struct modules_moment then = {.snapshot = modules.before.number};
    if (modules_at(&modules, 0x15000, &then, &gone) && gone)
        assert_non_null(strstr(path_of(arena_at(&arena, gone)), "/a-name-that-is-not-absolute.so"));
    assert_non_null(modules_table(&modules));
}

/* As if the loader had this one library and nothing else. */
static arena_ref only(int number)
{
    char name[32];
    struct module segment = {.start_pc = 0x10000, .end_pc = 0x20000, .is_first_segment = true};
    struct loader_state state = {.loads = (uint64_t)number, .unloads = (uint64_t)number};
    snprintf(name, sizeof(name), "/lib%d.so", number);
    modules_begin_snapshot(&modules);
    modules_add_segment(&modules, &segment, name);
    modules_end_snapshot(&modules, &state);
    return modules_find(&modules, 0x10000);
}

static void thousands_of_libraries_are_told_apart(void **state)
{
    enum { LIBRARIES = 3000 };
    static arena_ref refs[LIBRARIES];
    uint32_t count = modules.list.count;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < LIBRARIES; i++) {
            arena_ref ref = only(i);
            assert_int_not_equal(ref, 0);
            if (round > 0)
                assert_int_equal(ref, refs[i]);
            refs[i] = ref;
            assert_true(((struct module *)arena_at(&arena, ref))->is_loaded);
            assert_true(i == 0 || !((struct module *)arena_at(&arena, refs[i - 1]))->is_loaded);
        }
    }
    assert_int_equal(modules.list.count, count + LIBRARIES);
}

static void fill_arena(void)
{
    while (arena_alloc(&arena, 8))
        ;
}

/* Its record finds no room: it is unwound all the same, and has no name. */
static void a_library_without_room_is_published(void **state)
{
    uint32_t count = modules.list.count;
    fill_arena();
    void *handle = dlopen("libz.so.1", RTLD_NOW);
    if (!handle)
        skip();
    const void *code = dlsym(handle, "adler32");
    for (int round = 0; round < 2; round++) {
        assert_true(modules_refresh(&modules));
        assert_null(module_of(code));
        assert_int_equal(modules.list.count, count);
        assert_int_equal(modules.dropped, 1 + round);
        const struct sig_module *view = sig_modules_find(modules_table(&modules), (uint64_t)(uintptr_t)code);
        assert_non_null(view);
        struct sig_rule rule;
        sig_cfi_rule(view, (uint64_t)(uintptr_t)code, kernel_copies_memory(), &rule);
        assert_int_equal(rule.kind, SIG_RULE_FRAME);
        dlclose(handle);
        assert_true(modules_refresh(&modules));
        assert_null(sig_modules_find(modules_table(&modules), (uint64_t)(uintptr_t)code));
        handle = dlopen("libz.so.1", RTLD_NOW);
        code = dlsym(handle, "adler32");
    }
    dlclose(handle);
}

static void a_full_arena_at_the_start_is_an_error(void **state)
{
    struct modules some = {0};
    fill_arena();
    assert_int_equal(modules_init(&some, &arena), -ENOMEM);
    assert_true(some.dropped > 0);
    modules_deinit(&some);
}

/* A name that is not absolute means the directory it was loaded from, wherever the program goes. */
static void a_relative_name_keeps_its_directory(void **state)
{
    Dl_info info;
    char directory[4096], here[4096];
    void *handle = dlopen("libz.so.1", RTLD_NOW);
    if (!handle)
        skip();
    assert_true(dladdr(dlsym(handle, "adler32"), &info) != 0);
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(directory, sizeof(directory), "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
    dlclose(handle);
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(directory), 0);
    handle = dlopen("./libz.so.1", RTLD_NOW);
    if (!handle) { /* qemu-user has directories of its own for whole paths only */
        assert_int_equal(chdir(here), 0);
        skip();
    }
    assert_true(modules_refresh(&modules));
    const struct module *module = module_of(dlsym(handle, "adler32"));
    assert_int_equal(chdir(here), 0);
    assert_non_null(strstr(path_of(module), directory));
    void *other = dlopen("libgcc_s.so.1", RTLD_NOW); /* another snapshot, from another directory */
    uint32_t count = modules.list.count;
    modules_refresh(&modules);
    assert_in_range(modules.list.count, count, count + 1);
    assert_ptr_equal(module_of(dlsym(handle, "adler32")), module);
    if (other)
        dlclose(other);
    dlclose(handle);
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
        TEST(a_cleared_arena_has_what_is_loaded),
        TEST(thousands_of_libraries_are_told_apart),
        TEST(a_library_without_room_is_published),
        TEST(a_full_arena_at_the_start_is_an_error),
        TEST(a_relative_name_keeps_its_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
