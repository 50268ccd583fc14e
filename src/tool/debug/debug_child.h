/*
 * Runs debug_info.h in a process of its own. A file on which libdw crashes, loops or takes endless memory
 * then costs names and nothing else.
 *
 * Called from: file_frames.c, in a process with one thread.
 */
#ifndef WALLPROF_DEBUG_CHILD_H
#define WALLPROF_DEBUG_CHILD_H

#include "debug_info.h"

/* How long the process may take. */
struct debug_bounds {
    unsigned cpu_seconds, wall_seconds;
};

/*
 * As debug_info_read; -EIO when the reading process died or exceeded its bounds. A debuginfod server has to
 * reply within a short time: DEBUGINFOD_TIMEOUT and DEBUGINFOD_MAXTIME have defaults here.
 */
int debug_child_read(const struct debug_bounds *bounds, const struct debug_module *module,
                     const uint64_t *addresses, size_t count, struct frame_table *ret);

#endif
