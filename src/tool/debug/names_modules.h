/*
 * What is known of each module: the flags that pprof wants of a mapping, from the frames of its locations.
 *
 * Called from: names.c, and whoever makes symbols in another way.
 */
#ifndef WALLPROF_TOOL_NAMES_MODULES_H
#define WALLPROF_TOOL_NAMES_MODULES_H

#include "profile/symbols.h"
#include "profile/tree.h"

/*
 * Fills in symbols->modules, which has room for location_count entries, and module_count. Frames, functions
 * and locations, by index, are complete.
 */
void names_modules_describe(struct wp_symbols *symbols, const struct wp_location *const *locations);

#endif
