/*
 * The finished recording handed to the tool, which knows debug information: `wallprof export`, run by us.
 *
 * The program sees nothing of it: no child that its wait would find, no SIGCHLD, no descriptor. The tool gets
 * the store in a nameless file, none of the program's environment but what concerns itself, and half a
 * minute.
 *
 * Called from: the exporting thread.
 */
#ifndef WALLPROF_HANDOVER_H
#define WALLPROF_HANDOVER_H

#include "profile_path.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the tool is if it was installed with the library of that path: 0 or -errno (-ENOENT: not there). */
int handover_find(const char *library, char *ret, size_t capacity);

/* Whether this process is the tool, run by us. It is not profiled: we may be preloaded into every program. */
bool handover_is_tool(char *const *environment);

struct handover {
    const char *tool;             /* its path */
    int directory_fd;             /* where to, AT_FDCWD included */
    const char *name;             /* the file in it; its ending says the format */
    const struct wp_output *more; /* further files, more_count of them */
    uint32_t more_count;
};

/* 0 when all files have been written; -errno when one has not, for whatever reason: -ETIME when that took too
 * long, -ECHILD when the tool failed. errno is kept. */
int handover_write(const struct handover *handover, const struct wp_profile *profile);

#endif
