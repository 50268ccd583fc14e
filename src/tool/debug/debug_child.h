/*
 * debug_info.h in a process of its own, so that a file which libdw cannot stand costs names and nothing else:
 * a crash, an endless loop or endless memory end there.
 *
 * Called from: names.c, in a process with one thread.
 */
#ifndef WALLPROF_TOOL_DEBUG_CHILD_H
#define WALLPROF_TOOL_DEBUG_CHILD_H

#include "debug_info.h"

/*
 * As debug_info_read. -EIO when the reading process died or took longer than its bounds. What is needed of a
 * debuginfod server must have come before its patience ends, which is short (DEBUGINFOD_TIMEOUT and
 * DEBUGINFOD_MAXTIME of the environment are respected).
 */
int debug_child_read(const struct debug_module *module, const uint64_t *addresses, size_t count,
                     struct frame_table *ret);

/* For tests: the same with something else than debug_info_read. */
typedef int debug_read_fn(const struct debug_module *module, const uint64_t *addresses, size_t count,
                          struct frame_table *ret);
struct debug_bounds {
    unsigned cpu_seconds, wall_seconds;
};
int debug_child_run(debug_read_fn *read, const struct debug_bounds *bounds, const struct debug_module *module,
                    const uint64_t *addresses, size_t count, struct frame_table *ret);

#endif
