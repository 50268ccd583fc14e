/*
 * What is mapped where: the executable segments of the program, its libraries and the vDSO, over time.
 *
 * Every segment that was ever seen keeps its record, so that a name comes from the module that was mapped
 * when the sample was taken, even after a dlclose. The current ones are published to the signal handler as a
 * sorted table (sig_modules.h).
 *
 * Called from: the sampler thread only. dl_iterate_phdr is called here and nowhere else; it takes the
 * loader's list lock, which is why no handler may do so.
 */
#ifndef WALLPROF_MODULES_H
#define WALLPROF_MODULES_H

#include "arena.h"
#include "sig_modules.h"

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
    arena_ref next; /* the module record made before this one, 0 for the first */
    arena_ref path; /* string: absolute, or "[vdso]" */
    uint8_t build_id[MODULE_BUILD_ID_MAX_BYTES];
    uint32_t build_id_bytes; /* 0 without a GNU build-id note */
    uint32_t last_pass;      /* the last look at the loader's list that found it */
    uint8_t is_loaded;       /* as of the last modules_refresh */
    uint8_t is_main;         /* belongs to the program itself: pprof's mapping 1 */
    uint8_t is_own;          /* libwallprof.so */
};

struct wp_modules {
    struct wp_arena *arena; /* not owned */
    arena_ref newest;       /* head of the list of all records */
    uint32_t count;         /* records made */
    uint32_t refreshes;     /* how often the set changed */
    uint32_t passes;        /* how often the loader's list was read */
    uint32_t dropped;       /* segments not recorded because the arena was full */
    uint64_t adds, subs;    /* the loader's counters at the last refresh */
    arena_ref *sorted;      /* loaded modules by start_pc; scratch memory */
    uint32_t sorted_count, sorted_capacity;
    struct sig_modules_table *tables[2]; /* handed to the handlers in turn */
    uint32_t table_capacity[2];
    uint32_t table_current;
    uint64_t tables_made;
    char main_path[4096]; /* /proc/self/exe at init: later it may say "(deleted)" */
};

/* 0 or -errno. The first refresh has been done on success. */
int modules_init(struct wp_modules *modules, struct wp_arena *arena);
void modules_deinit(struct wp_modules *modules);

/*
 * Brings the records up to date with what the loader has mapped; 22 ns when nothing changed. Returns true
 * when the set changed: the caller then publishes the new table to the handlers and drops cached rules.
 */
bool modules_refresh(struct wp_modules *modules);

/*
 * The table for the handlers as of the last refresh, built in the memory that the call before the last one
 * returned. The caller publishes it and calls again only when no handler can use that older one
 * (sig_handler_publish_modules). NULL without memory.
 */
const struct sig_modules_table *modules_table(struct wp_modules *modules);

/* The loaded module whose executable segment holds an address, or 0. */
arena_ref modules_find(const struct wp_modules *modules, uint64_t address);

/*
 * Run-time address where the function around an address starts, from the module's .eh_frame_hdr, or 0 when
 * the module is not loaded any more or has no unwind information there. Exact for compiled code; hand-written
 * assembly without CFI is not known to it.
 */
uint64_t modules_function_start(const struct wp_modules *modules, arena_ref module, uint64_t address);

#endif
