/*
 * The names of a store's locations: from the files of its modules, which know more than the process did, and
 * from what the process said where the files know nothing.
 *
 * Called from: the commands, once, after a store was opened.
 */
#ifndef WALLPROF_STORE_NAMES_H
#define WALLPROF_STORE_NAMES_H

#include "tool/debug/names.h"
#include "recording.h"

/* Replaces the names of a store that was opened; a recording of another kind keeps its own. 0; or -ENOMEM,
 * and the names are those that the store had. */
int store_names_make(struct recording *recording);

/* Opens a recording with all that can be known of its names. 0; or 1, and then a message has been written and
 * nothing is open. */
int store_names_open(struct recording *recording, const char *path);
int store_names_open_measure(struct recording *recording, const char *path, const char *measure);

/* What the process called a location, and in which region it was; false if it said neither. The recording
 * owns the text. */
bool store_names_said(const struct recording *recording, const struct location *location,
                      struct names_known *ret);

/*
 * Names locations from the files, except those that only the process knew. Then names all once more with the
 * hints of those locations of which the files know nothing. `known` has options->known_count entries, at most
 * one for each location, and space for as many after them. 0 or -ENOMEM.
 */
int store_names_find(const struct profile *profile, struct names_options *options, struct names_known *known,
                     struct symbols **ret);

#endif
