/*
 * What a store's locations are called: by the files of its modules, which know more than the process did, and
 * by what the process said where they know nothing.
 *
 * Called from: the commands, once, when a store has been opened.
 */
#ifndef WALLPROF_TOOL_STORE_NAMES_H
#define WALLPROF_TOOL_STORE_NAMES_H

#include "recording.h"

/* Replaces the names of a store that has been opened; a recording from elsewhere keeps its own. 0 or -ENOMEM,
 * then the names are those of the store. */
int store_names_make(struct recording *recording);

#endif
