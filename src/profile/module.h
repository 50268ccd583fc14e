/*
 * The executable segments of the program, its libraries and the vDSO, as the profile has them.
 *
 * A record is made when a segment is first seen, and never removed: a name comes from the module that was
 * mapped when the sample was taken. Records are made by modules/modules.h, and in the tool by the readers.
 */
#ifndef WALLPROF_MODULE_H
#define WALLPROF_MODULE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { MODULE_BUILD_ID_MAX_BYTES = 32 };

/* One executable segment; lives in the arena. Addresses are run-time addresses. */
struct module {
    uint64_t start_pc;    /* page-aligned start of the mapped executable segment */
    uint64_t end_pc;      /* first address after it */
    uint64_t file_offset; /* of start_pc in the file */
    uint64_t load_bias;   /* run-time address minus the address in the ELF file */
    uint64_t loaded_low;  /* the lowest mapped address of the whole object, and one past the highest */
    uint64_t loaded_high;
    uint64_t eh_frame_hdr; /* run-time address, 0 without; readable only while is_loaded */
    uint64_t cfi_low;      /* the mapped segment that holds eh_frame_hdr */
    uint64_t cfi_high;
    arena_ref search;      /* in struct modules.search_tables: our table (eh_index.h), 0 without */
    uint32_t search_count; /* its entries */
    uint64_t search_base;  /* the address that their distances count from */
    arena_ref next;        /* the record made before this one, 0 for the first */
    arena_ref path;        /* string: absolute, or "[vdso]" */
    arena_ref name;        /* string: as the loader has it */
    uint8_t build_id[MODULE_BUILD_ID_MAX_BYTES];
    uint32_t build_id_bytes; /* 0 without a GNU build-id note */
    bool is_loaded;          /* as of the last snapshot (modules.h) */
    bool is_main;            /* belongs to the program itself: pprof's mapping 1 */
    bool is_own;             /* libwallprof.so */
    bool is_permanent;       /* loaded with the program: never unmapped */
    bool is_first_segment;   /* of its object */
    bool is_indexed;         /* `search` has been set, if it can be */
    bool is_sampled;         /* some sample has an address in it: it is named in the profile */
};

/* The arena is borrowed. Records are linked by struct module.next, the newest first. */
struct module_list {
    struct arena *arena;
    arena_ref newest; /* 0 for none */
    uint32_t count;
};

#endif
