/*
 * The functions are those that dlsym(RTLD_NEXT) would find: of the first object behind ours that has one. The
 * objects up to the C library are searched here, which is faster for so many names; dlsym has the rest.
 */
#include "libc.h"
#include "elf/elf_exports.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* glibc 2.34 put the libraries of threads, timers and others into libc.so.6. */
enum { MINOR_OF_ONE_LIBRARY = 34 };

struct libc_table libc_table;

/* Stands for each function that is not there. What it returns is an error of all of them. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* Without strtol, before which a sanitizer stands that may not be set up yet. */
static int glibc_minor(void)
{
    int minor = 0;
    for (const char *at = gnu_get_libc_version() + sizeof("2.") - 1; *at >= '0' && *at <= '9'; at++)
        minor = minor * 10 + (*at - '0');
    return minor;
}

/* ---- by hash tables ---- */

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

/* dlsym returns an object pointer; POSIX guarantees that it converts. */
static uintptr_t look_up(const char *name)
{
    return (uintptr_t)dlsym(RTLD_NEXT, name);
}

/* 0: the object has none. */
static uintptr_t find(const struct elf_exports *exports, const char *name)
{
    uintptr_t function;
    if (!elf_exports_find(exports, name, &function))
        return 0;
    return function ? function : look_up(name);
}

#define SET(name, value)                                                                                     \
    if (!functions->name)                                                                                    \
    functions->name = (__typeof__(functions->name))(value)
#define HOOK(name)
#define PUBLIC(name)

static void find_in(const struct elf_exports *exports, struct libc *functions)
{
#define LIBC(type, name, parameters)              SET(name, find(exports, #name));
#define LIBC_SINCE(minor, type, name, parameters) SET(name, find(exports, #name));
#define LIBC_APART                                LIBC_SINCE
#define LIBC_ONLY                                 LIBC_SINCE
#include "libc.def"
#undef LIBC
#undef LIBC_SINCE
#undef LIBC_APART
#undef LIBC_ONLY
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

/* ---- by the loader ---- */

static void find_others(struct libc *functions)
{
    const int minor = glibc_minor();
#define LIBC(type, name, parameters) SET(name, look_up(#name));
#define LIBC_SINCE(first, type, name, parameters)                                                            \
    SET(name, minor >= (first) ? look_up(#name) : (uintptr_t)missing);
#define LIBC_APART(file, type, name, parameters)                                                             \
    SET(name, minor >= MINOR_OF_ONE_LIBRARY ? look_up(#name) : (uintptr_t)missing);
#define LIBC_ONLY LIBC_SINCE
#include "libc.def"
#undef LIBC
#undef LIBC_SINCE
#undef LIBC_APART
}

const struct libc *libc_resolve(void)
{
    struct libc *functions = &libc_table.functions;
    find_behind(elf_exports_own_object(), functions);
    find_others(functions);
    __atomic_store_n(&libc_table.is_resolved, 1, __ATOMIC_RELEASE); /* partner: the acquire in libc */
    return functions;
}

static uintptr_t look_up_apart(const char *file, const char *name)
{
    void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    return found ? (uintptr_t)found : (uintptr_t)missing;
}

const struct libc *libc_apart(void)
{
    struct libc *functions = &libc_table.functions;
    if (libc() && glibc_minor() >= MINOR_OF_ONE_LIBRARY)
        return functions;
#define LIBC(type, name, parameters)
#define LIBC_SINCE(first, type, name, parameters)
#define LIBC_APART(file, type, name, parameters)                                                             \
    if ((uintptr_t)functions->name == (uintptr_t)missing)                                                    \
        functions->name = (__typeof__(functions->name))look_up_apart(file, #name);
#include "libc.def"
    return functions;
}
