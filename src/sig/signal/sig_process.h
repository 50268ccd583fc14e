/*
 * Whether code runs in the process that is recorded, or in a child that only has its memory. Hooks ask at
 * every change of a mask, so it takes no system call:
 *
 * - a forked child has a copy, but for a page that the kernel wipes in it (madvise(2), MADV_WIPEONFORK);
 * - a child of vfork runs on its parent's memory, while the parent's thread waits: the hook says so in that
 *   thread's storage (sig_wait.h).
 *
 * Not told apart is a child that the program makes itself by clone with CLONE_VM. Where the kernel has no
 * such page (before Linux 4.14, in emulators) it is asked for the pid.
 */
#ifndef WALLPROF_SIG_PROCESS_H
#define WALLPROF_SIG_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* This process is it, from now on; no other is, from now on. The session's thread, or a forked child's. */
void sig_process_begin(void);
void sig_process_end(void);

/* Its pid, 0 for none. */
int32_t sig_process_pid(void);

/* Any thread. */
bool sig_process_is_this(void);

#endif
