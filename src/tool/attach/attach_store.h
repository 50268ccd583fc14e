/*
 * A recording from outside is kept in a file while it is made (mapped_store.h). In the directory of a run
 * that is a store like that of a process which records itself. `wallprof gather` makes the profile of it. So
 * nothing is lost when the recorder is killed. Without a run it is for `wallprof top PID`, which reads the
 * file while it is recorded into.
 *
 * Called from: the recording thread (attach.c); attach_record_family, attach_child.c and live_recorder.c at
 * the end; cmd_attach.c before the beginning (attach_store_has_recorder).
 */
#ifndef WALLPROF_ATTACH_STORE_H
#define WALLPROF_ATTACH_STORE_H

#include <stdbool.h>
#include <sys/types.h>

struct attach;

/* Whether another process keeps a recording of this one in the directory of a run. */
bool attach_store_has_recorder(const char *run, pid_t pid);

/* Makes the file in attach->run, and locks it for as long as this process lives; or takes attach->store. 0 or
 * -errno. */
int attach_store_begin(struct attach *attach);

/* The process runs another program by now, which the file says then. */
void attach_store_describe(struct attach *attach);

/* After the recording: completes the file, and closes it. attach->ending is how the process ended. 0; or
 * -errno, if the file could not be kept to the end, as where the disk is full. */
int attach_store_end(struct attach *attach);

#endif
