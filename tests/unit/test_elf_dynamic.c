/*
 * What loaded objects export: found as dlsym finds it, functions and data.
 *
 * test: not-emulated
 */
#include "lib/unit.h"
#include "elf/elf_dynamic.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static struct elf_dynamic libc_object;
static void *libc_handle;

static int open_object(struct dl_phdr_info *info, size_t size, void *context)
{
    uint64_t high = 0;
    (void)size;
    (void)context;
    if (!strstr(info->dlpi_name, "/libc.so.6"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uint64_t end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        high = info->dlpi_phdr[i].p_type == PT_LOAD && end > high ? end : high;
    }
    return elf_dynamic_open(&libc_object, info->dlpi_addr, info->dlpi_addr, info->dlpi_addr + high);
}

static int setup(void **state)
{
    libc_handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return libc_handle && dl_iterate_phdr(open_object, NULL) ? 0 : -1;
}

static void what_is_exported_is_where_dlsym_finds_it(void **state)
{
    static const char *const names[] = {"getpid", "qsort", "environ", "stdout", "program_invocation_name"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct elf_symbol symbol = {0};
        assert_true(elf_dynamic_find(&libc_object, names[i], &symbol));
        if (i < 2)
            assert_int_equal(symbol.address, (uintptr_t)dlsym(libc_handle, names[i]));
        assert_true(symbol.bytes > 0);
    }
}

static void what_is_not_exported_is_not_found(void **state)
{
    static const char *const names[] = {"_PyRuntime", "wallprof_start", "", "qsor", "qsorts"};
    struct elf_symbol symbol;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(elf_dynamic_find(&libc_object, names[i], &symbol));
}

static void memory_without_an_object_has_nothing(void **state)
{
    static const unsigned char zeroes[8192];
    struct elf_dynamic object;
    const uint64_t low = (uintptr_t)zeroes;
    assert_false(elf_dynamic_open(&object, low, low, low + sizeof zeroes));
    assert_false(elf_dynamic_open(&object, 4096, 4096, 8192));
    assert_false(elf_dynamic_open(&object, 0, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_exported_is_where_dlsym_finds_it),
        cmocka_unit_test(what_is_not_exported_is_not_found),
        cmocka_unit_test(memory_without_an_object_has_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
