/* A line on a terminal that says how far reading has come; nothing elsewhere, nor in the first second. */
#ifndef WALLPROF_TOOL_NAMES_PROGRESS_H
#define WALLPROF_TOOL_NAMES_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names_progress {
    int64_t start_ms;
    bool is_wanted, is_shown;
    size_t done, count; /* files, as shown */
    const char *path;
};

void names_progress_begin(struct names_progress *progress, bool is_wanted);
/* The next file; its path is read again by names_progress_show. */
void names_progress_advance(struct names_progress *progress, size_t done, size_t count, const char *path);
void names_progress_show(void *progress); /* as debug_module.waiting calls it: how far it is now */
unsigned names_progress_seconds(const struct names_progress *progress); /* since it began */
void names_progress_end(struct names_progress *progress);               /* the line is erased */

#endif
