#include "libc.h"

#include <dlfcn.h>
#include <stdint.h>

struct libc_table libc_table;

/* dlsym returns an object pointer; POSIX guarantees that it converts. */
#define LIBC(type, name, parameters)                                                                         \
    functions->name = (__typeof__(functions->name))(uintptr_t)dlsym(RTLD_NEXT, #name);
#define LIBC_ONLY LIBC
#define HOOK(name)
#define PUBLIC(name)

const struct libc *libc_resolve(void)
{
    struct libc *functions = &libc_table.functions;
#include "libc.def"
    __atomic_store_n(&libc_table.is_resolved, 1, __ATOMIC_RELEASE); /* partner: the acquire in libc */
    return functions;
}
