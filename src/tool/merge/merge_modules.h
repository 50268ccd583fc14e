/*
 * The modules of a merged recording: each file's segment once, wherever it was mapped in each process.
 *
 * Two are the same if their build-id is, or, without one, their path and size; and the part of the file that
 * is mapped. The first that comes keeps its addresses, unless another module is there already: then it gets
 * some behind all others, and what lies in it moves along. So modules do not overlap.
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
        bool is_bias_known; /* a store says where addresses in the file begin; pprof files do not */
    } * list;               /* owned */
    uint32_t count, capacity;
    struct merge_moved {
        arena_ref from, into;
        uint64_t shift; /* address in `into` minus address in `from`, modulo 2^64 */
    } * moved;          /* owned: the modules of the recording in hand that were met so far */
    uint32_t moved_count, moved_capacity;
};

/* Before the first module of a recording. */
void merge_modules_begin(struct merge_modules *modules);

/*
 * Where a module of the recording in hand is in the merged one, made if new. Valid until the next call; NULL
 * without memory.
 */
const struct merge_moved *merge_modules_find(struct merge_modules *modules, const struct recording *recording,
                                             arena_ref module);
void merge_modules_deinit(struct merge_modules *modules);

#endif
