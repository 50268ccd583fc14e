#include "known_locks.h"
#include "base/arena.h"
#include "profile/wait_labels.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_words[LOCK_KINDS] = {
    [LOCK_MUTEX] = "mutex",    [LOCK_RWLOCK] = "rwlock", [LOCK_FUTEX] = "futex",
    [LOCK_CONDITION] = "cond", [LOCK_SEMAPHORE] = "sem", [LOCK_BARRIER] = "barrier"};

static uint32_t *bucket_of(const struct known_locks *locks, uint64_t address)
{
    /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product. */
    return &locks->buckets[(address * 0x9e3779b97f4a7c15U) >> 54];
}

_Static_assert(KNOWN_LOCKS_BUCKETS == 1 << (64 - 54), "as many buckets as the hash has");

struct known_lock *known_locks_find(const struct known_locks *locks, enum lock_kind kind, uint64_t address)
{
    for (uint32_t at = locks->locks ? *bucket_of(locks, address) : 0; at; at = locks->locks[at - 1].next) {
        struct known_lock *lock = &locks->locks[at - 1];
        if (lock->address == address && lock->kind == kind)
            return lock;
    }
    return NULL;
}

/* ---- names ---- */

/* Whether a name is another one, or that with a number. */
static bool is_numbered(const char *name, const char *other)
{
    const size_t bytes = strlen(other);
    return strncmp(name, other, bytes) == 0 && (name[bytes] == '\0' || strncmp(name + bytes, " #", 2) == 0);
}

void known_locks_waiter(struct lock_names *names, const struct lock_functions *functions,
                        const struct lock_stack *stack, char ret[LOCK_NAME_BYTES])
{
    const uint64_t *addresses = stack->addresses;
    strcpy(ret, "[unknown]");
    for (size_t i = 0; (i = lock_functions_caller(functions, addresses, stack->depth, i)) < stack->depth;
         i++) {
        const arena_ref module = modules_find(names->modules, addresses[i]);
        if (stack->find_script && stack->find_script(stack->context, module, ret, LOCK_NAME_BYTES))
            break;
        lock_names_find(names, module, addresses[i], false, ret);
        if (!lock_names_is_standard(ret))
            break;
    }
}

static void name_by_waiter(const struct known_locks *locks, struct lock_names *names,
                           const struct lock_functions *functions, const struct lock_stack *stack,
                           struct known_lock *lock)
{
    char function[LOCK_NAME_BYTES], name[LOCK_NAME_BYTES];
    uint32_t others = 0;
    known_locks_waiter(names, functions, stack, function);
    snprintf(name, sizeof name, "%s in %.200s", kind_words[lock->kind], function);
    for (uint32_t i = 0; i < locks->count; i++)
        others += &locks->locks[i] != lock && is_numbered(locks->locks[i].name, name);
    if (others > 0)
        snprintf(lock->name, sizeof lock->name, "%.210s #%u", name, others + 1);
    else
        strcpy(lock->name, name);
}

static void name_lock(const struct known_locks *locks, struct lock_names *names,
                      const struct lock_functions *functions, const struct lock_stack *stack,
                      struct known_lock *lock)
{
    char variable[LOCK_NAME_BYTES];
    lock->module = lock_names_module(names, lock->address);
    if (!lock->module) {
        name_by_waiter(locks, names, functions, stack, lock);
        return;
    }
    const struct module *module = arena_at(names->modules->list.arena, lock->module);
    lock_names_find(names, lock->module, lock->address, true, variable);
    snprintf(lock->name, sizeof lock->name, "%s %.210s", kind_words[lock->kind], variable);
    lock->is_permanent = module->is_permanent;
    if (lock->is_permanent)
        lock->module = 0;
}

/* ---- the table ---- */

static bool provide(struct known_locks *locks)
{
    if (!locks->locks)
        locks->locks = scratch_alloc(sizeof *locks->locks * KNOWN_LOCKS_MAX);
    if (!locks->buckets)
        locks->buckets = scratch_alloc(sizeof *locks->buckets * KNOWN_LOCKS_BUCKETS);
    return locks->locks && locks->buckets && locks->count < KNOWN_LOCKS_MAX;
}

/* A lock of a library that went away: another one may be where it was. */
static bool is_gone(const struct known_lock *lock, const struct modules *modules)
{
    return lock->module == KNOWN_LOCK_GONE ||
           (lock->module && !((const struct module *)arena_at(modules->list.arena, lock->module))->is_loaded);
}

struct known_lock *known_locks_get(struct known_locks *locks, struct lock_names *names,
                                   const struct lock_functions *functions, const struct lock_found *found,
                                   const struct lock_stack *stack)
{
    struct known_lock *lock = known_locks_find(locks, found->kind, found->address);
    if (lock && !is_gone(lock, names->modules))
        return lock;
    if (!lock) {
        if (!provide(locks))
            return NULL;
        lock = &locks->locks[locks->count];
        uint32_t *bucket = bucket_of(locks, found->address);
        *lock = (struct known_lock){.address = found->address, .kind = found->kind, .next = *bucket};
        *bucket = ++locks->count;
    }
    lock->location = 0;
    lock->is_permanent = false;
    name_lock(locks, names, functions, stack, lock);
    return lock;
}

arena_ref known_locks_label(struct known_locks *locks, struct known_lock *lock)
{
    arena_ref *location = lock ? &lock->location : &locks->other;
    if (!*location)
        *location = tree_label(locks->tree, WAIT_LABEL_ON, lock ? lock->name : LABELS_OTHER);
    return *location;
}

void known_lock_see_holder(struct known_lock *lock, pid_t holder, uint64_t now_ns)
{
    if (holder != lock->holder)
        lock->other_ns = lock->seen_ns;
    lock->holder = holder;
    lock->seen_ns = now_ns;
}

void known_locks_forget(struct known_locks *locks)
{
    for (uint32_t i = 0; i < locks->count; i++) {
        locks->locks[i].location = 0;
        if (locks->locks[i].module)
            locks->locks[i].module = KNOWN_LOCK_GONE;
    }
    locks->other = 0;
}

void known_locks_deinit(struct known_locks *locks)
{
    scratch_free(locks->locks, sizeof *locks->locks * KNOWN_LOCKS_MAX);
    scratch_free(locks->buckets, sizeof *locks->buckets * KNOWN_LOCKS_BUCKETS);
    locks->locks = NULL;
    locks->buckets = NULL;
    locks->count = 0;
}
