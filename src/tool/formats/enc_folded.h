/*
 * A profile as folded stacks: "root;caller;leaf MILLISECONDS", a line for each stack of names. What flame
 * graph programs read.
 *
 * Called from: the exporting thread, or the tool. Pure but for the sink.
 * Source: the input of Gregg's flamegraph.pl; docs/formats.md has what its readers make of it.
 */
#ifndef WALLPROF_ENC_FOLDED_H
#define WALLPROF_ENC_FOLDED_H

#include "profile/profile.h"
#include "base/sink.h"

/* Writes the whole file; the sink is left open. 0 or -ENOMEM. */
int enc_folded_write(const struct profile *profile, struct sink *sink);

#endif
