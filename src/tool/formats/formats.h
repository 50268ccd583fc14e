/*
 * A profile in any format: those that encode/format.h writes, and those that the tool has for itself.
 *
 * Called from: the tool. Pure but for the sink.
 */
#ifndef WALLPROF_FORMATS_H
#define WALLPROF_FORMATS_H

#include "base/sink.h"
#include "encode/format.h"

/* Writes the whole profile; the sink is left open. 0, -ENOMEM, or -ENODATA if the format needs a timeline and
 * the profile has none. */
int formats_write(enum file_format format, const struct profile *profile, struct sink *sink);

#endif
