#include "real.h"

#include <dlfcn.h>
#include <stdint.h>

struct real_table real_table;

/* dlsym returns an object pointer; POSIX guarantees that it converts. */
#define LIBC(type, name, parameters) libc->name = (__typeof__(libc->name))(uintptr_t)dlsym(RTLD_NEXT, #name);
#define LIBC_ONLY                    LIBC
#define HOOK(name)
#define PUBLIC(name)

const struct libc *real_resolve(void)
{
    struct libc *libc = &real_table.functions;
#include "session/libc.def"
    __atomic_store_n(&real_table.is_resolved, 1, __ATOMIC_RELEASE); /* partner: the acquire in real.h */
    return libc;
}
