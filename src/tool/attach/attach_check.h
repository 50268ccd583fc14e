/*
 * Whether a process can be looked at, and if not, why: in words for people.
 *
 * Called from: cmd_attach.c, live_recorder.c and run_external.c, before anything of the process is changed.
 */
#ifndef WALLPROF_ATTACH_CHECK_H
#define WALLPROF_ATTACH_CHECK_H

#include <stdbool.h>
#include <sys/types.h>

/* 0; or 1 after a message on stderr. directory: an open /proc/PID, of the process. */
int attach_check(pid_t pid, int directory);

#define ATTACH_KERNEL_TOO_SILENT                                                                             \
    "this kernel does not tell how often threads run (CONFIG_SCHED_INFO), which is needed"

/* Whether the kernel tells that. By the calling thread, which has run: a process that was just born has not.
 */
bool attach_check_kernel(void);

enum { ATTACH_WHY_BYTES = 256 };

/* Why PTRACE_SEIZE has failed with this errno for a child of ours. */
void attach_check_explain(int error, char ret[ATTACH_WHY_BYTES]);

/* Whether it has ended, though its parent may not know yet. */
bool attach_check_is_gone(int directory);

/* For a process that is not in /proc: the message. Returns 1. */
int attach_check_missing(pid_t pid);

#endif
