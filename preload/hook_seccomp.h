/* What the hooks of prctl and syscall need to know of seccomp. */
#ifndef WALLPROF_HOOK_SECCOMP_H
#define WALLPROF_HOOK_SECCOMP_H

#include <linux/filter.h>

/* Called before a filter is installed, for the calling thread or (SECCOMP_FILTER_FLAG_TSYNC) for all threads.
 * NULL: strict mode. */
void hook_seccomp_before(const struct sock_fprog *program, unsigned long flags);

/* The same before the system call seccomp(2), with its arguments. */
void hook_seccomp_before_call(long operation, long flags, long program);

#endif
