/*
 * Ground truth for the profile: thirty threads whose functions measure themselves.
 *
 *     target_truth [seconds [seed [wait]]]
 *
 * wait: it begins when a line comes on stdin, so that somebody can attach to it before.
 *
 * measured.h says how, and what is reported. All waits run to a deadline or to an event, over EINTR, so that
 * an interruption cannot change the truth. What spins asks for one core in total: on two cores it really
 * spins.
 */
#include "measured.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>

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

/* What the threads of one group share. */
struct group {
    pthread_mutex_t mutex; /* the contended one */
    int pipe[2];
};

struct step {
    work_fn *work;
    unsigned mean_ms; /* each visit takes between half and one and a half of it */
};

struct worker {
    struct measured measured;
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
};

static struct worker *worker_of(struct measured *self)
{
    return (struct worker *)self;
}

/* ---- ways to pass the time ---- */

static void sleep_absolute(struct measured *self, uint64_t duration_ns)
{
    sleep_until(self, now_ns() + duration_ns);
}

static void sleep_relative(struct measured *self, uint64_t duration_ns)
{
    (void)self;
    struct timespec rest = timespec_of(duration_ns);
    while (nanosleep(&rest, &rest) && was_interrupted(errno))
        ;
}

static void wait_in_poll(struct measured *self, uint64_t duration_ns)
{
    (void)self;
    uint64_t end = now_ns() + duration_ns;
    for (int ms; (ms = ms_until(end)) > 0;)
        if (poll(NULL, 0, ms) < 0)
            was_interrupted(errno);
}

static void wait_in_epoll(struct measured *self, uint64_t duration_ns)
{
    uint64_t end = now_ns() + duration_ns;
    struct epoll_event event;
    for (int ms; (ms = ms_until(end)) > 0;)
        if (epoll_wait(worker_of(self)->epoll, &event, 1, ms) < 0)
            was_interrupted(errno);
}

static void wait_on_condition(struct measured *self, uint64_t duration_ns)
{
    struct timespec end = timespec_of(now_ns() + duration_ns);
    pthread_mutex_lock(&worker_of(self)->own_mutex);
    while (pthread_cond_timedwait(&worker_of(self)->condition, &worker_of(self)->own_mutex, &end) == 0)
        ;
    pthread_mutex_unlock(&worker_of(self)->own_mutex);
}

static void wait_on_semaphore(struct measured *self, uint64_t duration_ns)
{
    struct timespec end = timespec_of(clock_ns(CLOCK_REALTIME) + duration_ns);
    while (sem_timedwait(&worker_of(self)->semaphore, &end) && was_interrupted(errno))
        ;
}

static void read_from_pipe(struct measured *self, uint64_t duration_ns)
{
    (void)duration_ns;
    char byte;
    ssize_t got;
    while ((got = read(worker_of(self)->group->pipe[0], &byte, 1)) < 0 && was_interrupted(errno))
        ;
    worker_of(self)->at_end = got != 1;
}

static void write_to_pipe(struct measured *self, uint64_t duration_ns)
{
    (void)duration_ns;
    while (write(worker_of(self)->group->pipe[1], "x", 1) < 0 && was_interrupted(errno))
        ;
}

static void hold_mutex(struct measured *self, uint64_t duration_ns)
{
    pthread_mutex_lock(&worker_of(self)->group->mutex);
    sleep_absolute(self, duration_ns);
    pthread_mutex_unlock(&worker_of(self)->group->mutex);
}

static void wait_for_mutex(struct measured *self, uint64_t duration_ns)
{
    (void)duration_ns;
    pthread_mutex_lock(&worker_of(self)->group->mutex);
    pthread_mutex_unlock(&worker_of(self)->group->mutex);
}

MEASURED_FUNCTIONS

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
    if (pthread_setname_np(pthread_self(), worker->measured.name))
        die("pthread_setname_np");
    *is_named = 1;
}

KEEP_FRAME void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct measured *self = argument;
    measured_begin_nameless(self);
    uint64_t begin = self->lifetime.since_ns, end = begin + worker->seconds * NS_PER_S;
    int is_named = 0;
    for (unsigned i = 0; worker->is_reader ? !worker->at_end : now_ns() < end; i++) {
        if (i == STEPS_MAX || !worker->steps[i].work)
            i = 0;
        name_when_due(worker, now_ns() - begin, &is_named);
        level_01(self, worker->steps[i].work, vary(worker, worker->steps[i].mean_ms));
    }
    if (worker->steps[1].work == pipe_write)
        close(worker->group->pipe[1]);
    measured_end(self);
    return NULL;
}

static void worker_init(struct worker *worker, const struct kind *kind, unsigned index, struct group *groups)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    snprintf(worker->measured.name, sizeof worker->measured.name, "%s-%u", kind->name, index);
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

int main(int argc, char **argv)
{
    static struct worker workers[THREADS_MAX];
    static struct group groups[GROUPS_MAX];
    struct report report;
    if (argc > 3 && getchar() == EOF)
        return 1;
    process_start_ns = now_ns();
    uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    unsigned count = workers_init(workers, groups, seconds, seed);
    for (unsigned i = 0; i < count; i++)
        measured_create(&workers[i].measured, worker_main);
    for (unsigned i = 0; i < count; i++)
        measured_join(&workers[i].measured);
    report_begin(&report);
    for (unsigned i = 0; i < count; i++)
        report_thread(&report, &workers[i].measured, function_names, FUNCTION_COUNT);
    report_end(&report, function_names, FUNCTION_COUNT);
    return 0;
}
