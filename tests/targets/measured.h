/*
 * For programs to be profiled whose functions measure themselves, so that what they print is the truth
 * whatever the machine did meanwhile. Each of their functions stands below 25 frames level_01 .. level_25 and
 * adds up the wall and CPU time between its first and its last instruction, preemption included.
 *
 * A target lists its functions, each with the function it passes its time in:
 *
 *     #define FUNCTIONS(F) F(sleep_a, wait_in_sleep) F(spin_a, spin)
 *     MEASURED_FUNCTIONS
 *
 * and this is the report on stdout, times in nanoseconds:
 *
 *     function NAME wall cpu                             over all threads
 *     share THREAD FUNCTION wall cpu visits              one thread's part of it
 *     thread NAME tid lifetime cpu most                  from the start routine's first line to its return;
 * most: from its creation until it was joined interrupted N                                      how often a
 * call returned EINTR stalled total                                      how long the machine stood still for
 * some thread process main_lifetime rusage_cpu
 *
 * A thread that is still there when the report is made is reported as of that moment, the function it is in
 * too: the end of the program is the end of its call.
 */
#ifndef WALLPROF_MEASURED_H
#define WALLPROF_MEASURED_H

#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { MEASURES_MAX = 32 };

/* What was measured; read by the report while its thread may still be waiting,
 * so written at one place each. */
struct measure {
    _Atomic uint64_t wall_ns, cpu_ns, visits;
    _Atomic uint64_t since_ns, since_cpu_ns; /* since_ns 0: not in it now */
};

/* A thread that is measured. The target's own struct begins with it. */
struct measured {
    pthread_t thread;
    char name[16];
    _Atomic pid_t tid;
    uint64_t stalled_ns;
    uint64_t created_ns, joined_ns; /* just before, and just after; joined_ns 0: not yet */
    struct measure lifetime;
    struct measure functions[MEASURES_MAX];
};

typedef void work_fn(struct measured *self, uint64_t duration_ns);

static atomic_ulong interrupted;
static uint64_t process_start_ns;

/* Whole milliseconds up to a deadline, rounded up; -1 when it is over. */
static inline int ms_until(uint64_t end_ns)
{
    uint64_t now = now_ns();
    return now < end_ns ? (int)((end_ns - now + NS_PER_MS - 1) / NS_PER_MS) : -1;
}

/* True when a wait is to go on because a signal ended it. */
static inline int was_interrupted(int error)
{
    if (error == EINTR)
        atomic_fetch_add_explicit(&interrupted, 1, memory_order_relaxed);
    return error == EINTR;
}

/* The clock that can be read of another thread too: see clock_getcpuclockid(3),
 * CPUCLOCK_PERTHREAD | _SCHED. */
static inline clockid_t cpu_clock_of(pid_t tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | 6);
}

/* The wall time is taken outside of the CPU time: to read the latter is a system call, at the end of which a
 * thread may lose its CPU to another, and that time is the function's too. */
static inline void measure_begin(struct measure *measure)
{
    uint64_t since_ns = now_ns();
    measure->since_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    measure->since_ns = since_ns;
}

static inline void measure_end(struct measure *measure)
{
    measure->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - measure->since_cpu_ns;
    measure->wall_ns += now_ns() - measure->since_ns;
    measure->visits++;
    measure->since_ns = 0;
}

/* ---- ways to pass the time that every target has ---- */

/* In a frame of its own, which has no call. */
KEEP_FRAME static void burn(void)
{
    for (volatile unsigned turns = 0; turns < 20000; turns = turns + 1)
        ;
}

static inline void spin(struct measured *self, uint64_t duration_ns)
{
    (void)self;
    for (uint64_t end_ns = now_ns() + duration_ns; now_ns() < end_ns;)
        burn();
}

/* A virtual processor can stand still while the clock goes on; the measurement must know for how long. */
static inline void note_stall(struct measured *self, uint64_t due_ns)
{
    enum { STALL_MS = 100 }; /* no busy scheduler keeps a sleeper waiting that long */
    uint64_t now = now_ns();
    if (self && now > due_ns + STALL_MS * NS_PER_MS)
        self->stalled_ns += now - due_ns;
}

/* self: NULL in a thread that is not measured. */
static inline void sleep_until(struct measured *self, uint64_t end_ns)
{
    struct timespec end = timespec_of(end_ns);
    while (was_interrupted(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL)))
        ;
    note_stall(self, end_ns);
}

/* ---- the measured functions, and the 25 frames they stand under ---- */

#define MEASURED_NUMBER(name, body) FUNCTION_##name,
#define MEASURED_NAME(name, body)   #name,
#define MEASURED_FUNCTION(name, body)                                                                        \
    KEEP_FRAME void name(struct measured *self, uint64_t duration_ns)                                        \
    {                                                                                                        \
        measure_begin(&self->functions[FUNCTION_##name]);                                                    \
        body(self, duration_ns);                                                                             \
        measure_end(&self->functions[FUNCTION_##name]);                                                      \
        KEEP_CALL();                                                                                         \
    }
#define MEASURED_FUNCTIONS                                                                                   \
    enum { FUNCTIONS(MEASURED_NUMBER) FUNCTION_COUNT };                                                      \
    static const char *const function_names[] = {FUNCTIONS(MEASURED_NAME)};                                  \
    _Static_assert((int)FUNCTION_COUNT <= (int)MEASURES_MAX, "too many functions");                          \
    FUNCTIONS(MEASURED_FUNCTION)

KEEP_FRAME void level_25(struct measured *self, work_fn *work, uint64_t duration_ns)
{
    work(self, duration_ns);
    KEEP_CALL();
}

#define LEVEL(this, next)                                                                                    \
    KEEP_FRAME void level_##this(struct measured * self, work_fn * work, uint64_t duration_ns)               \
    {                                                                                                        \
        level_##next(self, work, duration_ns);                                                               \
        KEEP_CALL();                                                                                         \
    }
LEVEL(24, 25)
LEVEL(23, 24)
LEVEL(22, 23)
LEVEL(21, 22)
LEVEL(20, 21)
LEVEL(19, 20)
LEVEL(18, 19)
LEVEL(17, 18)
LEVEL(16, 17)
LEVEL(15, 16)
LEVEL(14, 15)
LEVEL(13, 14)
LEVEL(12, 13)
LEVEL(11, 12)
LEVEL(10, 11)
LEVEL(09, 10)
LEVEL(08, 09)
LEVEL(07, 08)
LEVEL(06, 07)
LEVEL(05, 06)
LEVEL(04, 05)
LEVEL(03, 04)
LEVEL(02, 03)
LEVEL(01, 02)

/* ---- threads ---- */

/* First thing in a thread that names itself later. */
static inline void measured_begin_nameless(struct measured *self)
{
    self->tid = (pid_t)syscall(SYS_gettid);
    measure_begin(&self->lifetime);
}

/* First thing in a thread, and last. */
static inline void measured_begin(struct measured *self)
{
    measured_begin_nameless(self);
    if (pthread_setname_np(pthread_self(), self->name))
        die("pthread_setname_np");
}

static inline void measured_end(struct measured *self)
{
    measure_end(&self->lifetime);
}

static inline void measured_create(struct measured *self, void *(*start)(void *))
{
    self->created_ns = now_ns();
    if (pthread_create(&self->thread, NULL, start, self))
        die("pthread_create");
}

static inline void measured_join(struct measured *self)
{
    pthread_join(self->thread, NULL);
    self->joined_ns = now_ns();
}

/* ---- the report ---- */

struct report {
    struct {
        uint64_t wall_ns, cpu_ns;
    } functions[MEASURES_MAX];
    uint64_t now_ns, stalled_ns;
};

/* As of now: what is going on still counts up to here. */
static inline uint64_t wall_of(const struct measure *measure, uint64_t now)
{
    return measure->wall_ns + (measure->since_ns ? now - measure->since_ns : 0);
}

static inline uint64_t cpu_of(const struct measure *measure, pid_t tid)
{
    return measure->cpu_ns + (measure->since_ns ? clock_ns(cpu_clock_of(tid)) - measure->since_cpu_ns : 0);
}

static inline void report_begin(struct report *report)
{
    *report = (struct report){.now_ns = now_ns()};
}

static inline void report_thread(struct report *report, const struct measured *thread,
                                 const char *const *function_names, unsigned function_count)
{
    if (thread->stalled_ns > report->stalled_ns)
        report->stalled_ns = thread->stalled_ns;
    for (unsigned i = 0; i < function_count; i++) {
        const struct measure *part = &thread->functions[i];
        uint64_t wall_ns = wall_of(part, report->now_ns), cpu_ns = cpu_of(part, thread->tid);
        report->functions[i].wall_ns += wall_ns;
        report->functions[i].cpu_ns += cpu_ns;
        if (wall_ns)
            printf("share %s %s %lu %lu %lu\n", thread->name, function_names[i], wall_ns, cpu_ns,
                   (unsigned long)part->visits);
    }
    printf("thread %s %d %lu %lu %lu\n", thread->name, thread->tid,
           wall_of(&thread->lifetime, report->now_ns), cpu_of(&thread->lifetime, thread->tid),
           (thread->joined_ns ? thread->joined_ns : report->now_ns) - thread->created_ns);
}

static inline void report_end(const struct report *report, const char *const *function_names,
                              unsigned function_count)
{
    struct rusage usage;
    for (unsigned i = 0; i < function_count; i++)
        printf("function %s %lu %lu\n", function_names[i], report->functions[i].wall_ns,
               report->functions[i].cpu_ns);
    getrusage(RUSAGE_SELF, &usage);
    uint64_t seconds = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
    uint64_t us = (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    printf("interrupted %lu\nstalled %lu\n", (unsigned long)interrupted, report->stalled_ns);
    printf("process %lu %lu\n", now_ns() - process_start_ns, seconds * NS_PER_S + us * 1000);
    fflush(stdout);
}

#endif
