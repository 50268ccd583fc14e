/*
 * Whether a process can be looked at, and if not, why: in words for people.
 *
 * Called from: cmd_attach.c, before anything of the process is changed.
 */
#ifndef WALLPROF_ATTACH_CHECK_H
#define WALLPROF_ATTACH_CHECK_H

#include <sys/types.h>

/* 0; or 1 after a message on stderr. directory: an open /proc/PID, of the process. */
int attach_check(pid_t pid, int directory);

/* For a process that is not in /proc: the message. Returns 1. */
int attach_check_missing(pid_t pid);

#endif
