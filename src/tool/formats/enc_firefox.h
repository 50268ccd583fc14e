/*
 * Firefox Profiler's processed profile format, for profiler.firefox.com: what happened when, thread by
 * thread.
 *
 * What readers demand of it: docs/formats.md.
 */
#ifndef WALLPROF_ENC_FIREFOX_H
#define WALLPROF_ENC_FIREFOX_H

#include "profile/profile.h"
#include "base/sink.h"

/* Writes the whole profile; the sink is left open. 0, -ENOMEM, or -ENODATA for a profile without a timeline.
 */
int enc_firefox_write(const struct profile *profile, struct sink *sink);

#endif
