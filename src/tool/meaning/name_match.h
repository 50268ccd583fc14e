/*
 * Whether a name is like a pattern of fnmatch(3). The same, but most patterns begin with a letter, and then
 * the first letter of most names says no. fnmatch takes 480 ns for such a name.
 *
 * Called from: the parts of this room, with tens of patterns for each function of a profile.
 */
#ifndef WALLPROF_NAME_MATCH_H
#define WALLPROF_NAME_MATCH_H

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

static inline bool name_match(const char *pattern, const char *name)
{
    bool may_begin_so = *pattern == *name || strchr("*?[\\", *pattern);
    return may_begin_so && fnmatch(pattern, name, 0) == 0;
}

#endif
