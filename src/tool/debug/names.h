/*
 * Makes the names of a recording (symbols.h) afterwards, from the files of its modules.
 *
 * Some names only the profiled process knew: those of generated code, and of a library whose file was gone
 * already. They come from the recording, and take precedence over any file.
 *
 * Servers (debuginfod) are used only where DEBUGINFOD_URLS is set, and only in the first minute. The variable
 * is unset after that.
 *
 * Called from: the commands, with the profile at rest. One thread; other processes are started
 * (debug_child.h).
 */
#ifndef WALLPROF_NAMES_H
#define WALLPROF_NAMES_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What the process said about one location, or another recording that was read.
 *
 * Debug information has one name for a function, the one it was compiled under (__GI___clock_nanosleep). That
 * may be the least known of the names that lead to its code. A hint is the symbol that the process found
 * there. A profile without debug information uses that symbol too. So the hint is preferred, unless it only
 * says that the code is a part or a copy of the function (parse.cold, parse.constprop.0).
 */
struct names_known {
    uint32_t location;       /* index */
    uint32_t region;         /* 1 + index into the regions, 0 for none */
    const char *name;        /* for people; NULL: made from system_name */
    const char *system_name; /* NULL: not known, and name is ignored */
    bool is_hint;            /* used only where the files have another name: see above */

    /* All frames of the location, innermost first. They replace the names above, unless there are none. */
    const struct names_frame *frames;
    uint32_t frame_count;
};

/* A frame that another recording has named. */
struct names_frame {
    const char *name, *system_name, *file; /* as struct symbol_function has them */
    uint32_t start_line, line;
    bool is_symbol;
};

struct names_options {
    const struct names_known *known; /* in any order; of several for a location the last one counts */
    uint32_t known_count;
    const struct code_region *regions; /* ascending */
    uint32_t region_count;
    bool is_quiet; /* no progress line (it is shown on a terminal only, after a second) */
};

/*
 * Names every location of profile->tree; profile->symbols is ignored. Everything is copied, so the options
 * and what they point to may be freed. options may be NULL. 0 or -ENOMEM.
 */
int names_make(const struct profile *profile, const struct names_options *options, struct symbols **ret);
void names_release(struct symbols *symbols);

#endif
