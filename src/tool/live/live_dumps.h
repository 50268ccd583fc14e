/*
 * A process that runs with the library and keeps no store writes one for each reading. That costs its sampler
 * the names of its code each time, and ctl_request.h says what it demands.
 *
 * Called from: live_source.c.
 */
#ifndef WALLPROF_LIVE_DUMPS_H
#define WALLPROF_LIVE_DUMPS_H

#include "ctl_subject.h"
#include "tool/read/recording.h"

#include <sys/types.h>

/* 0, or 1 after a message. */
int live_dumps_begin(struct ctl_subject *subject, pid_t pid);

/* A recording so far, without names from files. 0; -ENODATA: there is nothing yet; or another -errno, with a
 * reason in the recording. */
int live_dumps_read(struct ctl_subject *subject, struct recording *ret);

#endif
