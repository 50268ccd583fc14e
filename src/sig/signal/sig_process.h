/*
 * Whether code runs in the process that is recorded, or in a child that only has its memory. Hooks need it at
 * every change of a mask, so it takes no system call:
 *
 * - A forked child has a copy of the memory, with one page wiped by the kernel (madvise(2), MADV_WIPEONFORK).
 * - A child of vfork runs on its parent's memory while the parent's thread waits. The hook notes that in the
 *   thread's storage (sig_wait.h).
 *
 * A child that the program makes by clone with CLONE_VM is not told apart. Where the kernel cannot wipe a
 * page (before Linux 4.14, in emulators), the pid decides.
 */
#ifndef WALLPROF_SIG_PROCESS_H
#define WALLPROF_SIG_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on this process is recorded, or none is. The session's thread, or a forked child's. */
void sig_process_begin(void);
void sig_process_end(void);

/* Its pid, 0 for none. */
int32_t sig_process_pid(void);

/* Any thread. */
bool sig_process_is_this(void);

#endif
