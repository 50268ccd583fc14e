/*
 * What a store's locations are called: by the files of its modules, which know more than the process did, and
 * by what the process said where they know nothing.
 *
 * Called from: the commands, once, when a store has been opened.
 */
#ifndef WALLPROF_TOOL_STORE_NAMES_H
#define WALLPROF_TOOL_STORE_NAMES_H

#include "tool/debug/names.h"
#include "recording.h"

/* Replaces the names of a store that has been opened; a recording from elsewhere keeps its own. 0 or -ENOMEM,
 * then the names are those of the store. */
int store_names_make(struct recording *recording);

/* What the process that left a store called a location, and where it was; false if it said neither. Its text
 * is the recording's. */
bool store_names_said(const struct recording *recording, const struct wp_location *location,
                      struct names_known *ret);

/*
 * Names by files first, but for what only the process knew; and again with the hints where the files turn out
 * to know nothing. known[0..options->known_count) are made use of, and there is room for as many behind them;
 * at most one for each location. 0 or -ENOMEM.
 */
int store_names_find(const struct wp_profile *profile, struct names_options *options,
                     struct names_known *known, struct wp_symbols **ret);

#endif
