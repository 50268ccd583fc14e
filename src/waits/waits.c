#include "waits.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_memory.h"

#include <linux/futex.h>
#include <stdio.h>

void waits_init(struct lock_waits *waits, struct tree *tree, const struct modules *modules,
                waits_holder_fn *find_holder, void *context)
{
    waits->tree = waits->locks.tree = waits->objects.known.tree = tree;
    waits->functions.modules = waits->names.modules = modules;
    waits->names.bytes_left = LOCK_NAMES_BYTES_MAX;
    waits->find_holder = find_holder;
    waits->context = context;
}

void waits_deinit(struct lock_waits *waits)
{
    known_locks_deinit(&waits->locks);
    objects_deinit(&waits->objects);
}

void waits_modules_changed(struct lock_waits *waits)
{
    if (waits->functions.modules->target) /* it may have executed another program */
        lock_functions_forget(&waits->functions);
    else
        lock_functions_forget_frames(&waits->functions);
}

void waits_forget(struct lock_waits *waits)
{
    known_locks_forget(&waits->locks);
    known_objects_forget(&waits->objects.known);
    lock_functions_forget(&waits->functions);
    waits->names.bytes_left = LOCK_NAMES_BYTES_MAX;
    waits->holder_names = 0;
    waits->other_holder = 0;
}

arena_ref waits_holder_label(struct lock_waits *waits, const char *name)
{
    const uint32_t before = waits->tree->location_count;
    char text[WAITS_NAME_BYTES];
    if (waits->holder_names >= WAITS_HOLDERS_MAX) {
        if (!waits->other_holder)
            waits->other_holder = tree_label(waits->tree, WAIT_LABEL_HOLDER, LABELS_OTHER);
        return waits->other_holder;
    }
    snprintf(text, sizeof text, "%s", name);
    lock_names_make_plain(text);
    arena_ref label = tree_label(waits->tree, WAIT_LABEL_HOLDER, text);
    waits->holder_names += waits->tree->location_count - before;
    return label;
}

/* ---- the holder ---- */

static struct known_lock *lock_of(struct lock_waits *waits, const struct waits_memory *memory)
{
    return memory->lock ? &waits->locks.locks[memory->lock - 1] : NULL;
}

/* The label of a tid, for a lock that was last seen without it at other_ns. */
static arena_ref label_of(struct lock_waits *waits, uint64_t address, bool is_shared, pid_t holder,
                          uint64_t other_ns)
{
    const char *name;
    if (waits->has_other_ids)
        return 0;
    arena_ref label = holder ? waits->find_holder(waits->context, holder, other_ns) : 0;
    if (label || !holder || !is_shared || !waits->names.has_files)
        return label;
    name = other_processes_holder(&waits->processes, holder, address, waits->tick_ns);
    return name ? waits_holder_label(waits, name) : 0;
}

/* What a word of the lock names, by the memory of the thread with that tid. */
static arena_ref find_holder(struct lock_waits *waits, pid_t tid, const struct waits_memory *memory)
{
    struct known_lock *lock = lock_of(waits, memory);
    const pid_t holder = lock_words_holder(memory->holder_word, memory->is_futex);
    if (lock)
        known_lock_see_holder(lock, holder, waits->tick_ns);
    if (holder == tid && memory->is_inherited)
        return 0; /* it waits for a CPU only */
    return label_of(waits, memory->holder_at, memory->is_shared, holder, lock ? lock->other_ns : 0);
}

/* Whether the word is as expected, as the kernel finds it. */
static bool is_still(uint64_t at, uint32_t expected)
{
    uint32_t here = 0; /* nobody waits for it */
    return sig_syscall6(SYS_futex, (long)at, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 0, (long)&here,
                        (long)expected) == 0;
}

/* The word that names the holder now, into *word, which has what it was. False if it cannot be read. */
static bool read_again(const struct known_lock *lock, uint64_t at, uint32_t *word)
{
    if (lock && lock->is_permanent) {
        *word = sig_load_relaxed((const uint32_t *)(uintptr_t)at);
        return true;
    }
    /* Where the kernel is not to copy for us, it is not to compare either. */
    const bool can_compare = sig_memory_has_copies() && !sig_memory_subject();
    return (can_compare && is_still(at, *word)) || sig_memory_copy(word, at, sizeof *word);
}

/* What another thread's sample in this tick has read counts, unless this one has begun to wait since. */
static bool read_holder(struct lock_waits *waits, struct known_lock *lock, struct waits_memory *memory)
{
    if (lock && lock->read_tick == waits->tick && lock->read_at == memory->holder_at &&
        memory->tick != waits->tick) {
        memory->holder_word = lock->read_word;
        return true;
    }
    if (!read_again(lock, memory->holder_at, &memory->holder_word))
        return false;
    if (lock) {
        lock->read_tick = waits->tick;
        lock->read_at = memory->holder_at;
        lock->read_word = memory->holder_word;
    }
    return true;
}

void waits_find_again(struct lock_waits *waits, pid_t tid, struct waits_memory *memory,
                      struct wait_locations *ret)
{
    *ret = (struct wait_locations){0};
    if (!memory->is_waiting)
        return;
    if (memory->object) {
        ret->on = known_objects_label(&waits->objects.known, memory->object);
        return;
    }
    struct known_lock *lock = lock_of(waits, memory);
    ret->on = known_locks_label(&waits->locks, lock);
    if (memory->holder_at && read_holder(waits, lock, memory))
        ret->holder = find_holder(waits, tid, memory);
}

/* ---- what nobody holds ---- */

static arena_ref find_object(struct lock_waits *waits, const char *name, struct waits_memory *memory)
{
    memory->is_waiting = true;
    memory->object = known_objects_get(&waits->objects.known, name);
    return known_objects_label(&waits->objects.known, memory->object);
}

/* The thread that is joined has a tid of its own until it has ended. */
static arena_ref find_joined(struct lock_waits *waits, pid_t tid, struct waits_memory *memory)
{
    const arena_ref label = tid ? waits->find_holder(waits->context, tid, 0) : 0;
    const char *name = "";
    char text[WAITS_NAME_BYTES + sizeof "join "];
    if (label)
        name = tree_label_value(waits->tree->arena, tree_location_at(waits->tree, label));
    snprintf(text, sizeof text, "join%s%s", *name ? " " : "", name);
    return find_object(waits, text, memory);
}

/* ---- a walk ---- */

/* Where words alone say that this is a lock, it must be one that is known, or be held by a
 * thread, or a thread itself. */
static bool is_one(struct lock_waits *waits, const struct lock_found *found)
{
    return !found->needs_holder || known_locks_find(&waits->locks, found->kind, found->address) ||
           label_of(waits, found->holder_at, found->is_shared, found->holder, 0) ||
           label_of(waits, 0, false, found->joined, 0);
}

/* The program's own use of a futex is named only if it is a variable. */
static bool has_name(struct lock_waits *waits, const struct lock_found *found)
{
    return found->kind != LOCK_FUTEX || lock_names_module(&waits->names, found->address);
}

void waits_find(struct lock_waits *waits, const struct waits_walk *walk, struct waits_memory *memory,
                struct wait_locations *ret)
{
    struct lock_found found;
    const enum lock_role role =
        lock_functions_role(&waits->functions, walk->stack.addresses, walk->stack.depth);
    *memory = (struct waits_memory){.tick = waits->tick};
    *ret = (struct wait_locations){0};
    lock_words_read(walk->words, walk->arguments, role, &found);
    if (found.kind == LOCK_UNKNOWN || !is_one(waits, &found) || !has_name(waits, &found))
        return;
    if (found.kind == LOCK_JOIN) {
        ret->on = find_joined(waits, found.joined, memory);
        return;
    }
    struct known_lock *lock =
        known_locks_get(&waits->locks, &waits->names, &waits->functions, &found, &walk->stack);
    *memory = (struct waits_memory){.is_waiting = true,
                                    .is_futex = found.holder_at == walk->arguments[0],
                                    .is_shared = found.is_shared,
                                    .is_inherited = found.is_inherited,
                                    .is_timed = walk->arguments[3] != 0,
                                    .lock = lock ? (uint32_t)(lock - waits->locks.locks) + 1 : 0,
                                    .holder_at = found.holder_at,
                                    .holder_word = found.holder_word,
                                    .tick = waits->tick};
    ret->on = known_locks_label(&waits->locks, lock);
    if (found.holder_at)
        ret->holder = find_holder(waits, walk->tid, memory);
}

bool waits_find_object(struct lock_waits *waits, const struct object_wait *wait, struct waits_memory *memory,
                       struct wait_locations *ret)
{
    char name[KNOWN_OBJECT_BYTES];
    const bool is_named = objects_name(&waits->objects, wait, waits->tick_ns, name);
    memory->object_due_ns = waits->objects.again_ns == UINT64_MAX ? 0 : waits->objects.again_ns;
    if (!is_named)
        return false;
    *memory = (struct waits_memory){.tick = waits->tick, .object_due_ns = memory->object_due_ns};
    ret->on = find_object(waits, name, memory);
    return true;
}

bool waits_is_held(struct lock_waits *waits, const struct waits_memory *memory, pid_t holder)
{
    uint32_t word = memory->holder_word;
    if (!memory->is_waiting || !memory->holder_at) /* an interpreter's lock */
        return true;
    return read_again(lock_of(waits, memory), memory->holder_at, &word) &&
           lock_words_holder(word, memory->is_futex) == holder;
}

void waits_find_named(struct lock_waits *waits, const char *name, pid_t holder, struct wait_locations *ret)
{
    ret->on = tree_label(waits->tree, WAIT_LABEL_ON, name);
    ret->holder = holder ? waits->find_holder(waits->context, holder, 0) : 0;
}
