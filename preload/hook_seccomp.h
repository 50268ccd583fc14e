/* What the hooks of prctl and syscall need to know of seccomp. */
#ifndef WALLPROF_HOOK_SECCOMP_H
#define WALLPROF_HOOK_SECCOMP_H

#include <linux/filter.h>

/* Before a filter is installed for the calling thread, or with SECCOMP_FILTER_FLAG_TSYNC for all. NULL:
 * strict mode, or no filter. */
void hook_seccomp_before(const struct sock_fprog *program, unsigned long flags);

/* The same before the system call of that name, with its arguments (seccomp(2)). */
void hook_seccomp_before_call(long operation, long flags, long program);

#endif
