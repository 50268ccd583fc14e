/*
 * A child of `wallprof run` is recorded from outside, from its first instruction on, by a process of its own.
 *
 * The recorder is not the child's parent: to a parent that also traces, Linux shows the stops of both kinds
 * as one. The two talk by a socket before the exec. The recorder says who it is, the child allows that
 * process to trace it (Yama), the recorder seizes it, and the child goes on. At its exec it stands still
 * until the recording has begun. Then it is let go, and nobody traces it.
 *
 * Called from: cmd_run.c, by way of run_external.c.
 */
#ifndef WALLPROF_ATTACH_CHILD_H
#define WALLPROF_ATTACH_CHILD_H

#include "config/config.h"

#include <sys/types.h>

struct attach_child {
    pid_t pid;
    int talk;  /* the recorder's end of the socket */
    int ended; /* a pipe on which the parent writes the child's status, as waitpid gives it; it ends without
                  one when the parent has been killed */
    const char *run; /* the run's directory, where the recording is kept */
};

/* In the child, before its exec. talk: its end of the socket. 0; or the errno of the recorder, which cannot
 * trace it. Without a recorder the program runs unrecorded. */
int attach_child_hold(int talk);

/*
 * In the recorder, which has one thread and all signals blocked: records the child to its end. What cannot be
 * is said on stderr. Returns whether the parent was there to the end.
 */
bool attach_child_record(const struct attach_child *child);

#endif
