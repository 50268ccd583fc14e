/*
 * What is mapped where: the executable segments of the program, its libraries and the vDSO, over time.
 *
 * Every segment that was ever seen keeps its record, so that a name comes from the module that was mapped
 * when the sample was taken, even after a dlclose. The current ones are published to the signal handler as a
 * sorted table (sig_modules.h).
 *
 * Called from: the sampler thread only; modules_init before it exists.
 *
 * ---- Which module an address of a sample is in ----
 *
 * A look at the loader is one moment's truth: what it maps then. Looks are numbered; a new one is made when
 * the loader's own counts of loaded and unloaded objects have changed since the last. A sample was taken some
 * time after the look that its question was sent after (`asked`, in its struct modules_moment), and before
 * the look that modules_refresh makes once its answer is there (`now`). In between, objects may have come and
 * gone. An object in which a thread stands stays mapped, so each address was in one module, or in none, all
 * the time that the thread was looked at. (Code in no module that gives way to a library before now is not
 * told from it.) modules_at says which, if one of these holds; the first that does decides:
 *
 *  1. asked is now: nothing has come or gone.
 *  2. The module there now is one of the program's own, which are never unmapped.
 *  3. Nothing was unloaded since asked: what was there, is there now.
 *  4. The module there now was there at asked already, and stayed: at each look since, as many objects were
 *     missing as the loader says it has unloaded, so none went and came back in between.
 *  5. The handler counted the same calls of dlclose as stood at now, with none under way at either moment:
 *     nothing was unloaded between the sample and now, so what was there, is there now.
 *  6. asked is the look before now, and had a module there, and the handler counted the same calls of dlclose
 *     as at asked, with none under way: nothing was unloaded between asked and the sample, so that module it
 * is.
 *  7. asked is the look before now and had no module there, and no object went and came as in 4: then only
 * the one there now can have been there.
 *
 * 5 and 6 rely on the calls of dlclose, which the C library does not make where it unloads of its own accord.
 * They hold only if nothing was unloaded since asked while no such call was under way. Where none of the
 * seven holds, it is not known which of two libraries it was, and the sample says so ([unloaded]).
 *
 * The handlers' table is another matter: it is as of the last published look, right before the questions were
 * sent. For a library that came later a handler asks the loader itself (sig_modules.h).
 */
#ifndef WALLPROF_MODULES_H
#define WALLPROF_MODULES_H

#include "base/arena.h"
#include "loader.h"
#include "sig/ground/sig_modules.h"

#include <stdbool.h>
#include <stdint.h>

enum { MODULE_BUILD_ID_MAX_BYTES = 32 };

/* One executable segment; lives in the arena for ever. Addresses are run-time addresses. */
struct wp_module {
    uint64_t start_pc;    /* page-aligned start of the mapped executable segment */
    uint64_t end_pc;      /* first address behind it */
    uint64_t file_offset; /* of start_pc in the file */
    uint64_t load_bias;   /* run-time address minus the address in the ELF file */
    uint64_t loaded_low;  /* lowest and one past the highest mapped address of the whole object */
    uint64_t loaded_high;
    uint64_t eh_frame_hdr; /* run-time address, 0 without; readable only while is_loaded */
    uint64_t cfi_low;      /* the mapped segment that holds eh_frame_hdr */
    uint64_t cfi_high;
    arena_ref search;      /* in wp_modules.search_tables: a table of ours (eh_index.h), 0 without */
    uint32_t search_count; /* its entries */
    uint64_t search_base;  /* what their distances are from */
    arena_ref next;        /* the module record made before this one, 0 for the first */
    arena_ref path;        /* string: absolute, or "[vdso]" */
    arena_ref name;        /* string: as the loader has it */
    uint8_t build_id[MODULE_BUILD_ID_MAX_BYTES];
    uint32_t build_id_bytes; /* 0 without a GNU build-id note */
    bool is_loaded;          /* as of the last look */
    bool is_main;            /* belongs to the program itself: pprof's mapping 1 */
    bool is_own;             /* libwallprof.so */
    bool is_permanent;       /* loaded with the program: never unmapped */
    bool is_first_segment;   /* of its object */
    bool is_indexed;         /* search has been tried */
    bool is_sampled;         /* some sample has an address in it: it is named in the profile */
};

/* A segment in a look. Without a record it can be unwound, but not named. */
struct modules_entry {
    uint64_t start_pc, end_pc, eh_frame_hdr, cfi_low, cfi_high;
    arena_ref record; /* 0 where the arena had no room */
    uint32_t since;   /* the number of the look from which on it was found at every look */
    bool is_permanent, is_first_segment;
};

struct modules_look {
    uint32_t number;               /* 1..; 0 before the first */
    uint64_t loads, unloads;       /* objects, by the loader's counts */
    bool is_quiet;                 /* found true at a moment without a dlclose under way: then */
    uint32_t quiet_first;          /* the calls of dlclose that had ended at the first such moment */
    uint32_t quiet_last;           /* and at the last one */
    uint32_t quiet_strange;        /* struct sig_unloads.strange then */
    uint64_t quiet_surplus;        /* objects unloaded since the last dlclose had ended, then */
    struct modules_entry *entries; /* by start_pc; scratch memory */
    uint32_t count, capacity;
};

/* When a sample was taken. */
struct modules_moment {
    uint32_t asked; /* number of the last look before the question was sent */
    struct sig_unloads unloads;
};

struct wp_modules {
    struct wp_arena *arena;        /* not owned */
    struct wp_arena search_tables; /* handlers read them: they are never in a file */
    arena_ref newest;              /* head of the list of all records */
    uint32_t count;                /* records made */
    uint32_t dropped;              /* segments not recorded because the arena was full */
    struct modules_look now, before;
    uint32_t last_unload;      /* the last look that followed upon an unloading, */
    uint32_t last_passing;     /* upon one of something that no look saw, */
    uint32_t last_unaccounted; /* upon one that no dlclose accounts for */
    struct modules_index {     /* of all records, by what they are: open addressing; scratch memory */
        arena_ref *slots;
        uint32_t capacity, used; /* capacity is a power of two */
    } index;
    struct sig_modules_table *tables[2]; /* handed to the handlers in turn */
    uint32_t table_capacity[2];
    uint32_t table_current;
    uint64_t tables_made;
    bool is_bare;         /* tables have nothing of the arena: modules_let_go */
    char main_path[4096]; /* /proc/self/exe at init: later it may say "(deleted)" */
};

/* 0 or -errno. The first look has been made on success. */
int modules_init(struct wp_modules *modules, struct wp_arena *arena);
void modules_deinit(struct wp_modules *modules);

/*
 * Looks at the loader; 22 ns when nothing changed. Returns true when something did: the caller then publishes
 * the new table to the handlers and drops cached rules.
 */
bool modules_refresh(struct wp_modules *modules);

/* What modules_refresh is made of: begin, one see for each segment, end; or confirm, true if nothing changed.
 */
bool modules_confirm_look(struct wp_modules *modules, const struct loader_state *state);
void modules_begin_look(struct wp_modules *modules);
void modules_see(struct wp_modules *modules, const struct wp_module *segment, const char *name);
void modules_end_look(struct wp_modules *modules, const struct loader_state *state);

/*
 * So that the arena can be cleared. First: from now on tables have no search tables of ours, which lie there;
 * the caller publishes one. Then, around the clearing: modules_keep, with a copy of what the two last looks
 * have, the only records that are needed yet; 0 or -ENOMEM. And modules_bring_back, which makes these records
 * anew. Looks keep their numbers: samples that are on their way are placed as before.
 */
struct modules_kept {
    unsigned char *copy;
    size_t bytes;
};
void modules_let_go(struct wp_modules *modules);
int modules_keep(const struct wp_modules *modules, struct modules_kept *ret);
void modules_bring_back(struct wp_modules *modules, struct modules_kept *kept);

/*
 * The table for the handlers as of the last look, built in the memory that the call before the last one
 * returned. The caller publishes it and calls again only when no handler can use that older one
 * (sig_handler_publish_modules). NULL without memory.
 */
const struct sig_modules_table *modules_table(struct wp_modules *modules);

/* The loaded module whose executable segment holds an address, or 0. */
arena_ref modules_find(const struct wp_modules *modules, uint64_t address);

/*
 * The module that held an address of a sample when it was taken, 0 for none or for one without a record; by
 * the rule above, with modules_refresh called since the answer was there. False when it cannot be known.
 */
bool modules_at(const struct wp_modules *modules, uint64_t address, const struct modules_moment *moment,
                arena_ref *ret);

/*
 * Run-time address where the function around an address starts, from the module's unwind information, or 0
 * when it has none there. Exact for compiled code; hand-written assembly without CFI is not known to it. Of a
 * module that is not loaded any more, where the last function at or before the address starts, by the copy of
 * its search table, or 0.
 */
uint64_t modules_function_start(const struct wp_modules *modules, arena_ref module, uint64_t address);

#endif
