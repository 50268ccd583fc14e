/*
 * Threads that wait, in ways that a profiler must see without waking them.
 *
 *     target_blocked [as-nobody] MODE [seconds [threads]]
 *
 * alternate   threads that sleep 40 ms and 10 ms in turn, each in a function of its own
 * long        each thread one wait of so many seconds, in one call, between two short spins
 * wakeups     so many threads, each in one call until the program ends, and four busy ones on the CPUs
 * deaf        threads that wait with all signals blocked, and one that runs so
 * churn       threads that start, wait 1 to 50 ms and end, by the thousand
 *
 * as-nobody: as daemons do, the program changes its user before it starts a thread.
 *
 * On stdout stands what measured.h says. And of wakeups, how often the kernel switched from each waiting
 * thread, from when all of them waited until the end (/proc/self/task/TID/status), and how long that was:
 *
 *     woken THREAD voluntary nonvoluntary
 *     watched nanoseconds
 */
#include "measured.h"

#include <grp.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

enum { WORKERS_MAX = 4096, STEPS_MAX = 4, BUSY_THREADS = 4, SPAWNERS = 16, STACK_BYTES = 128 * 1024 };

static void sleep_to_deadline(struct measured *self, uint64_t duration_ns);
static void wait_in_sleep(struct measured *self, uint64_t duration_ns);
static void wait_in_nanosleep(struct measured *self, uint64_t duration_ns);
static void wait_in_poll(struct measured *self, uint64_t duration_ns);
static void wait_in_epoll(struct measured *self, uint64_t duration_ns);
static void wait_for_post(struct measured *self, uint64_t duration_ns);
static void wait_in_read(struct measured *self, uint64_t duration_ns);
static void wait_in_ppoll(struct measured *self, uint64_t duration_ns);
static void wait_in_pselect(struct measured *self, uint64_t duration_ns);
static void wait_in_epoll_pwait(struct measured *self, uint64_t duration_ns);
static void wait_for_signal(struct measured *self, uint64_t duration_ns);
static void spawn_and_join(struct measured *self, uint64_t duration_ns);

#define FUNCTIONS(F)                                                                                         \
    F(sleep_longer, sleep_to_deadline)                                                                       \
    F(sleep_shorter, sleep_to_deadline)                                                                      \
    F(spin_before, spin)                                                                                     \
    F(spin_after, spin)                                                                                      \
    F(wait_sleep, wait_in_sleep)                                                                             \
    F(wait_nanosleep, wait_in_nanosleep)                                                                     \
    F(wait_poll, wait_in_poll)                                                                               \
    F(wait_epoll, wait_in_epoll)                                                                             \
    F(wait_futex, wait_for_post)                                                                             \
    F(wait_read, wait_in_read)                                                                               \
    F(wait_ppoll, wait_in_ppoll)                                                                             \
    F(wait_pselect, wait_in_pselect)                                                                         \
    F(wait_epoll_pwait, wait_in_epoll_pwait)                                                                 \
    F(wait_signal, wait_for_signal)                                                                          \
    F(busy_whole, spin)                                                                                      \
    F(busy_longer, spin)                                                                                     \
    F(busy_shorter, spin)                                                                                    \
    F(spin_deaf, spin)                                                                                       \
    F(brief_sleep, wait_in_sleep)                                                                            \
    F(brief_poll, wait_in_poll)                                                                              \
    F(brief_epoll, wait_in_epoll)                                                                            \
    F(brief_futex, wait_for_post)                                                                            \
    F(join_brief, spawn_and_join)
MEASURED_FUNCTIONS

enum mask { MASK_NONE, MASK_LIBC, MASK_KERNEL }; /* whom a thread tells that it wants no signals */

struct step {
    work_fn *work;
    uint64_t duration_ns;
};

struct worker {
    struct measured self;
    struct step steps[STEPS_MAX];
    _Atomic uint64_t end_ns; /* the steps are taken again and again until then; 0: once */
    uint64_t phase_ns;       /* how much longer its first sleep to a deadline is */
    uint64_t deadline_ns;    /* the last one, on CLOCK_MONOTONIC */
    enum mask mask;
    sem_t semaphore; /* never posted */
    uint64_t switches[2];
};

static struct worker workers[WORKERS_MAX];
static atomic_uint worker_count;
static int idle_epoll, idle_pipe[2]; /* nothing ever happens there */
static int release_pipe[2];          /* its readers wait until main closes the other end */

static struct worker *worker_of(struct measured *self)
{
    return (struct worker *)self;
}

/* ---- waits ---- */

static void sleep_to_deadline(struct measured *self, uint64_t duration_ns)
{
    worker_of(self)->deadline_ns += duration_ns;
    sleep_until(self, worker_of(self)->deadline_ns);
}

static void wait_in_sleep(struct measured *self, uint64_t duration_ns)
{
    sleep_until(self, now_ns() + duration_ns);
}

static void wait_in_nanosleep(struct measured *self, uint64_t duration_ns)
{
    (void)self;
    struct timespec rest = timespec_of(duration_ns);
    while (nanosleep(&rest, &rest) && was_interrupted(errno))
        ;
}

static void wait_in_poll(struct measured *self, uint64_t duration_ns)
{
    uint64_t end_ns = now_ns() + duration_ns;
    struct pollfd nothing = {.fd = idle_pipe[0], .events = POLLIN};
    (void)self;
    for (int ms; (ms = ms_until(end_ns)) > 0;)
        if (poll(&nothing, 1, ms) < 0)
            was_interrupted(errno);
}

static void wait_in_epoll(struct measured *self, uint64_t duration_ns)
{
    uint64_t end_ns = now_ns() + duration_ns;
    struct epoll_event event;
    (void)self;
    for (int ms; (ms = ms_until(end_ns)) > 0;)
        if (epoll_wait(idle_epoll, &event, 1, ms) < 0)
            was_interrupted(errno);
}

static void wait_for_post(struct measured *self, uint64_t duration_ns)
{
    struct timespec end = timespec_of(now_ns() + duration_ns);
    while (sem_clockwait(&worker_of(self)->semaphore, CLOCK_MONOTONIC, &end) && was_interrupted(errno))
        ;
}

/* Until main lets go. */
static void wait_in_read(struct measured *self, uint64_t duration_ns)
{
    char byte;
    (void)self, (void)duration_ns;
    while (read(release_pipe[0], &byte, 1) < 0 && was_interrupted(errno))
        ;
}

/* ---- waits that block all signals for as long as they last ---- */

static sigset_t all_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    return all;
}

static void wait_in_ppoll(struct measured *self, uint64_t duration_ns)
{
    struct pollfd nothing = {.fd = idle_pipe[0], .events = POLLIN};
    struct timespec timeout = timespec_of(duration_ns);
    sigset_t all = all_signals();
    (void)self;
    if (ppoll(&nothing, 1, &timeout, &all) < 0)
        was_interrupted(errno);
}

static void wait_in_pselect(struct measured *self, uint64_t duration_ns)
{
    struct timespec timeout = timespec_of(duration_ns);
    sigset_t all = all_signals();
    (void)self;
    if (pselect(0, NULL, NULL, NULL, &timeout, &all) < 0)
        was_interrupted(errno);
}

static void wait_in_epoll_pwait(struct measured *self, uint64_t duration_ns)
{
    struct epoll_event event;
    sigset_t all = all_signals();
    (void)self;
    if (epoll_pwait(idle_epoll, &event, 1, (int)(duration_ns / NS_PER_MS), &all) < 0)
        was_interrupted(errno);
}

/* For a signal that is never sent. */
static void wait_for_signal(struct measured *self, uint64_t duration_ns)
{
    uint64_t end_ns = now_ns() + duration_ns;
    sigset_t set;
    (void)self;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (uint64_t now; (now = now_ns()) < end_ns;) {
        struct timespec timeout = timespec_of(end_ns - now);
        if (sigtimedwait(&set, NULL, &timeout) < 0)
            was_interrupted(errno);
    }
}

/* ---- the threads ---- */

static void block_signals(enum mask mask)
{
    sigset_t all = all_signals();
    uint64_t every = ~(uint64_t)0;
    if (mask == MASK_LIBC)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    else if (mask == MASK_KERNEL)
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &every, NULL, sizeof every);
}

KEEP_FRAME void *worker_main(void *argument)
{
    struct worker *worker = argument;
    measured_begin(&worker->self);
    block_signals(worker->mask);
    worker->deadline_ns = now_ns() + worker->phase_ns;
    do
        for (unsigned i = 0; i < STEPS_MAX && worker->steps[i].work; i++)
            level_01(&worker->self, worker->steps[i].work, worker->steps[i].duration_ns);
    while (now_ns() < worker->end_ns);
    measured_end(&worker->self);
    return NULL;
}

static struct worker *worker_add(const char *name)
{
    unsigned number = worker_count++;
    struct worker *worker = &workers[number];
    snprintf(worker->self.name, sizeof worker->self.name, "%s-%04u", name, number);
    if (sem_init(&worker->semaphore, 0, 0))
        die("worker_add");
    return worker;
}

static void start_all(void)
{
    for (unsigned i = 0; i < worker_count; i++)
        measured_create(&workers[i].self, worker_main);
}

static void join_from(unsigned first)
{
    for (unsigned i = first; i < worker_count; i++)
        pthread_join(workers[i].self.thread, NULL);
}

static void release_readers(void)
{
    close(release_pipe[1]);
}

/* ---- modes ---- */

/* Evenly out of step with each other: in step, the error of one sample would be that of all threads. */
static void run_alternate(uint64_t duration_ns, unsigned threads)
{
    for (unsigned i = 0; i < threads; i++) {
        struct worker *worker = worker_add("alternate");
        worker->steps[0] = (struct step){sleep_longer, 40 * NS_PER_MS};
        worker->steps[1] = (struct step){sleep_shorter, 10 * NS_PER_MS};
        worker->phase_ns = i * 50 * NS_PER_MS / threads;
        worker->end_ns = now_ns() + duration_ns;
    }
    start_all();
    join_from(0);
}

static void run_long(uint64_t duration_ns, unsigned unused)
{
    static work_fn *const waits[] = {wait_sleep, wait_nanosleep, wait_poll,
                                     wait_epoll, wait_futex,     wait_read};
    (void)unused;
    for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++) {
        struct worker *worker = worker_add("long");
        worker->steps[0] = (struct step){spin_before, 30 * NS_PER_MS};
        worker->steps[1] = (struct step){waits[i], duration_ns};
        worker->steps[2] = (struct step){spin_after, 30 * NS_PER_MS};
    }
    start_all();
    sleep_until(NULL, now_ns() + duration_ns);
    release_readers();
    join_from(0);
}

/* The sum of the numbers after such a name in the file. */
static uint64_t switches_of(const struct worker *worker, const char *name)
{
    char path[64], line[128];
    uint64_t count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", worker->self.tid);
    FILE *file = fopen(path, "r");
    if (!file)
        die(path);
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            count += strtoull(line + strlen(name), NULL, 10);
    fclose(file);
    return count;
}

static void watch_switches(unsigned blocked, uint64_t duration_ns)
{
    uint64_t start_ns = now_ns();
    for (unsigned i = 0; i < blocked; i++) {
        workers[i].switches[0] = switches_of(&workers[i], "voluntary_ctxt_switches:");
        workers[i].switches[1] = switches_of(&workers[i], "nonvoluntary_ctxt_switches:");
    }
    sleep_until(NULL, start_ns + duration_ns);
    for (unsigned i = 0; i < blocked; i++)
        printf("woken %s %lu %lu\n", workers[i].self.name,
               switches_of(&workers[i], "voluntary_ctxt_switches:") - workers[i].switches[0],
               switches_of(&workers[i], "nonvoluntary_ctxt_switches:") - workers[i].switches[1]);
    printf("watched %lu\n", now_ns() - start_ns);
}

static int is_waiting(const struct worker *worker)
{
    for (unsigned i = 0; i < FUNCTION_COUNT; i++)
        if (worker->self.functions[i].since_ns)
            return 1;
    return 0;
}

static void await_all_waiting(unsigned blocked)
{
    for (unsigned i = 0; i < blocked; i++)
        while (!is_waiting(&workers[i]))
            sleep_until(NULL, now_ns() + NS_PER_MS);
    sleep_until(NULL, now_ns() + 200 * NS_PER_MS); /* from its function's first line into the kernel */
}

/* Two run in one function for all their life, two in either of two, out of step. */
static void add_busy(void)
{
    static const struct step steps[BUSY_THREADS][2] = {
        {{busy_whole, 50 * NS_PER_MS}},
        {{busy_whole, 50 * NS_PER_MS}},
        {{busy_longer, 90 * NS_PER_MS}, {busy_shorter, 60 * NS_PER_MS}},
        {{busy_shorter, 60 * NS_PER_MS}, {busy_longer, 90 * NS_PER_MS}},
    };
    for (unsigned i = 0; i < BUSY_THREADS; i++) {
        struct worker *worker = worker_add("busy");
        memcpy(worker->steps, steps[i], sizeof steps[i]);
        worker->end_ns = now_ns() + 1000 * NS_PER_S;
    }
}

/* The waits outlast the program, the spins do not. */
static void run_wakeups(uint64_t duration_ns, unsigned blocked)
{
    static work_fn *const waits[] = {wait_futex, wait_sleep, wait_epoll, wait_poll};
    for (unsigned i = 0; i < blocked; i++)
        worker_add("blocked")->steps[0] = (struct step){waits[i % 4], 1000 * NS_PER_S};
    add_busy();
    start_all();
    await_all_waiting(blocked);
    watch_switches(blocked, duration_ns);
    for (unsigned i = blocked; i < worker_count; i++)
        workers[i].end_ns = 0;
    join_from(blocked);
}

/* The last one waits and runs in turn: it does not reply while it runs, and is seen while it waits. */
static void run_deaf(uint64_t duration_ns, unsigned unused)
{
    static const struct {
        work_fn *work;
        enum mask mask;
    } kinds[] = {
        {wait_sleep, MASK_LIBC},   {wait_poll, MASK_LIBC},        {wait_epoll, MASK_LIBC},
        {wait_futex, MASK_LIBC},   {wait_read, MASK_LIBC},        {wait_signal, MASK_LIBC},
        {wait_sleep, MASK_KERNEL}, {wait_poll, MASK_KERNEL},      {wait_epoll, MASK_KERNEL},
        {wait_futex, MASK_KERNEL}, {wait_read, MASK_KERNEL},      {wait_ppoll, MASK_NONE},
        {wait_pselect, MASK_NONE}, {wait_epoll_pwait, MASK_NONE}, {wait_signal, MASK_KERNEL},
        {spin_deaf, MASK_KERNEL},
    };
    (void)unused;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct worker *worker = worker_add("deaf");
        worker->mask = kinds[i].mask;
        worker->steps[0] = (struct step){kinds[i].work, duration_ns};
    }
    struct worker *mixed = worker_add("mixed");
    mixed->mask = MASK_KERNEL;
    mixed->steps[0] = (struct step){wait_sleep, 60 * NS_PER_MS};
    mixed->steps[1] = (struct step){spin_deaf, 40 * NS_PER_MS};
    mixed->end_ns = now_ns() + duration_ns;
    start_all();
    sleep_until(NULL, now_ns() + duration_ns);
    release_readers();
    join_from(0);
}

/* ---- churn ---- */

/* Knuth's and Lewis's, "quick and dirty" of Numerical Recipes; the high bits are good enough here. */
static uint32_t next_random(void)
{
    static atomic_uint state = 1;
    unsigned old = state;
    while (!atomic_compare_exchange_weak(&state, &old, old * 1664525u + 1013904223u))
        ;
    return old >> 8;
}

static void spawn_and_join(struct measured *self, uint64_t duration_ns)
{
    static work_fn *const waits[] = {brief_sleep, brief_poll, brief_epoll, brief_futex};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)self;
    for (uint64_t end_ns = now_ns() + duration_ns;
         now_ns() < end_ns && worker_count < WORKERS_MAX - SPAWNERS;) {
        uint32_t random = next_random();
        struct worker *worker = worker_add("brief");
        worker->steps[0] = (struct step){waits[random % 4], (1 + random / 4 % 50) * NS_PER_MS};
        if (pthread_create(&worker->self.thread, &attributes, worker_main, worker))
            die("pthread_create");
        pthread_join(worker->self.thread, NULL);
    }
    pthread_attr_destroy(&attributes);
}

static void run_churn(uint64_t duration_ns, unsigned unused)
{
    (void)unused;
    for (unsigned i = 0; i < SPAWNERS; i++)
        worker_add("spawner")->steps[0] = (struct step){join_brief, duration_ns};
    for (unsigned i = 0; i < SPAWNERS; i++)
        measured_create(&workers[i].self, worker_main);
    for (unsigned i = 0; i < SPAWNERS; i++) /* they join the others */
        pthread_join(workers[i].self.thread, NULL);
}

/* ---- main ---- */

static const struct mode {
    const char *name;
    void (*run)(uint64_t duration_ns, unsigned threads);
    unsigned threads;
} modes[] = {
    {"alternate", run_alternate, 8}, {"long", run_long, 0},   {"wakeups", run_wakeups, 200},
    {"deaf", run_deaf, 0},           {"churn", run_churn, 0},
};

static const struct mode *find_mode(const char *name)
{
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, name))
            return &modes[i];
    fprintf(stderr, "no mode %s\n", name);
    exit(2);
}

static void become_nobody(void)
{
    enum { NOBODY = 65534 };
    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
        die("as nobody");
}

static void report(void)
{
    struct report sums;
    report_begin(&sums);
    for (unsigned i = 0; i < worker_count; i++)
        report_thread(&sums, &workers[i].self, function_names, FUNCTION_COUNT);
    report_end(&sums, function_names, FUNCTION_COUNT);
}

static void make_idle(void)
{
    idle_epoll = epoll_create1(EPOLL_CLOEXEC);
    if (idle_epoll < 0 || pipe(idle_pipe) || pipe(release_pipe))
        die("make_idle");
}

int main(int argc, char **argv)
{
    process_start_ns = now_ns();
    make_idle();
    if (argc > 1 && !strcmp(argv[1], "as-nobody")) {
        become_nobody();
        argc--, argv++;
    }
    const struct mode *mode = find_mode(argc > 1 ? argv[1] : "long");
    double seconds = argc > 2 ? atof(argv[2]) : 3;
    unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : mode->threads;
    mode->run((uint64_t)(seconds * 1e9), threads);
    report();
    return 0;
}
