/*
 * Reading clocks: the kernel's own, whatever the program has put in the place of clock_gettime (libfaketime).
 *
 * Called from: any thread, handlers included. Touches no errno.
 */
#ifndef WALLPROF_SIG_CLOCK_H
#define WALLPROF_SIG_CLOCK_H

#include <stdint.h>
#include <time.h>

typedef int sig_clock_fn(clockid_t clock, struct timespec *ret);

/*
 * Sets the vDSO's clock_gettime, once before there are handlers. It makes the system call for clocks that it
 * does not know. With NULL, as before the first call, all clocks are read by system call.
 *
 * The vDSO reads the time stamp counter. A program can take that from a thread, and from what the thread
 * creates and forks: prctl(PR_SET_TSC, PR_TSC_SIGSEGV). Reading it then raises SIGSEGV, which ends a process
 * in a handler that blocks every signal. So the thread calls this with NULL before its counter goes.
 */
void sig_clock_use(sig_clock_fn *vdso);

/* 0 or -errno: -EINVAL for the CPU clock of a thread that is gone. */
int sig_clock_read(clockid_t clock, struct timespec *ret);

/* The same in nanoseconds; 0 where it cannot be read. */
uint64_t sig_clock_ns(clockid_t clock);

#endif
