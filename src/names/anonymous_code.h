/*
 * Code that lies in no module: what just-in-time compilers made, trampolines, files mapped behind the
 * loader's back.
 *
 * Named from the program's own list of it (perf_map.h) where there is one. Otherwise all that can be said is
 * what the address is in, at the end: memory without a file, which may be unmapped by then, or a file that
 * the loader does not know of. It is never said to be in a module: a module that is there now was not when
 * the sample was taken.
 *
 * Called from: the exporting thread, through symbolize. Scratch memory only.
 */
#ifndef WALLPROF_OUTSIDE_H
#define WALLPROF_OUTSIDE_H

#include "base/log.h"
#include "memory_map.h"
#include "modules/modules.h"
#include "perf_map.h"

#include <stdbool.h>
#include <stdint.h>

enum outside_kind {
    OUTSIDE_ANONYMOUS, /* memory without a file, or with one that has no name, or nothing any more */
    OUTSIDE_FILE,      /* a file the loader does not know of */
    OUTSIDE_LISTED     /* named by a perf map */
};

/* The memory that such code lies in: one mapping of the profile. */
struct outside_region {
    uint64_t start, end;
    uint64_t file_offset; /* of start; 0 without a file */
    const char *path;     /* absolute, or "[JIT]" with listed functions, or "[anonymous executable]" */
    bool has_names;       /* some of its code is listed */
    bool is_gone;         /* no code any more: the bounds are those of the pages that were seen */
};

struct outside_address {
    uint64_t address;
    enum outside_kind kind; /* out */
    const char *name;       /* out: its name in the list, or the file's base name; else NULL */
    uint64_t file_offset;   /* out: of OUTSIDE_FILE */
    uint32_t region;        /* out: 1 + index into the regions, 0 for none */
};

struct outside {
    struct outside_region *regions; /* owned; ascending */
    uint32_t region_count;
    size_t capacity;
    struct name_store names; /* owned */
};

/*
 * Fills in addresses[0..count), sorted by address. The memory map is read here if it has not been, and the
 * paths of regions point into it. perf_maps and log may be NULL. 0, or -ENOMEM with nothing held and nothing
 * filled in.
 */
int outside_init(struct outside *outside, const struct wp_modules *modules, struct memory_map *memory,
                 const struct perf_maps *perf_maps, struct wp_log *log, struct outside_address *addresses,
                 size_t count);
void outside_deinit(struct outside *outside);

#endif
