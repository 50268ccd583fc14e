/*
 * The trees of a page's data: one for each thread, or for threads whose labels are equal. docs/formats.md
 * describes them.
 *
 * Each number of a node is in a column of its own (html_numbers.h), so a tree is walked once for each column,
 * and nothing is kept in memory but what a timeline takes. A node does not say where its parent stands, but
 * how far its parent is above the node before it, in depth-first order. That is mostly 0.
 */
#ifndef WALLPROF_HTML_TREES_H
#define WALLPROF_HTML_TREES_H

#include "base/json.h"
#include "profile/profile.h"

/* Writes the members `trees`, `total`, `idle` and `numbers` of the object that is being written, `blame` if
 * anybody was blamed for a wait, and `slices` if the profile has a timeline (html_times.h). 0 or -ENOMEM. */
int html_trees_put(struct json *json, const struct profile *profile);

#endif
