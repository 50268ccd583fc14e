/*
 * What is said for people about how a profile came about, a line at a time: version, command, rate, samples
 * taken and missed, and files that are gone.
 *
 * Called from: the encoders.
 */
#ifndef WALLPROF_COMMENTS_H
#define WALLPROF_COMMENTS_H

#include "profile/profile.h"

/* Gives each line to `add`, which copies it. */
typedef void comments_add_fn(void *context, const char *text);
void comments_write(const struct wp_profile *profile, comments_add_fn *add, void *context);

#endif
