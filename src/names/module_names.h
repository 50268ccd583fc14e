/*
 * The names of one module's functions, from any available source, but only from the file that was mapped.
 *
 * The first of these files is used that is the right one:
 *
 *  1. the file at the path that was recorded;
 *  2. the file at the path that the kernel knows now: it was moved;
 *  3. /proc/thread-self/exe, for the program itself;
 *  4. the file in /proc/self/map_files, which needs privileges.
 *
 * If none is right, a loaded object's exported functions are read from memory. Names that are still missing
 * come from the separate debug file, /usr/lib/debug/.build-id/xx/yyyy.debug.
 *
 * The right file has the build-id that the module had in memory. A file without a build-id is recognised by
 * its inode, which the kernel tells as long as the file is mapped. After that, a file is believed if it has
 * not been changed since the process started.
 *
 * Called from: the exporting thread, through symbolize. Scratch memory only.
 */
#ifndef WALLPROF_MODULE_NAMES_H
#define WALLPROF_MODULE_NAMES_H

#include "elf/elf.h"
#include "memory_map.h"
#include "modules/modules.h"

struct module_names {
    const struct arena *arena;
    struct string_pool *pool;  /* gets the names */
    struct memory_map *memory; /* read when it is first needed */
    bool is_another;           /* another process: memory is empty, and nothing is known to be loaded */
    bool leaves_plain;         /* plain modules get no names (see below) */
    uint64_t start_utc_ns;     /* of the process; 0: not known, and the times of files are not compared */
};

/*
 * Of a plain module symbols are all that is to be known, and any other reader of the file finds the same
 * names: the file at the recorded path has the module's build-id, there is no debug information for it, and
 * no server that is asked for some.
 *
 * Names queries[0..count), which are sorted, of a module. 0, or why its file was not used: -ESTALE if another
 * file is at its path, -ENOENT if there is none, or another -errno.
 */
int module_names_find(const struct module_names *names, const struct module *module,
                      struct elf_query *queries, size_t count);

/* The recorded path of a module, or "[unknown]". */
const char *module_names_path(const struct arena *arena, const struct module *module);

#endif
