/* Filters, for the hooks of prctl and syscall. */
#ifndef WALLPROF_HOOK_SECCOMP_H
#define WALLPROF_HOOK_SECCOMP_H

#include <stdbool.h>

/* Called before the system call seccomp(2), with its arguments. */
void hook_seccomp_before(long operation, long flags, long program);

/* Called after it, with its result. */
void hook_seccomp_after(long operation, long result);

/* Whether the program has installed a filter, which may not allow a call of ours. In a child of vfork too. */
bool hook_seccomp_has_filter(void);

#endif
