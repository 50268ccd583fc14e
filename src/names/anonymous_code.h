/*
 * Code that lies in no module: from just-in-time compilers, trampolines, and files that the program mapped
 * without the loader.
 *
 * The program's own list (perf_map.h) names it, if there is one. Otherwise all that is known is what the
 * address is in when the profile is written: memory without a file, which may be unmapped by then, or a file
 * that the loader does not know. It is never said to be in a module, because a module that is there now was
 * not there when the sample was taken.
 *
 * Called from: the exporting thread, through symbolize. Scratch memory only.
 */
#ifndef WALLPROF_ANONYMOUS_CODE_H
#define WALLPROF_ANONYMOUS_CODE_H

#include "base/log.h"
#include "memory_map.h"
#include "modules/modules.h"
#include "perf_map.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <stdint.h>

enum anonymous_kind {
    ANONYMOUS_MEMORY, /* memory without a file, or with one that has no name, or nothing any more */
    ANONYMOUS_FILE,   /* a file that the loader does not know */
    ANONYMOUS_LISTED  /* named by a perf map */
};

struct anonymous_address {
    uint64_t address;
    enum anonymous_kind kind; /* out */
    const char *name;         /* out: its name in the list, or the file's base name; else NULL */
    uint64_t file_offset;     /* out: of ANONYMOUS_FILE */
    uint32_t region;          /* out: 1 + index into the regions, 0 for none */
};

struct anonymous_code {
    struct code_region *regions; /* owned; ascending */
    uint32_t region_count;
    size_t capacity;
    struct string_pool names; /* owned */
};

/*
 * Fills in addresses[0..count), which are sorted. Reads the memory map if it has not been read. The paths of
 * regions point into the map. modules (NULL: of another process), perf_maps and log may be NULL. 0; or
 * -ENOMEM with nothing held and nothing filled in.
 */
int anonymous_code_init(struct anonymous_code *code, const struct modules *modules, struct memory_map *memory,
                        const struct perf_maps *perf_maps, struct log *log,
                        struct anonymous_address *addresses, size_t count);
void anonymous_code_deinit(struct anonymous_code *code);

#endif
