/*
 * A request to the sampler of a process that runs with the library (control_page.h).
 *
 * Called from: `wallprof ctl`, and live_dumps.c. One thread.
 */
#ifndef WALLPROF_CTL_REQUEST_H
#define WALLPROF_CTL_REQUEST_H

#include "ctl_subject.h"

#include <limits.h>
#include <stdint.h>

/* Sends it, and waits for the reply, which then is in the page: result and status. path: absolute, or "".
 * Nobody else can send one until ctl_request_end, or our end. 0, or 1 after a message. */
int ctl_request_send(struct ctl_subject *subject, enum control_kind kind, const char *path,
                     uint64_t timeout_ns);
void ctl_request_end(const struct ctl_subject *subject);

/* Makes a directory for what the process is to write for us: it can write there, also where it is not ours
 * but we are root. 0, or 1 after a message. */
int ctl_request_directory(const struct ctl_subject *subject, char ret[PATH_MAX]);

#endif
