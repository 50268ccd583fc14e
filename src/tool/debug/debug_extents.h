/*
 * All code of the functions around some addresses.
 *
 * Every run of a program is sampled at other instructions of much the same functions. To open the debug
 * information of a C library takes 60 ms, mostly to unpack it. So where some of a module has been kept
 * before, what is missing is read together with the functions that it is in. After some runs nothing is
 * missing.
 *
 * Called from: debug_info.c.
 */
#ifndef WALLPROF_DEBUG_EXTENTS_H
#define WALLPROF_DEBUG_EXTENTS_H

#include "debug_file.h"
#include "debug_info.h"

struct debug_extents {
    uint64_t *addresses; /* owned; ascending */
    size_t count;
};

/* The ascending addresses, and all others of their functions, by the symbols. Of a function that is large,
 * and of all after many, only those addresses themselves. 0 or -ENOMEM. */
int debug_extents_list(struct debug_extents *ret, const struct debug_file *file,
                       const struct debug_module *module, const uint64_t *addresses, size_t count);
void debug_extents_free(struct debug_extents *extents);

#endif
