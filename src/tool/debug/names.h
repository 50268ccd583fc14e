/*
 * The names of a recording, made after the fact, from the files that its modules came from: symbols.h for a
 * profile that has none yet.
 *
 * What only the profiled process knew (the names of code that was generated, or of a library whose file was
 * gone already) is taken from what it left, and is believed before any file.
 *
 * Servers (debuginfod) are asked only where DEBUGINFOD_URLS is set, and only in the first minute: it is unset
 * after that.
 *
 * Called from: the commands, with the profile at rest. One thread; other processes are started
 * (debug_child.h).
 */
#ifndef WALLPROF_TOOL_NAMES_H
#define WALLPROF_TOOL_NAMES_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What the process said of one location.
 *
 * Debug information calls a function by the one name that it was compiled under (__GI___clock_nanosleep),
 * which may be the least known of those that lead to its code. A hint is the symbol that the process found
 * there, by which a profile that is made without debug information calls it too: it is preferred, but where
 * it only says that the code is a part or a copy of the function (parse.cold, parse.constprop.0).
 */
struct names_known {
    uint32_t location;       /* index */
    uint32_t region;         /* 1 + index into the regions, 0 for none */
    const char *name;        /* for people; NULL: made from system_name */
    const char *system_name; /* NULL: not known, and name is not looked at */
    bool is_hint;            /* only for where the files know the function by another name: see above */
    const struct names_frame
        *frames;          /* all of the location's, innermost first, in place of the names above */
    uint32_t frame_count; /* 0: there are none, and it is as above */
};

/* A frame that was named before: by another recording. */
struct names_frame {
    const char *name, *system_name, *file; /* as struct wp_function has them */
    uint32_t start_line, line;
    bool is_symbol;
};

struct names_options {
    const struct names_known *known; /* in any order; the last word on a location counts */
    uint32_t known_count;
    const struct outside_region *regions; /* ascending */
    uint32_t region_count;
    bool is_quiet; /* no progress line (it is shown on a terminal only, after a second) */
};

/*
 * Names every location of profile->tree; profile->symbols is not looked at. Everything is copied: options and
 * what they lead to may go. options may be NULL. 0 or -ENOMEM.
 */
int names_make(const struct wp_profile *profile, const struct names_options *options,
               struct wp_symbols **ret);
void names_release(struct wp_symbols *symbols);

#endif
