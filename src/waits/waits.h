/*
 * What threads wait for: which lock, and who holds it. Both become labels below a thread's stack
 * (account/fold.h).
 *
 * Of a thread that was walked from outside the words of the lock come with the copy of its stack
 * (lock_words.h). Of one that has not run since it waits for the same lock, and only the word that names the
 * holder is read, before the run count is. If the thread has then not run, it waited at that moment too.
 *
 * That word is read as it is where it cannot go away: in the data of the program and what was loaded with it.
 * Elsewhere the kernel compares it with what it was (FUTEX_CMP_REQUEUE that wakes and moves nobody), which
 * takes half as long as copying it. Threads that wait for one lock share a reading in one tick.
 *
 * Nobody is named who cannot be the holder. A holder is a thread of ours that is alive. If its tid has been
 * another thread's before, the lock must have been seen without it since it began: else the holder may be the
 * dead one. Of a lock between processes it may be a thread of another one (other_processes.h).
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_WAITS_H
#define WALLPROF_WAITS_H

#include "known_locks.h"
#include "known_objects.h"
#include "lock_functions.h"
#include "lock_names.h"
#include "lock_words.h"
#include "modules/modules.h"
#include "objects.h"
#include "other_processes.h"
#include "profile/tree.h"
#include "profile/wait_labels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* More names of holders are one, "[other]". */
enum { WAITS_HOLDERS_MAX = 1024, WAITS_NAME_BYTES = 64 };

/* A living thread by its tid: the label of its name, or 0. It must be the only one that has had the tid, or
 * have begun before other_ns. */
typedef arena_ref waits_holder_fn(void *context, pid_t tid, uint64_t other_ns);

struct lock_waits {
    struct tree *tree; /* not owned */
    struct lock_functions functions;
    struct lock_names names;
    struct known_locks locks;
    struct objects objects; /* of what is no lock */
    struct other_processes processes;
    bool has_other_ids; /* the words of locks have ids of another PID namespace: holders are not named */
    uint64_t tick;      /* the number of the present one, and when it began: */
    uint64_t tick_ns;
    uint32_t holder_names; /* labels of holders so far */
    arena_ref other_holder;
    waits_holder_fn *find_holder;
    void *context; /* its own */
};

/* What the last sample of a thread tells the next one; part of its record. Zeroed memory: it waits for
 * nothing that is known. */
struct waits_memory {
    bool is_waiting;
    bool is_futex;      /* the word that is waited for names the holder */
    bool is_shared;     /* between processes */
    bool is_inherited;  /* of struct lock_found */
    bool is_timed;      /* it waits until some time at most */
    uint32_t object;    /* a number of known_objects.h; 0: it waits for a lock */
    uint32_t lock;      /* index + 1; 0: one of those that are too many */
    uint64_t holder_at; /* 0: no word names a holder */
    uint32_t holder_word;
    uint64_t tick;          /* of the last sample that was walked */
    uint64_t object_due_ns; /* when the name of what it waits for may be another; 0: never */
};

/* *waits is zeroed memory. tree and modules are not owned, and are there when the others are called. */
void waits_init(struct lock_waits *waits, struct tree *tree, const struct modules *modules,
                waits_holder_fn *find_holder, void *context);
void waits_deinit(struct lock_waits *waits);

/* The modules have changed. */
void waits_modules_changed(struct lock_waits *waits);

/* The tree and the modules were emptied: no label is known any more. */
void waits_forget(struct lock_waits *waits);

/* Another tick begins. has_files: files may be opened in it. */
static inline void waits_begin_tick(struct lock_waits *waits, uint64_t now_ns, bool has_files)
{
    waits->names.has_files = has_files;
    waits->tick++;
    waits->tick_ns = now_ns;
}

/* Of a thread that was walked: its tid, the words that were copied with its stack, its call, and its stack.
 */
struct waits_walk {
    pid_t tid;
    const struct lock_words *words;
    const uint64_t *arguments;
    struct lock_stack stack;
};
void waits_find(struct lock_waits *waits, const struct waits_walk *walk, struct waits_memory *memory,
                struct wait_locations *ret);

/* Of a thread that was walked and waits for what may have a descriptor, or for a child. task_directory: an
 * open /proc/self/task. What is found is what it waits for if it has not run meanwhile. False if nothing is.
 */
bool waits_find_object(struct lock_waits *waits, const struct object_wait *wait, struct waits_memory *memory,
                       struct wait_locations *ret);

/* Whether that is to be done again, of a thread that still waits. waits: may be NULL. */
static inline bool waits_is_object_due(const struct lock_waits *waits, const struct waits_memory *memory)
{
    return waits && memory->object_due_ns && waits->tick_ns >= memory->object_due_ns;
}

/* Of a thread that waits where it waited, if it has not run since: to be called before that is known. */
void waits_find_again(struct lock_waits *waits, pid_t tid, struct waits_memory *memory,
                      struct wait_locations *ret);

/* Whether what a thread waits for has the holder that it had when that was found. */
bool waits_is_held(struct lock_waits *waits, const struct waits_memory *memory, pid_t holder);

/* Of a thread that waits for a lock of another kind, such as an interpreter's: its name, and the tid of its
 * holder, or 0. */
void waits_find_named(struct lock_waits *waits, const char *name, pid_t holder, struct wait_locations *ret);

/* The label of a holder's name. 0 without memory. */
arena_ref waits_holder_label(struct lock_waits *waits, const char *name);

#endif
