/*
 * The modules of a merged recording: each segment of a file once, wherever each process had mapped it.
 *
 * Two modules are the same if they map the same part of the same file. A file is known by its build-id or,
 * without one, by its path. The first of equal modules keeps its addresses, unless another module is there
 * already. Then it gets addresses after all others, and its locations move with it: modules do not overlap.
 *
 * Called from: merge.
 */
#ifndef WALLPROF_MERGE_MODULES_H
#define WALLPROF_MERGE_MODULES_H

#include "tool/read/recording.h"

struct merge_modules {
    struct module_list *modules; /* the merged recording's; not owned */
    struct merge_module {
        arena_ref ref;      /* struct module */
        bool is_bias_known; /* a store has the load bias; a pprof file has not */
    } * list;               /* owned */
    uint32_t count, capacity;
    struct merge_moved {
        arena_ref from, into;
        uint64_t shift; /* address in `into` minus address in `from`, modulo 2^64 */
    } * moved;          /* owned: the modules of the present recording that were found so far */
    uint32_t moved_count, moved_capacity;
};

/* Before the first module of a recording. */
void merge_modules_begin(struct merge_modules *modules);

/*
 * The place of a module of the present recording in the merged one, made if new. Valid until the next call.
 * NULL without memory.
 */
const struct merge_moved *merge_modules_find(struct merge_modules *modules, const struct recording *recording,
                                             arena_ref module);
void merge_modules_deinit(struct merge_modules *modules);

#endif
