/*
 * What programs to be profiled share: the time, frames that stay, and how they say that something is wrong.
 *
 * Each target is one file, which includes this; in C++ too. check and CHECK count what is not as it should
 * be, and name the first few on stderr: from any thread, not in a signal handler or a child of vfork. The
 * program ends with a status of its own when failures is not 0. A forked child goes on counting for itself.
 *
 * die is for what a test cannot go on without: status 2, at once, so without a profile.
 */
#ifndef WALLPROF_TARGET_H
#define WALLPROF_TARGET_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

/* A function with a frame of its own, and only one of it. */
#ifdef __clang__
#define KEEP_FRAME __attribute__((noinline))
#else
#define KEEP_FRAME __attribute__((noipa))
#endif
/* After a function's last call: makes it no tail call, so that its frame stays. */
#define KEEP_CALL() __asm__ volatile("" ::: "memory")

static unsigned failures; /* atomic */

static inline void check(bool is_right, const char *what)
{
    enum { NAMED_MAX = 10 }; /* what goes wrong in a loop is to be read all the same */
    int error = errno;
    if (is_right)
        return;
    if (__atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST) < NAMED_MAX)
        fprintf(stderr, "%s: %s (%s)\n", program_invocation_short_name, what, strerror(error));
    errno = error;
}

#define CHECK(condition) check(condition, "not so: " #condition)

static inline void die(const char *what)
{
    perror(what);
    _exit(2);
}

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        die("clock_gettime");
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline struct timespec timespec_of(uint64_t ns)
{
    struct timespec ret;
    ret.tv_sec = (time_t)(ns / NS_PER_S);
    ret.tv_nsec = (long)(ns % NS_PER_S);
    return ret;
}

/*
 * How late a thread woke, at most. On a crowded machine any thread has to wait that long for a processor now
 * and then, also where it cannot measure itself: before its first line, and after its last. Reported as
 * "late NS".
 */
static uint64_t latest_ns; /* atomic */

static inline void note_wakeup(uint64_t due_ns, uint64_t woken_ns)
{
    uint64_t late_ns = woken_ns > due_ns ? woken_ns - due_ns : 0;
    uint64_t latest = __atomic_load_n(&latest_ns, __ATOMIC_RELAXED);
    while (late_ns > latest &&
           !__atomic_compare_exchange_n(&latest_ns, &latest, late_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/*
 * On the processor, in the caller's frame; in steps, so that a machine that stands still takes one of them,
 * and not all that a profiler is to see. Then it lasts for longer, as who measures it finds.
 */
static inline __attribute__((always_inline)) void work_ms(uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        for (uint64_t end_ns = now_ns() + NS_PER_MS; now_ns() < end_ns;)
            ;
    }
}

#endif
