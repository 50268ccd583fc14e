/*
 * Whether the kernel answers questions about unix sockets by code that it has: not by a module that it would
 * have to load for that. It would run modprobe as root, and the thread that asks would wait for it.
 *
 * Called from: the sampler thread.
 */
#ifndef WALLPROF_UNIX_DIAG_H
#define WALLPROF_UNIX_DIAG_H

#include <stdbool.h>

/* It is a part of the kernel, or nothing can be loaded; does not change. task_directory: an open
 * /proc/PID/task. root: what stands before /lib; "" but in tests. */
bool unix_diag_is_built_in(int task_directory, const char *root);

/* It was loaded, as by ss(8). root: before /sys. */
bool unix_diag_is_loaded(const char *root);

#endif
