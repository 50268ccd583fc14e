/*
 * Readings of the recording of a process that runs, by the way that costs the process least:
 *
 * - it runs with the library and keeps a store: the store's file is read, of which the process knows nothing;
 * - it runs with the library and keeps none: it writes one for each reading (live_dumps.h);
 * - it runs without the library: it is recorded from outside (live_recorder.h).
 *
 * Called from: live_loop.c. One thread. Messages go to stderr.
 */
#ifndef WALLPROF_LIVE_SOURCE_H
#define WALLPROF_LIVE_SOURCE_H

#include "ctl_subject.h"
#include "live_recorder.h"
#include "tool/read/recording.h"

#include <stdbool.h>
#include <sys/types.h>

enum live_way { LIVE_BY_STORE, LIVE_BY_DUMPS, LIVE_FROM_OUTSIDE };

struct live_source {
    pid_t pid;
    enum live_way way;
    int store; /* -1 where the process writes one for each reading */
    struct ctl_subject subject;
    struct live_recorder recorder;
    int ended; /* a pidfd, which can be read from when the process has ended; -1 where there is none */
};

/* 0, or 1 after a message. live_source_close in either case. */
int live_source_open(struct live_source *source, pid_t pid);
void live_source_close(struct live_source *source);

/* All that was recorded so far, with names. 0 and to be closed; -ENODATA: there is nothing yet; or another
 * -errno with a reason in the recording. */
int live_source_read(struct live_source *source, struct recording *ret);

/* The process has ended, or its recording has: the store has all, and can be read once more. */
bool live_source_has_ended(struct live_source *source);

/* The process itself has. */
bool live_source_process_has_ended(const struct live_source *source);

/* How it is recorded, for people: "" for the ordinary way. */
const char *live_source_how(const struct live_source *source);

#endif
