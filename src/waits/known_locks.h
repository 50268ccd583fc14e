/*
 * The locks that threads have been found waiting for. Each has a name, which it keeps as long as the
 * recording lasts, and the last holder that was seen.
 *
 * A lock is known by its address. A lock in memory that was freed and made anew at the same address is the
 * same lock here, and has the same name. Of a library that is not loaded any more a lock is named again.
 *
 * Their number is bounded, because each is a label: the others are one, "[other]".
 *
 * Called from: the sampler thread. Scratch memory, from the first lock on.
 */
#ifndef WALLPROF_KNOWN_LOCKS_H
#define WALLPROF_KNOWN_LOCKS_H

#include "lock_functions.h"
#include "lock_names.h"
#include "lock_words.h"
#include "profile/tree.h"

#include <stdint.h>

enum { KNOWN_LOCKS_MAX = 1024, KNOWN_LOCKS_BUCKETS = 1024 };

#define KNOWN_LOCK_GONE UINT32_MAX

struct known_lock {
    uint64_t address;
    enum lock_kind kind;
    uint32_t next;      /* in its bucket: index + 1 */
    bool is_permanent;  /* in the data of a module that is never unmapped: can be read as it is */
    arena_ref module;   /* that has it and may go away; 0: none, KNOWN_LOCK_GONE: it went away */
    arena_ref location; /* of its label; 0: to be made anew */
    pid_t holder;       /* the tid that its words named last; 0: none */
    uint64_t seen_ns;   /* when that was */
    uint64_t other_ns;  /* the last moment at which they were seen naming another one, or none; 0: never */
    uint64_t read_tick; /* the tick in which the holder's word was read last; */
    uint64_t read_at;   /* where; */
    uint32_t read_word; /* and what it was */
    char name[LOCK_NAME_BYTES]; /* with its kind */
};

struct known_locks {
    struct tree *tree; /* not owned */
    struct known_lock *locks;
    uint32_t *buckets; /* index + 1 */
    uint32_t count;
    arena_ref other; /* of the label of all others; 0 before the first */
};

/*
 * The stack of a thread that waits, innermost first. find_script: what the functions of that module run, if
 * it is an interpreter: a function of a script, "load shop.py:11", or false. NULL: there is none.
 */
typedef bool lock_script_fn(void *context, arena_ref module, char *ret, size_t bytes);

struct lock_stack {
    const uint64_t *addresses;
    size_t depth;
    lock_script_fn *find_script;
    void *context; /* its own */
};

/* A lock that is known, or NULL. */
struct known_lock *known_locks_find(const struct known_locks *locks, enum lock_kind kind, uint64_t address);

/* The same, made known if it is not. stack: of a thread that waits for it. NULL: there are too many, or there
 * is no memory. */
struct known_lock *known_locks_get(struct known_locks *locks, struct lock_names *names,
                                   const struct lock_functions *functions, const struct lock_found *found,
                                   const struct lock_stack *stack);

/* The name of the first function of a stack that is not of the C or C++ library. */
void known_locks_waiter(struct lock_names *names, const struct lock_functions *functions,
                        const struct lock_stack *stack, char ret[LOCK_NAME_BYTES]);

/* The label of a lock; NULL: of those that are too many. 0 without memory. */
arena_ref known_locks_label(struct known_locks *locks, struct known_lock *lock);

/* What its words name at a moment. */
void known_lock_see_holder(struct known_lock *lock, pid_t holder, uint64_t now_ns);

/* The tree and the modules were emptied. */
void known_locks_forget(struct known_locks *locks);
void known_locks_deinit(struct known_locks *locks);

#endif
