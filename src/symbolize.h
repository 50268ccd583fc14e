/*
 * From addresses to names, once, when the profile is written.
 *
 * Code in a module is named by module_names.h. What has no symbol is called by its module and the offset of
 * its function, as far as unwind information knows it: [libfoo.so+0x1234]. Code outside all modules is named
 * by outside.h; without a name it is [anonymous code].
 *
 * Called from: the exporting thread, with the profile's arena at rest.
 */
#ifndef WALLPROF_SYMBOLIZE_H
#define WALLPROF_SYMBOLIZE_H

#include "arena.h"
#include "log.h"
#include "modules.h"
#include "outside.h"
#include "perf_map.h"
#include "tree.h"

#include <stdbool.h>
#include <stdint.h>

/* A function in the sense of the profile: one entry of pprof's function table. */
struct wp_function {
    const char *name;        /* for people: demangled where possible; never NULL */
    const char *system_name; /* the linker's name; the same as name where there is none */
    bool is_symbol;          /* found in a symbol table or a perf map, not made up */
};

struct wp_symbols; /* names for all locations of one tree */

/* What else is known of the process. All of it can be left out. */
struct symbolize_process {
    const struct perf_maps *perf_maps; /* the lists of run-time code that count */
    uint64_t start_utc_ns;             /* 0: files are not judged by their times */
    struct wp_log *log;
};

/*
 * Names every location of the tree. demangle is __cxa_demangle of the program (Itanium C++ ABI 3.4), or NULL;
 * it allocates with the program's malloc. NULL is returned only when there is no memory at all.
 */
typedef char *symbolize_demangle_fn(const char *mangled, char *buffer, size_t *length, int *status);
struct wp_symbols *symbolize_create(const struct wp_tree *tree, const struct wp_modules *modules,
                                    symbolize_demangle_fn *demangle, const struct symbolize_process *process);
void symbolize_destroy(struct wp_symbols *symbols);

/* Functions are numbered 0..count-1; several locations share one. */
uint32_t symbolize_function_count(const struct wp_symbols *symbols);
const struct wp_function *symbolize_function(const struct wp_symbols *symbols, uint32_t index);

/* The function of the location with this index (struct wp_location.index). */
uint32_t symbolize_function_of(const struct wp_symbols *symbols, uint32_t location_index);

/* True when at least one location of the module got its name from a symbol table. */
bool symbolize_module_has_names(const struct wp_symbols *symbols, arena_ref module);

/* The memory that code outside all modules lies in, ascending; and which a location lies in: 1 + its index, 0
 * for one in a module, or where there was nothing to tell. */
uint32_t symbolize_region_count(const struct wp_symbols *symbols);
const struct outside_region *symbolize_region(const struct wp_symbols *symbols, uint32_t index);
uint32_t symbolize_region_of(const struct wp_symbols *symbols, uint32_t location_index);

/* A module with locations whose file could not be used. */
struct symbolize_lost_file {
    arena_ref module;
    int error; /* -ESTALE: another file is at its path; -ENOENT: none; or why it cannot be read */
};
uint32_t symbolize_lost_file_count(const struct wp_symbols *symbols);
const struct symbolize_lost_file *symbolize_lost_file(const struct wp_symbols *symbols, uint32_t index);

#endif
