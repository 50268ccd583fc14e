/*
 * The names of one module's functions, from any available source, but only from the file that was mapped.
 *
 * The sources in order: the file at the path that was recorded; at the path that the kernel knows now (a file
 * that was moved); the program itself through /proc; any mapped file through /proc/self/map_files, which
 * needs privileges. Only the first of these that is the right file is used. When none is, a loaded object's
 * exported functions are read from memory. Names that are still missing come from the separate debug file
 * (/usr/lib/debug/.build-id/xx/yyyy.debug).
 *
 * The right file has the build-id that the module had in memory. A file without a build-id is recognised by
 * its inode, which the kernel tells as long as it is mapped. After that, a file is believed that has not been
 * changed since the process started.
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
    bool is_another;           /* process: memory is empty, and nothing is known to be loaded */
    uint64_t start_utc_ns;     /* of the process; 0 when not known: files' times are not compared with it */
};

/*
 * Names queries[0..count), which are sorted, of a module. 0, or why its file was not used: -ESTALE when
 * another file is at its path, -ENOENT when there is none, or another -errno.
 */
int module_names_find(const struct module_names *names, const struct module *module,
                      struct elf_query *queries, size_t count);

/* The recorded path of a module, or "[unknown]". */
const char *module_names_path(const struct arena *arena, const struct module *module);

#endif
