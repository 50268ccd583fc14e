/*
 * The frames of one module's addresses, from wherever they can be had: what an earlier run has kept, the
 * module's file with its debug information, its debug file alone where the file is gone, its symbols alone
 * where its debug information cannot be read; of the vDSO this process's own, if it is the same one.
 *
 * Called from: names.c.
 */
#ifndef WALLPROF_TOOL_FILE_FRAMES_H
#define WALLPROF_TOOL_FILE_FRAMES_H

#include "debug_info.h"
#include "name_cache.h"

/*
 * Makes a table with a row for each of the ascending, distinct addresses that something is known of; others
 * may be left out. 0, or why the file was not used, or only in part: -ESTALE when another file is at its
 * path, -ENOENT when none is, -EIO when reading its debug information failed, or another -errno. The table is
 * to be freed in any case.
 */
int file_frames_find(const struct debug_module *module, const struct name_cache *cache,
                     const uint64_t *addresses, size_t count, struct frame_table *ret);

#endif
