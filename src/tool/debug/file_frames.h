/*
 * The frames of one module's addresses. What an earlier run has kept comes first, then the module's file with
 * its debug information. Where the file is gone, its debug file is read, and where the debug information
 * cannot be read, the symbols. Of a module that is known to have symbols alone they are read at once. The
 * vDSO is read from this process, if it is the same vDSO.
 *
 * Called from: names.c.
 */
#ifndef WALLPROF_FILE_FRAMES_H
#define WALLPROF_FILE_FRAMES_H

#include "debug_info.h"
#include "name_cache.h"

/*
 * Makes a table with a row for each of the ascending, distinct addresses of which something is known; others
 * may be left out. 0, or why the file was not used or only used in part: -ESTALE when another file is at its
 * path, -ENOENT when none is, -EIO when its debug information cannot be read, or another -errno. The caller
 * frees the table in any case.
 */
int file_frames_find(const struct debug_module *module, const struct name_cache *cache,
                     const uint64_t *addresses, size_t count, struct frame_table *ret);

#endif
