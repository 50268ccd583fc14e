/*
 * A profile as pprof reads it: profile.proto, written in one pass without a tree of messages in memory.
 *
 * Called from: the exporting thread. Pure except for the sink.
 * Standard: google/pprof proto/profile.proto; docs/formats.md has the rules that readers add.
 */
#ifndef WALLPROF_ENC_PPROF_H
#define WALLPROF_ENC_PPROF_H

#include "profile/profile.h"
#include "base/sink.h"

/* Writes the whole message; the sink is left open. 0 or -ENOMEM. */
int enc_pprof_write(const struct profile *profile, struct sink *sink);

#endif
