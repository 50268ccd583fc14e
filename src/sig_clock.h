/*
 * Reading clocks: the kernel's own, whatever the program has put in the place of clock_gettime (libfaketime).
 *
 * Called from: any thread, handlers included; sig_clock_use once, before there are handlers. Touches no
 * errno. The vDSO's function makes the system call for the clocks that it does not know.
 */
#ifndef WALLPROF_SIG_CLOCK_H
#define WALLPROF_SIG_CLOCK_H

#include <time.h>

typedef int sig_clock_fn(clockid_t clock, struct timespec *ret);

/* The vDSO's clock_gettime; until then, and with NULL, it is the system call. */
void sig_clock_use(sig_clock_fn *vdso);

/* 0 or -errno: of a thread that is gone, -EINVAL. */
int sig_clock_read(clockid_t clock, struct timespec *ret);

#endif
