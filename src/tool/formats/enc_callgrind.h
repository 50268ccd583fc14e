/*
 * A profile as callgrind_annotate, KCachegrind and speedscope read it: what each function cost itself, line
 * by line, and each of its calls. All threads in one; a thread is a function that calls what it began with.
 *
 * Called from: the exporting thread, or the tool. Pure but for the sink.
 * Standard: the Callgrind Format Specification of valgrind's manual; docs/formats.md has the rules that the
 * readers add, and what is counted under recursion.
 */
#ifndef WALLPROF_ENC_CALLGRIND_H
#define WALLPROF_ENC_CALLGRIND_H

#include "profile/profile.h"
#include "base/sink.h"

/* Writes the whole file; the sink is left open. 0 or -ENOMEM. */
int enc_callgrind_write(const struct profile *profile, struct sink *sink);

#endif
