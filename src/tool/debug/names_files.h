/*
 * What files know of a recording's locations. Each file is read once, with all of its addresses, however
 * often it was loaded, and in however many segments. Modules with one path and one build-id are of one file.
 *
 * While files are read, a progress line is shown on stderr if that is a terminal, from the first second on.
 *
 * Called from: names.c. One thread; other processes are started (debug_child.h).
 */
#ifndef WALLPROF_NAMES_FILES_H
#define WALLPROF_NAMES_FILES_H

#include "frame_table.h"
#include "names/module_names.h"
#include "names.h"

/* What is known of a location. Of `known` and `row` at most one is set. */
struct names_found {
    const struct names_known *known, *hint; /* what the process said */
    const struct frame_row *row;            /* what a file says, in this table; NULL: nothing */
    const struct frame_table *table;
};

struct names_files {
    const struct profile *profile;
    const struct location *const *locations; /* by index */
    struct names_found *found;               /* by location index: filled in where nothing is known */
    struct symbols *symbols;                 /* its lost files are filled in */
    bool is_quiet;                           /* no progress line */
    struct frame_table *tables;              /* owned, one per file: what `found` points into */
    size_t table_count;
};

static inline const struct module *names_module(const struct profile *profile, arena_ref ref)
{
    return arena_at(profile->arena, ref);
}

static inline const char *names_path(const struct profile *profile, arena_ref ref)
{
    return module_names_path(profile->arena, names_module(profile, ref));
}

/* Reads all files that are needed. 0 or -ENOMEM; names_files_free also then. */
int names_files_read(struct names_files *files);
void names_files_free(struct names_files *files);

#endif
