/*
 * From the addresses of a stack to locations of the tree, without frames of ours.
 *
 * Called from: the sampler thread only, after the reply has come and the modules were refreshed since
 * (modules.h). So an address means what it meant to the thread.
 */
#ifndef WALLPROF_LOCATE_H
#define WALLPROF_LOCATE_H

#include "interp/interp.h"
#include "modules/modules.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOCATE_CACHE_ENTRIES = 4096 };

struct locate {
    struct tree *tree;
    const struct modules *modules;
    const struct interp *interp; /* NULL: there is none */
    struct locate_entry {        /* direct-mapped by address; address 0 is empty */
        uint64_t address;
        arena_ref location;
        bool is_own;
    } cache[LOCATE_CACHE_ENTRIES];
};

/* *locate is zeroed memory. */
void locate_init(struct locate *locate, struct tree *tree, const struct modules *modules);

/* After the modules changed: an address may mean something else now. */
void locate_forget(struct locate *locate);

struct locate_stack {
    const uint64_t *addresses; /* innermost first */
    size_t depth;
    bool is_truncated;
    struct modules_moment moment;
    uint32_t *inner; /* result unless NULL, by address: how many locations come before its own */
    uint8_t *roles;  /* result unless NULL, by location: enum interp_role */
};

/*
 * Writes the locations of the stack to path, innermost first, and [truncated] after them if it is not whole.
 * Frames of libwallprof.so are left out. One [unloaded] stands for successive frames whose module is not
 * known. A location is 0 when the arena is full. Returns how many were written, at most depth + 1.
 */
size_t locate_path(struct locate *locate, const struct locate_stack *stack, arena_ref *path);

#endif
