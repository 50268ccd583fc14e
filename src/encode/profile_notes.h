/*
 * Notes for people about how a profile was made, one line each: version, command, rate, samples taken and
 * missed, and files that are gone. A profile that was read from a pprof file keeps its comments instead.
 *
 * Called from: the encoders.
 */
#ifndef WALLPROF_PROFILE_NOTES_H
#define WALLPROF_PROFILE_NOTES_H

#include "profile/profile.h"

/* Gives each line to `add`, which copies it. */
typedef void profile_notes_add_fn(void *context, const char *text);
void profile_notes_write(const struct profile *profile, profile_notes_add_fn *add, void *context);

/* One line if a CPU quota has stopped the process, else "". Returns ret. */
enum { PROFILE_NOTES_THROTTLED_BYTES = 160 };
const char *profile_notes_throttled(const struct profile *profile, char ret[PROFILE_NOTES_THROTTLED_BYTES]);

/* The first deadlock of a recording, as it was said; "" for none. Returns ret. */
enum { PROFILE_NOTES_DEADLOCK_BYTES = 1024 };
const char *profile_notes_deadlock(const struct profile *profile, char ret[PROFILE_NOTES_DEADLOCK_BYTES]);

#endif
