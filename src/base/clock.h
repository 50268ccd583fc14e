/* Times are nanoseconds in 64 bits everywhere. These are the only conversions. */
#ifndef WALLPROF_CLOCK_H
#define WALLPROF_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

static inline uint64_t clock_timespec_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

static inline struct timespec clock_ns_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

/* The clock's time, whatever the program has put in the place of clock_gettime; 0 if the clock cannot be
 * read, as that of a thread that is gone. */
uint64_t clock_read_ns(clockid_t clock);

uint64_t clock_monotonic_ns(void);

/* The CPU clock of any thread of this process, as Linux makes it (MAKE_THREAD_CPUCLOCK, CPUCLOCK_SCHED). */
static inline clockid_t clock_of_thread(pid_t tid)
{
    return (clockid_t)((~(unsigned)tid) << 3 | 6U);
}

/* The CPU clock of any process (MAKE_PROCESS_CPUCLOCK). */
static inline clockid_t clock_of_process(pid_t pid)
{
    return (clockid_t)((~(unsigned)pid) << 3 | 2U);
}

#endif
