/*
 * What is mapped where: the executable segments of the program, its libraries and the vDSO, over time.
 *
 * Every segment that was ever seen keeps its record. So a name comes from the module that was mapped when the
 * sample was taken, even after a dlclose. The current segments are published to the signal handler as a
 * sorted table (sig_modules.h).
 *
 * Called from: the sampler thread. modules_find also from the exporting thread, with the sampler at rest.
 *
 * ---- Which module an address of a sample is in ----
 *
 * A snapshot is what the loader maps at one moment. Snapshots are numbered. A new one is made when the
 * loader's own counts of loaded and unloaded objects have changed since the last one. A sample is taken after
 * `then`, the last snapshot before its request was sent (struct modules_moment), and before `now`, the
 * snapshot that modules_refresh makes once the reply is there. In between, objects may have come and gone.
 *
 * An object in which a thread stands stays mapped. So each address was in one module, or in none, all the
 * time that the sample took. (Code in no module that gives way to a library before now is not told from it.)
 * modules_at says which. The first of these rules that holds decides:
 *
 *  1. then is now: nothing has come or gone.
 *  2. The module there now is one of the program's own, which are never unmapped.
 *  3. Nothing was unloaded since then: what was there is there now.
 *  4. The module there now was there then already, and stayed. In each snapshot since, as many objects were
 *     missing as the loader says it has unloaded, so none went and came back in between.
 *  5. The handler counted the same calls of dlclose as now, with none under way at either moment. Nothing was
 *     unloaded between the sample and now, so what was there is there now.
 *  6. then is the snapshot before now and had a module there. The handler counted the same calls of dlclose
 *     as then, with none under way. Nothing was unloaded between then and the sample, so it is that module.
 *  7. then is the snapshot before now and had no module there, and no object went and came back, as in 4.
 *     Only the module there now can have been there.
 *
 * 5 and 6 rely on the calls of dlclose, which the C library does not make where it unloads of its own accord.
 * They hold only if nothing was unloaded since then while no such call was under way. Where none of the seven
 * holds, it is not known which of two libraries it was, and the sample says so ([unloaded]).
 *
 * The handlers' table is that of the last published snapshot, right before the requests were sent. For a
 * library that came later a handler queries the loader itself (sig_modules.h).
 */
#ifndef WALLPROF_MODULES_H
#define WALLPROF_MODULES_H

#include "base/arena.h"
#include "loader.h"
#include "profile/module.h"
#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_unloads.h"
#include "sig/sys/sig_atomic.h"
#include "target/target.h"

#include <stdbool.h>
#include <stdint.h>

/* A segment in a snapshot. Without a record it can be unwound, but not named. */
struct modules_entry {
    uint64_t start_pc, end_pc, eh_frame_hdr, cfi_low, cfi_high;
    arena_ref record; /* 0 if the arena was full */
    uint32_t since;   /* the number of the first snapshot from which on every one has it */
    bool is_permanent, is_first_segment;
};

struct modules_snapshot {
    uint32_t number;               /* 1..; 0 before the first */
    uint64_t loads, unloads;       /* objects, by the loader's counts */
    bool is_quiet;                 /* confirmed at a moment without a dlclose under way. Of such moments: */
    uint32_t quiet_first;          /* the calls of dlclose that had ended at the first */
    uint32_t quiet_last;           /* those that had ended at the last */
    uint32_t quiet_strange;        /* struct sig_unloads.strange then */
    uint64_t quiet_extra_unloads;  /* objects unloaded by then, since the last dlclose had ended */
    struct modules_entry *entries; /* ascending by start_pc; scratch memory */
    size_t capacity_bytes;
    uint32_t count;
};

/* When a sample was taken. */
struct modules_moment {
    uint32_t snapshot; /* the number of the last one before the request was sent */
    struct sig_unloads unloads;
};

struct modules {
    const uint32_t *loader_is_free; /* atomic, not owned; NULL, or not 0: the loader's lock can be taken */
    const struct target *target;    /* not owned; NULL: what is mapped in this process */
    bool has_program_only;          /* no sample is to be named: of what is loaded nothing else is read */
    struct module_list list;        /* of all records */
    struct arena search_tables;     /* never in a file, as handlers read them */
    uint32_t dropped;               /* segments not recorded because the arena was full */
    struct modules_snapshot now, before;
    uint32_t last_unload;        /* the last snapshot that followed an unloading; */
    uint32_t last_unseen_unload; /* an unloading of something that no snapshot had; */
    uint32_t last_unaccounted;   /* an unloading that no dlclose accounts for */
    struct modules_index {       /* of all records (module_records.c): open addressing; scratch memory */
        arena_ref *slots;
        uint32_t capacity; /* a power of two */
    } index;
    struct sig_modules_table *tables[2]; /* handed to the handlers in turn */
    uint32_t table_capacity[2];
    uint64_t tables_made;      /* so far: the last is tables[tables_made % 2] */
    bool has_no_search_tables; /* since modules_drop_search_tables: tables point to nothing of ours */
    char main_path[4096];      /* /proc/self/exe at init; later it may say "(deleted)" */
};

/* Makes the first snapshot. *modules is zeroed memory, but for loader_is_free, target and has_program_only. 0
 * or -errno. */
int modules_init(struct modules *modules, struct arena *arena);
void modules_deinit(struct modules *modules);

/*
 * Makes a new snapshot if the loader's counts have changed, and returns whether they have; 22 ns if not.
 * After a change the caller publishes the new table to the handlers and drops cached rules.
 */
bool modules_refresh(struct modules *modules);

/* Whether the loader's lock can be taken. After a fork a thread that the child does not have may hold it. */
static inline bool modules_can_lock_loader(const struct modules *modules)
{
    return !modules->loader_is_free || sig_load_relaxed(modules->loader_is_free);
}

/*
 * The steps of modules_refresh: confirm, and if that returns false, begin, then each segment, then end.
 * confirm returns whether nothing has changed. The context of add_segment is a struct modules.
 */
bool modules_confirm_snapshot(struct modules *modules, const struct loader_state *state);
void modules_begin_snapshot(struct modules *modules);
loader_segment_fn modules_add_segment;
void modules_end_snapshot(struct modules *modules, const struct loader_state *state);

/*
 * For clearing the arena and search_tables:
 *
 *  - modules_drop_search_tables: tables that are made from now on point to nothing of ours. The caller
 *    publishes one.
 *  - modules_save_records, before the clearing: copies the records of the two last snapshots, which are still
 *    needed. 0 or -ENOMEM.
 *  - modules_restore_records, after the clearing: makes these records anew and frees the copy.
 *
 * Snapshots keep their numbers, so samples that are on their way are located as before.
 */
struct modules_saved {
    unsigned char *copy;
    size_t bytes;
};
void modules_drop_search_tables(struct modules *modules);
int modules_save_records(const struct modules *modules, struct modules_saved *ret);
void modules_restore_records(struct modules *modules, struct modules_saved *kept);

/*
 * The table for the handlers as of the last snapshot, or NULL without memory. It is built in the memory that
 * the call before the last one returned. So the caller publishes it, and calls again only when no handler can
 * use an older table (sig_walk_tables_publish).
 */
const struct sig_modules_table *modules_table(struct modules *modules);

/* The loaded module whose executable segment holds an address, or 0. */
arena_ref modules_find(const struct modules *modules, uint64_t address);

/*
 * The module that held an address of a sample when it was taken; 0 for none, or for one without a record.
 * False if that cannot be known. By the rules above: modules_refresh was called after the reply was there.
 */
bool modules_at(const struct modules *modules, uint64_t address, const struct modules_moment *moment,
                arena_ref *ret);

/*
 * The run-time address where the function around an address starts, from the module's unwind information; 0
 * if that has none. Exact for compiled code. Hand-written assembly without CFI is not known. For a module
 * that is not loaded any more: the start of the last function at or before the address, by the copy of its
 * search table, or 0.
 */
uint64_t modules_function_start(const struct modules *modules, arena_ref module, uint64_t address);

#endif
