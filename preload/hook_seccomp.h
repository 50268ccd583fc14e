/* Filters, for the hooks of prctl and syscall. */
#ifndef WALLPROF_HOOK_SECCOMP_H
#define WALLPROF_HOOK_SECCOMP_H

/* Called before the system call seccomp(2), with its arguments. */
void hook_seccomp_before(long operation, long flags, long program);

#endif
