/* Functions of loaded objects: found as dlsym finds them. */
#include "lib/unit.h"
#include "elf/elf_exports.h"
#include "session/libc.h"

#include <dlfcn.h>
#include <string.h>

static struct elf_exports libc_exports;
static void *libc_handle; /* a sanitizer has functions of the same names before it */

static int find_libc(void **state)
{
    const struct link_map *object = _r_debug.r_map;
    while (object && !strstr(object->l_name, "/libc.so.6"))
        object = object->l_next;
    libc_handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return libc_handle && object && elf_exports_of(object, &libc_exports) ? 0 : -1;
}

static uintptr_t found(const char *name)
{
    uintptr_t address = 1;
    return elf_exports_find(&libc_exports, name, &address) ? address : 1;
}

static void functions_are_where_dlsym_finds_them(void **state)
{
    static const char *const names[] = {"poll", "fork", "sigaction", "exit", "qsort", "getpid"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(found(names[i]), (uintptr_t)dlsym(libc_handle, names[i]));
}

/* pthread_create has two versions since glibc 2.34, and realpath always had: the default one counts. */
static void the_default_version_is_found(void **state)
{
    assert_int_equal(found("realpath"), (uintptr_t)dlsym(libc_handle, "realpath"));
    assert_int_equal(found("pthread_create"), (uintptr_t)dlsym(libc_handle, "pthread_create"));
}

static void what_is_not_there_is_not_found(void **state)
{
    assert_int_equal(found("wallprof_start"), 1);
    assert_int_equal(found(""), 1);
    assert_int_equal(found("pol"), 1);
    assert_int_equal(found("polls"), 1);
}

static void a_function_with_a_resolver_has_no_address(void **state)
{
    assert_int_equal(found("memcpy"), 0);
}

static void the_table_has_what_dlsym_finds(void **state)
{
    const struct libc *functions = libc();
#define LIBC(type, name, parameters)                                                                         \
    assert_int_equal((uintptr_t)functions->name, (uintptr_t)dlsym(RTLD_NEXT, #name));
#define LIBC_SINCE(minor, type, name, parameters) LIBC(type, name, parameters)
#define LIBC_APART                                LIBC_SINCE
#define LIBC_ONLY                                 LIBC_SINCE
#define HOOK(name)
#define PUBLIC(name)
#include "session/libc.def"
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_where_dlsym_finds_them),
        cmocka_unit_test(the_default_version_is_found),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(a_function_with_a_resolver_has_no_address),
        cmocka_unit_test(the_table_has_what_dlsym_finds),
    };
    return cmocka_run_group_tests(tests, find_libc, NULL);
}
