/*
 * Which functions of the C library a thread waits in, and what that says of the futex that it waits for.
 *
 * Their addresses are looked up once, among the functions that the C library shows. A frame is one of them if
 * its function begins there, by the unwind tables.
 *
 * Called from: the sampler thread.
 */
#ifndef WALLPROF_LOCK_FUNCTIONS_H
#define WALLPROF_LOCK_FUNCTIONS_H

#include "lock_words.h"
#include "modules/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOCK_FUNCTIONS_MAX = 128, LOCK_FUNCTIONS_CACHED = 64, LOCK_LIBRARIES_MAX = 4 };

struct lock_functions {
    const struct modules *modules;           /* not owned */
    arena_ref libraries[LOCK_LIBRARIES_MAX]; /* the C library, and its part for threads before 2.34 */
    struct lock_function {
        uint64_t start_pc;
        enum lock_role role;
    } functions[LOCK_FUNCTIONS_MAX], cache[LOCK_FUNCTIONS_CACHED]; /* cache: by the pc of a frame */
    uint32_t library_count, count;
    bool is_known; /* the functions have been looked for, which takes 0.1 ms */
};

/* The modules have changed. */
void lock_functions_forget_frames(struct lock_functions *functions);

/* The modules were emptied. */
void lock_functions_forget(struct lock_functions *functions);

/* What a thread waits in whose stack this is, innermost first. */
enum lock_role lock_functions_role(struct lock_functions *functions, const uint64_t *addresses, size_t depth);

/* Which frame is the first one, from `from` on, of a function that belongs neither to the C library nor to
 * the C++ library; depth if there is none. */
size_t lock_functions_caller(const struct lock_functions *functions, const uint64_t *addresses, size_t depth,
                             size_t from);

#endif
