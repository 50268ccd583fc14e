/*
 * Reading clocks: the kernel's own, whatever the program has put in the place of clock_gettime (libfaketime).
 *
 * Called from: any thread, handlers included; sig_clock_use once, before there are handlers. Touches no
 * errno. The vDSO's function makes the system call for the clocks that it does not know.
 *
 * It reads the time stamp counter, which a program can take away from a thread, and from what that thread
 * creates and forks: prctl(PR_SET_TSC, PR_TSC_SIGSEGV). (What it executes ends in the loader.) Reading it is
 * a SIGSEGV then, and in a handler that blocks every signal the end of the process. So from the first such
 * call on all clocks are read by system call: sig_clock_avoid_counter, by any thread before its counter goes.
 */
#ifndef WALLPROF_SIG_CLOCK_H
#define WALLPROF_SIG_CLOCK_H

#include <stdint.h>
#include <time.h>

typedef int sig_clock_fn(clockid_t clock, struct timespec *ret);

/* The vDSO's clock_gettime; until then, and with NULL, it is the system call. */
void sig_clock_use(sig_clock_fn *vdso);
void sig_clock_avoid_counter(void);

/* 0 or -errno: of a thread that is gone, -EINVAL. */
int sig_clock_read(clockid_t clock, struct timespec *ret);

/* The same in nanoseconds; 0 where it cannot be read. */
uint64_t sig_clock_ns(clockid_t clock);

#endif
