#include "lock_functions.h"
#include "elf/elf_dynamic.h"

#include <string.h>

/* How many frames lie between the system call and the function that a program has called, at most. */
enum { FRAMES = 4 };

/* Of a function, at most: one for each version of it. */
enum { VERSIONS = 4 };

/* No function: a frame outside of the C library. */
enum { ROLE_OUTSIDE = LOCK_ROLE_FUTEX + 1 };

static const struct named_function {
    const char *name;
    enum lock_role role;
} named[] = {
    {"pthread_mutex_lock", LOCK_ROLE_MUTEX},
    {"pthread_mutex_timedlock", LOCK_ROLE_MUTEX},
    {"pthread_mutex_clocklock", LOCK_ROLE_MUTEX},
    {"pthread_rwlock_rdlock", LOCK_ROLE_READER},
    {"pthread_rwlock_timedrdlock", LOCK_ROLE_READER},
    {"pthread_rwlock_clockrdlock", LOCK_ROLE_READER},
    {"pthread_rwlock_wrlock", LOCK_ROLE_WRITER},
    {"pthread_rwlock_timedwrlock", LOCK_ROLE_WRITER},
    {"pthread_rwlock_clockwrlock", LOCK_ROLE_WRITER},
    {"pthread_cond_wait", LOCK_ROLE_CONDITION},
    {"pthread_cond_timedwait", LOCK_ROLE_CONDITION},
    {"pthread_cond_clockwait", LOCK_ROLE_CONDITION},
    {"cnd_wait", LOCK_ROLE_CONDITION},
    {"cnd_timedwait", LOCK_ROLE_CONDITION},
    {"sem_wait", LOCK_ROLE_SEMAPHORE},
    {"sem_timedwait", LOCK_ROLE_SEMAPHORE},
    {"sem_clockwait", LOCK_ROLE_SEMAPHORE},
    {"pthread_barrier_wait", LOCK_ROLE_BARRIER},
    {"pthread_join", LOCK_ROLE_JOIN},
    {"pthread_timedjoin_np", LOCK_ROLE_JOIN},
    {"pthread_clockjoin_np", LOCK_ROLE_JOIN},
    {"thrd_join", LOCK_ROLE_JOIN},
    {"syscall", LOCK_ROLE_FUTEX},
};

/* ---- the library ---- */

static const char *base_name(const struct modules *modules, const struct module *module)
{
    const char *path = module->path ? arena_at(modules->list.arena, module->path) : "";
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* libc.so.6, libc-2.31.so, libpthread.so.0, libpthread-2.31.so */
static bool is_library(const char *name)
{
    return begins_with(name, "libc.so") || begins_with(name, "libc-") || begins_with(name, "libpthread.so") ||
           begins_with(name, "libpthread-");
}

static void add_functions(struct lock_functions *functions, const struct module *module)
{
    struct elf_dynamic object;
    if (!elf_dynamic_open(&object, module->load_bias, module->loaded_low, module->loaded_high))
        return;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        struct elf_symbol symbols[VERSIONS];
        const size_t count = elf_dynamic_find_all(&object, named[i].name, symbols, VERSIONS);
        for (size_t k = 0; k < count && functions->count < LOCK_FUNCTIONS_MAX; k++)
            functions->functions[functions->count++] =
                (struct lock_function){symbols[k].address, named[i].role};
    }
}

void lock_functions_forget_frames(struct lock_functions *functions)
{
    memset(functions->cache, 0, sizeof functions->cache);
}

void lock_functions_forget(struct lock_functions *functions)
{
    lock_functions_forget_frames(functions);
    functions->count = functions->library_count = 0;
    functions->is_known = false;
}

/* They are loaded with the program, and stay. Of another process's modules nobody knows which do. */
static void find_functions(struct lock_functions *functions)
{
    const struct modules *modules = functions->modules;
    functions->is_known = true;
    for (uint32_t i = 0; i < modules->now.count && functions->library_count < LOCK_LIBRARIES_MAX; i++) {
        const struct modules_entry *entry = &modules->now.entries[i];
        const struct module *module = entry->record ? arena_at(modules->list.arena, entry->record) : NULL;
        const bool may_be = module && (module->is_permanent || modules->target);
        if (!may_be || !is_library(base_name(modules, module)))
            continue;
        functions->libraries[functions->library_count++] = entry->record;
        add_functions(functions, module);
    }
}

/* ---- frames ---- */

static bool is_in_library(const struct lock_functions *functions, arena_ref module)
{
    for (uint32_t i = 0; i < functions->library_count; i++) {
        if (functions->libraries[i] == module)
            return true;
    }
    return false;
}

static int find_role(const struct lock_functions *functions, uint64_t pc)
{
    const arena_ref module = modules_find(functions->modules, pc);
    if (!module || !is_in_library(functions, module))
        return ROLE_OUTSIDE;
    const uint64_t start_pc = modules_function_start(functions->modules, module, pc);
    for (uint32_t i = 0; i < functions->count; i++) {
        if (functions->functions[i].start_pc == start_pc)
            return (int)functions->functions[i].role;
    }
    return LOCK_ROLE_LIBRARY;
}

static int role_of(struct lock_functions *functions, uint64_t pc)
{
    /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product. */
    struct lock_function *entry = &functions->cache[(pc * 0x9e3779b97f4a7c15U) >> 58];
    if (entry->start_pc != pc)
        *entry = (struct lock_function){pc, (enum lock_role)find_role(functions, pc)};
    return (int)entry->role;
}

/* The first frame of a function that is known, or of one outside of the C library, says it. */
enum lock_role lock_functions_role(struct lock_functions *functions, const uint64_t *addresses, size_t depth)
{
    if (!functions->is_known)
        find_functions(functions);
    for (size_t i = 0; i < depth && i < FRAMES; i++) {
        const int role = role_of(functions, addresses[i]);
        if (role == ROLE_OUTSIDE)
            return i == 0 ? LOCK_ROLE_FUTEX : LOCK_ROLE_LIBRARY;
        if (role != LOCK_ROLE_LIBRARY)
            return (enum lock_role)role;
    }
    return LOCK_ROLE_LIBRARY;
}

size_t lock_functions_caller(const struct lock_functions *functions, const uint64_t *addresses, size_t depth,
                             size_t from)
{
    const struct modules *modules = functions->modules;
    for (size_t i = from; i < depth; i++) {
        const arena_ref ref = modules_find(modules, addresses[i]);
        const struct module *module = ref ? arena_at(modules->list.arena, ref) : NULL;
        if (module && !module->is_own && !is_in_library(functions, ref) &&
            !begins_with(base_name(modules, module), "libstdc++.so") &&
            !begins_with(base_name(modules, module), "libc++.so"))
            return i;
    }
    return depth;
}
