/*
 * Ground truth for the profile: thirty threads whose functions measure themselves.
 *
 *     target_truth [seconds [seed]]
 *
 * Every function of the list FUNCTIONS is a frame of its own, below 25 frames level_01 .. level_25, and adds
 * up the wall and CPU time between its first and its last instruction, preemption included. So what it
 * reports is the truth whatever the machine did meanwhile. All waits run to a deadline or to an event, over
 * EINTR, so that an interruption cannot change it either. What spins asks for one core in total: on two cores
 * it really spins.
 *
 * Report on stdout, times in nanoseconds:
 *
 *     function NAME wall cpu                             over all threads
 *     share THREAD FUNCTION wall cpu visits              one thread's part of it
 *     thread NAME tid lifetime cpu                       from the start routine's first line to its return
 *     process main_lifetime rusage_cpu
 *     interrupted N                                      how often a call returned EINTR
 *     stalled total                                      how long the machine stood still for some thread
 */
#include "target.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* function, how it passes its time */
#define FUNCTIONS(F)                                                                                         \
    F(spin_a, spin)                                                                                          \
    F(spin_b, spin)                                                                                          \
    F(spin_c, spin)                                                                                          \
    F(sleep_a, sleep_absolute)                                                                               \
    F(sleep_b, sleep_absolute)                                                                               \
    F(sleep_long, sleep_absolute)                                                                            \
    F(sleep_rest, sleep_relative)                                                                            \
    F(poll_timed, wait_in_poll)                                                                              \
    F(epoll_timed, wait_in_epoll)                                                                            \
    F(cond_timed, wait_on_condition)                                                                         \
    F(cond_long, wait_on_condition)                                                                          \
    F(sem_timed, wait_on_semaphore)                                                                          \
    F(pipe_read, read_from_pipe)                                                                             \
    F(pipe_write, write_to_pipe)                                                                             \
    F(mutex_hold, hold_mutex)                                                                                \
    F(mutex_wait, wait_for_mutex)

enum function {
#define F(name, body) FUNCTION_##name,
    FUNCTIONS(F)
#undef F
        FUNCTION_COUNT
};

static const char *const function_names[] = {
#define F(name, body) #name,
    FUNCTIONS(F)
#undef F
};

struct measure {
    uint64_t wall_ns, cpu_ns, visits;
};

/* What the threads of one group share. */
struct group {
    pthread_mutex_t mutex; /* the contended one */
    int pipe[2];
};

struct worker;
typedef void work_fn(struct worker *worker, uint64_t duration_ns);

struct step {
    work_fn *work;
    unsigned mean_ms; /* each visit takes between half and one and a half of it */
};

struct worker {
    pthread_t thread;
    char name[16];
    const struct step *steps;
    struct group *group;
    uint64_t random;
    uint64_t seconds;
    int is_reader; /* stops at the end of the pipe, not of its time */
    int at_end;
    int epoll;
    pthread_mutex_t own_mutex; /* for its condition; no other thread takes it */
    pthread_cond_t condition;  /* never signalled */
    sem_t semaphore;           /* never posted */
    pid_t tid;
    uint64_t stalled_ns;
    struct measure lifetime;
    struct measure measures[FUNCTION_COUNT];
};

static atomic_ulong interrupted;

/* A wake-up later than this is the machine's doing: no busy scheduler keeps a sleeper waiting that long. */
static const uint64_t stall_ns = 100 * NS_PER_MS;

/* True when a wait is to go on because a signal ended it. */
static int was_interrupted(int error)
{
    if (error == EINTR)
        atomic_fetch_add_explicit(&interrupted, 1, memory_order_relaxed);
    return error == EINTR;
}

static struct measure measure_begin(void)
{
    uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return (struct measure){.wall_ns = now_ns(), .cpu_ns = cpu_ns};
}

static void measure_end(struct measure *sum, struct measure begin)
{
    uint64_t wall_ns = now_ns();
    sum->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin.cpu_ns;
    sum->wall_ns += wall_ns - begin.wall_ns;
    sum->visits++;
}

/* ---- ways to pass the time ---- */

static void spin(struct worker *worker, uint64_t duration_ns)
{
    (void)worker;
    uint64_t end = now_ns() + duration_ns;
    volatile unsigned turns = 0;
    while (now_ns() < end)
        for (int i = 0; i < 1000; i++)
            turns = turns + 1;
}

/* A virtual processor can stand still while the clock goes on; the measurement must know for how long. */
static void sleep_absolute(struct worker *worker, uint64_t duration_ns)
{
    uint64_t end_ns = now_ns() + duration_ns;
    struct timespec end = timespec_of(end_ns);
    while (was_interrupted(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL)))
        ;
    uint64_t woken_ns = now_ns();
    if (woken_ns > end_ns + stall_ns)
        worker->stalled_ns += woken_ns - end_ns;
}

static void sleep_relative(struct worker *worker, uint64_t duration_ns)
{
    (void)worker;
    struct timespec rest = timespec_of(duration_ns);
    while (nanosleep(&rest, &rest) && was_interrupted(errno))
        ;
}

/* Whole milliseconds up to a deadline, rounded up; -1 when it is over. */
static int ms_until(uint64_t end)
{
    uint64_t now = now_ns();
    return now < end ? (int)((end - now + NS_PER_MS - 1) / NS_PER_MS) : -1;
}

static void wait_in_poll(struct worker *worker, uint64_t duration_ns)
{
    (void)worker;
    uint64_t end = now_ns() + duration_ns;
    for (int ms; (ms = ms_until(end)) > 0;)
        if (poll(NULL, 0, ms) < 0)
            was_interrupted(errno);
}

static void wait_in_epoll(struct worker *worker, uint64_t duration_ns)
{
    uint64_t end = now_ns() + duration_ns;
    struct epoll_event event;
    for (int ms; (ms = ms_until(end)) > 0;)
        if (epoll_wait(worker->epoll, &event, 1, ms) < 0)
            was_interrupted(errno);
}

static void wait_on_condition(struct worker *worker, uint64_t duration_ns)
{
    struct timespec end = timespec_of(now_ns() + duration_ns);
    pthread_mutex_lock(&worker->own_mutex);
    while (pthread_cond_timedwait(&worker->condition, &worker->own_mutex, &end) == 0)
        ;
    pthread_mutex_unlock(&worker->own_mutex);
}

static void wait_on_semaphore(struct worker *worker, uint64_t duration_ns)
{
    struct timespec end = timespec_of(clock_ns(CLOCK_REALTIME) + duration_ns);
    while (sem_timedwait(&worker->semaphore, &end) && was_interrupted(errno))
        ;
}

static void read_from_pipe(struct worker *worker, uint64_t duration_ns)
{
    (void)duration_ns;
    char byte;
    ssize_t got;
    while ((got = read(worker->group->pipe[0], &byte, 1)) < 0 && was_interrupted(errno))
        ;
    worker->at_end = got != 1;
}

static void write_to_pipe(struct worker *worker, uint64_t duration_ns)
{
    (void)duration_ns;
    while (write(worker->group->pipe[1], "x", 1) < 0 && was_interrupted(errno))
        ;
}

static void hold_mutex(struct worker *worker, uint64_t duration_ns)
{
    pthread_mutex_lock(&worker->group->mutex);
    sleep_absolute(worker, duration_ns);
    pthread_mutex_unlock(&worker->group->mutex);
}

static void wait_for_mutex(struct worker *worker, uint64_t duration_ns)
{
    (void)duration_ns;
    pthread_mutex_lock(&worker->group->mutex);
    pthread_mutex_unlock(&worker->group->mutex);
}

/* ---- the measured functions, and the 25 frames they stand under ---- */

#define F(name, body)                                                                                        \
    KEEP_FRAME void name(struct worker *worker, uint64_t duration_ns)                                        \
    {                                                                                                        \
        struct measure begin = measure_begin();                                                              \
        body(worker, duration_ns);                                                                           \
        measure_end(&worker->measures[FUNCTION_##name], begin);                                              \
        KEEP_CALL();                                                                                         \
    }
FUNCTIONS(F)
#undef F

KEEP_FRAME void level_25(struct worker *worker, work_fn *work, uint64_t duration_ns)
{
    work(worker, duration_ns);
    KEEP_CALL();
}

#define LEVEL(this, next)                                                                                    \
    KEEP_FRAME void level_##this(struct worker * worker, work_fn * work, uint64_t duration_ns)               \
    {                                                                                                        \
        level_##next(worker, work, duration_ns);                                                             \
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

/* ---- the threads ---- */

enum { STEPS_MAX = 4, THREADS_MAX = 32, GROUPS_MAX = 16 };

/* A kind of thread. Threads of one kind whose group_size is above one share pipes and mutexes by groups. */
struct kind {
    const char *name;
    unsigned threads, group_size;
    int is_reader;
    struct step steps[STEPS_MAX];
};

static const struct kind kinds[] = {
    /* The cores: 4 * 40/200 + 2 * 5/50 = 1.0. */
    {"burst", 4, 1, 0, {{spin_a, 30}, {sleep_a, 90}, {spin_b, 10}, {poll_timed, 70}}},
    {"flutter", 2, 1, 0, {{spin_c, 5}, {sleep_rest, 45}}},
    /* 80 % to 20 %: brief wake-ups must not credit the wrong sleep. */
    {"sleepy", 4, 1, 0, {{sleep_a, 40}, {sleep_b, 10}}},
    {"poller", 3, 1, 0, {{epoll_timed, 60}, {poll_timed, 25}}},
    {"waiter", 3, 1, 0, {{cond_timed, 50}, {sem_timed, 30}}},
    {"idler", 4, 1, 0, {{sleep_long, 400}, {cond_long, 250}}},
    /* Partners: thread i of the one kind shares group i with thread i of the other. */
    {"writer", 2, 1, 0, {{sleep_b, 35}, {pipe_write, 0}}},
    {"reader", 2, 1, 1, {{pipe_read, 0}, {sleep_rest, 12}}},
    {"holder", 2, 1, 0, {{mutex_hold, 60}, {sleep_b, 40}}},
    {"locker", 4, 2, 0, {{mutex_wait, 0}, {sleep_rest, 20}}},
};

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled". */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static uint64_t vary(struct worker *worker, unsigned mean_ms)
{
    uint64_t mean_ns = mean_ms * NS_PER_MS;
    return mean_ns / 2 + (mean_ns ? next_random(&worker->random) % mean_ns : 0);
}

/* Late, in the second fifth of a life: as programs do that name their threads from a worker loop. */
static void name_when_due(struct worker *worker, uint64_t age_ns, int *is_named)
{
    if (*is_named || age_ns < worker->seconds * NS_PER_S / 5)
        return;
    if (pthread_setname_np(pthread_self(), worker->name))
        die("pthread_setname_np");
    *is_named = 1;
}

KEEP_FRAME void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct measure begin = measure_begin();
    uint64_t end = begin.wall_ns + worker->seconds * NS_PER_S;
    int is_named = 0;
    worker->tid = (pid_t)syscall(SYS_gettid);
    for (unsigned i = 0; worker->is_reader ? !worker->at_end : now_ns() < end; i++) {
        if (i == STEPS_MAX || !worker->steps[i].work)
            i = 0;
        name_when_due(worker, now_ns() - begin.wall_ns, &is_named);
        level_01(worker, worker->steps[i].work, vary(worker, worker->steps[i].mean_ms));
    }
    if (worker->steps[1].work == pipe_write)
        close(worker->group->pipe[1]);
    measure_end(&worker->lifetime, begin);
    return NULL;
}

static void worker_init(struct worker *worker, const struct kind *kind, unsigned index, struct group *groups)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    snprintf(worker->name, sizeof worker->name, "%s-%u", kind->name, index);
    worker->steps = kind->steps;
    worker->group = &groups[index / kind->group_size];
    worker->is_reader = kind->is_reader;
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (worker->epoll < 0 || pthread_mutex_init(&worker->own_mutex, NULL) ||
        sem_init(&worker->semaphore, 0, 0) || pthread_cond_init(&worker->condition, &attributes))
        die("worker_init");
}

static unsigned workers_init(struct worker *workers, struct group *groups, uint64_t seconds, uint64_t seed)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GROUPS_MAX; i++)
        if (pthread_mutex_init(&groups[i].mutex, NULL) || pipe(groups[i].pipe))
            die("group");
    for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (unsigned i = 0; i < kinds[k].threads; i++) {
            struct worker *worker = &workers[count++];
            worker_init(worker, &kinds[k], i, groups);
            worker->seconds = seconds;
            worker->random = (seed + count) * 0x9e3779b97f4a7c15ull | 1;
        }
    return count;
}

/* ---- the report ---- */

static void report_functions(const struct worker *workers, unsigned count)
{
    for (unsigned f = 0; f < FUNCTION_COUNT; f++) {
        struct measure sum = {0};
        for (unsigned i = 0; i < count; i++) {
            const struct measure *part = &workers[i].measures[f];
            sum.wall_ns += part->wall_ns;
            sum.cpu_ns += part->cpu_ns;
            if (part->visits)
                printf("share %s %s %lu %lu %lu\n", workers[i].name, function_names[f], part->wall_ns,
                       part->cpu_ns, part->visits);
        }
        printf("function %s %lu %lu\n", function_names[f], sum.wall_ns, sum.cpu_ns);
    }
}

static void report_threads(const struct worker *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        printf("thread %s %d %lu %lu\n", workers[i].name, workers[i].tid, workers[i].lifetime.wall_ns,
               workers[i].lifetime.cpu_ns);
}

static void report_stalls(const struct worker *workers, unsigned count)
{
    uint64_t longest_ns = 0;
    for (unsigned i = 0; i < count; i++)
        if (workers[i].stalled_ns > longest_ns)
            longest_ns = workers[i].stalled_ns;
    printf("stalled %lu\n", longest_ns);
}

static void report_process(uint64_t start_ns)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t seconds = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
    uint64_t us = (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    printf("process %lu %lu\n", now_ns() - start_ns, seconds * NS_PER_S + us * 1000);
    printf("interrupted %lu\n", atomic_load(&interrupted));
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS_MAX];
    static struct group groups[GROUPS_MAX];
    uint64_t start_ns = now_ns();
    uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    unsigned count = workers_init(workers, groups, seconds, seed);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]))
            die("pthread_create");
    for (unsigned i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    report_functions(workers, count);
    report_threads(workers, count);
    report_stalls(workers, count);
    report_process(start_ns);
    return 0;
}
