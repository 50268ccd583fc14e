/*
 * The functions are those that dlsym(RTLD_NEXT) would find: of the first object behind ours that has one. The
 * objects up to the C library are searched here, which is faster for so many names; dlsym has the rest.
 */
#include "libc.h"
#include "elf/elf_exports.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

struct libc_table libc_table;

static bool is_libc(const struct link_map *object)
{
    const char *slash = strrchr(object->l_name, '/');
    return slash && strcmp(slash, "/libc.so.6") == 0;
}

static bool is_vdso(const struct link_map *object)
{
    return object->l_addr == getauxval(AT_SYSINFO_EHDR); /* it is in the list, but nobody is bound to it */
}

/* The last object that is searched. NULL: none is, as an object before the C library has another hash table.
 */
static const struct link_map *end_of_search(const struct link_map *object)
{
    struct elf_exports exports;
    while (object && !is_libc(object) && (is_vdso(object) || elf_exports_of(object, &exports)))
        object = object->l_next;
    return object && is_libc(object) ? object : NULL;
}

/* 0: the object has none. dlsym returns an object pointer; POSIX guarantees that it converts. */
static uintptr_t find(const struct elf_exports *exports, const char *name)
{
    uintptr_t function;
    if (!elf_exports_find(exports, name, &function))
        return 0;
    return function ? function : (uintptr_t)dlsym(RTLD_NEXT, name);
}

#define LIBC_ONLY LIBC
#define HOOK(name)
#define PUBLIC(name)

static void find_in(const struct elf_exports *exports, struct libc *functions)
{
#define LIBC(type, name, parameters)                                                                         \
    if (!functions->name)                                                                                    \
        functions->name = (__typeof__(functions->name))find(exports, #name);
#include "libc.def"
#undef LIBC
}

static void find_others(struct libc *functions)
{
#define LIBC(type, name, parameters)                                                                         \
    if (!functions->name)                                                                                    \
        functions->name = (__typeof__(functions->name))(uintptr_t)dlsym(RTLD_NEXT, #name);
#include "libc.def"
#undef LIBC
}

static void find_behind(const struct link_map *own, struct libc *functions)
{
    struct elf_exports exports;
    const struct link_map *end = own ? end_of_search(own->l_next) : NULL;
    for (const struct link_map *object = own; end && object != end;) {
        object = object->l_next;
        if (!is_vdso(object) && elf_exports_of(object, &exports))
            find_in(&exports, functions);
    }
}

const struct libc *libc_resolve(void)
{
    struct libc *functions = &libc_table.functions;
    const struct link_map *own = _r_debug.r_map;
    while (own && own->l_ld != _DYNAMIC)
        own = own->l_next;
    find_behind(own, functions);
    find_others(functions);
    __atomic_store_n(&libc_table.is_resolved, 1, __ATOMIC_RELEASE); /* partner: the acquire in libc */
    return functions;
}
