/*
 * Fixed work, among threads that wait.
 *
 *     load BUSY BLOCKED UNITS        BUSY threads do UNITS of work each; with BUSY 0, the main thread does
 *     load BUSY BLOCKED for MS1 MS2  the BUSY work for MS2 and then MS1 milliseconds; the clocks run for MS1
 *     load calibrate                 units a second of CPU time
 *
 * BLOCKED threads wait all the time, in turn in a futex, nanosleep, epoll_wait and poll. All of them stand 25
 * frames deep. The clocks start when every thread has been waiting for a while, and stop when the last busy
 * one is done.
 *
 * Report on stdout:
 *     wall_ns N            from start to end of the work
 *     cpu_ns N             CPU time of the whole process meanwhile, a profiler's threads included
 *     busy_cpu_ns N        of it, that of the threads that did the work
 *     switches N           context switches of the process meanwhile
 *     woken N              of them, those of the threads that wait, by the kernel's counts of each
 *     sampler_window_ns N  CPU time of the thread called wallprof meanwhile; 0 without one
 *     sampler_switches N   and how often it waited
 *     interrupted N        calls that returned EINTR, from start to end of the process
 *     and the lines of report_end
 */
#define _GNU_SOURCE
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* gperftools profiles in wall time only the threads that ask for it.
 * Present when its library is preloaded. */
extern void ProfilerRegisterThread(void) __attribute__((weak));

struct task {
    void (*body)(struct task *task);
    uint64_t units;
    uint64_t end_ns; /* when to end, 0: after so many units */
    uint64_t cpu_ns; /* what the work took */
    pid_t tid;       /* of a thread that waits */
    uint64_t result; /* so that it is not optimised away */
};

static atomic_ulong interrupted, waiting;
static atomic_uint never_changes, begun;
static int idle_pipe[2]; /* nothing is ever written to it */

static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- the work ---- */

enum { BLOCK_WORDS = 512 };

/* About a microsecond: what a hash or a checksum does, in the first-level cache. */
KEEP_FRAME static uint64_t unit(uint64_t *block, uint64_t value)
{
    for (int i = 0; i < BLOCK_WORDS; i++) {
        value = (value ^ block[i]) * 0x9e3779b97f4a7c15u;
        block[i] += value >> 32;
    }
    return value;
}

static void work(struct task *task)
{
    uint64_t block[BLOCK_WORDS] = {1}, begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; task->end_ns ? clock_ns(CLOCK_MONOTONIC) < task->end_ns : i < task->units; i++)
        task->result = unit(block, task->result);
    task->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

/* ---- ways to wait; none of them ends before the process ---- */

static void count_interruption(void)
{
    if (errno == EINTR)
        atomic_fetch_add_explicit(&interrupted, 1, memory_order_relaxed);
}

static void wait_in_futex(struct task *task)
{
    (void)task;
    for (;;) {
        syscall(SYS_futex, &never_changes, FUTEX_WAIT_PRIVATE, 0, NULL);
        count_interruption();
    }
}

static void wait_in_nanosleep(struct task *task)
{
    (void)task;
    for (struct timespec rest = {.tv_sec = 3600};;) {
        nanosleep(&rest, &rest);
        count_interruption();
    }
}

static void wait_in_epoll(struct task *task)
{
    (void)task;
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (;;) {
        epoll_wait(epoll, &event, 1, -1);
        count_interruption();
    }
}

static void wait_in_poll(struct task *task)
{
    (void)task;
    struct pollfd entry = {.fd = idle_pipe[0], .events = POLLIN};
    for (;;) {
        poll(&entry, 1, -1);
        count_interruption();
    }
}

static void (*const ways_to_wait[])(struct task *task) = {wait_in_futex, wait_in_nanosleep, wait_in_epoll,
                                                          wait_in_poll};
enum { WAYS_TO_WAIT = sizeof(ways_to_wait) / sizeof(ways_to_wait[0]) };

/* ---- 25 frames ---- */

#define LEVEL(number, next)                                                                                  \
    KEEP_FRAME static void level_##number(struct task *task)                                                 \
    {                                                                                                        \
        next(task);                                                                                          \
        KEEP_CALL(number);                                                                                   \
    }

static void body(struct task *task)
{
    task->body(task);
    KEEP_CALL(0);
}

LEVEL(25, body)
LEVEL(24, level_25)
LEVEL(23, level_24)
LEVEL(22, level_23)
LEVEL(21, level_22)
LEVEL(20, level_21)
LEVEL(19, level_20)
LEVEL(18, level_19)
LEVEL(17, level_18)
LEVEL(16, level_17)
LEVEL(15, level_16)
LEVEL(14, level_15)
LEVEL(13, level_14)
LEVEL(12, level_13)
LEVEL(11, level_12)
LEVEL(10, level_11)
LEVEL(9, level_10)
LEVEL(8, level_9)
LEVEL(7, level_8)
LEVEL(6, level_7)
LEVEL(5, level_6)
LEVEL(4, level_5)
LEVEL(3, level_4)
LEVEL(2, level_3)
LEVEL(1, level_2)

/* ---- threads ---- */

static void *busy_thread(void *argument)
{
    if (ProfilerRegisterThread)
        ProfilerRegisterThread();
    atomic_fetch_add(&waiting, 1);
    while (!atomic_load(&begun))
        syscall(SYS_futex, &begun, FUTEX_WAIT_PRIVATE, 0, NULL);
    level_1(argument);
    return NULL;
}

static void *remote_thread(void *argument)
{
    struct task *task = argument;
    if (ProfilerRegisterThread)
        ProfilerRegisterThread();
    task->tid = (pid_t)syscall(SYS_gettid);
    atomic_fetch_add(&waiting, 1);
    level_1(task);
    return NULL;
}

static pthread_t start(void *(*routine)(void *), struct task *task)
{
    pthread_t thread;
    errno = pthread_create(&thread, NULL, routine, task);
    if (errno)
        die("pthread_create");
    return thread;
}

static void wait_until_waiting(unsigned long count)
{
    while (atomic_load(&waiting) < count)
        usleep(1000);
    usleep(50000); /* the last ones are on their way into their waits */
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static uint64_t status_of(pid_t tid, const char *field)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
    return read_number(path, field);
}

/* How often threads that do nothing but wait were put on a CPU. */
static uint64_t switches_of(const struct task *tasks, unsigned long count)
{
    uint64_t sum = 0;
    for (unsigned long i = 0; i < count; i++)
        sum += status_of(tasks[i].tid, "voluntary_ctxt_switches") +
               status_of(tasks[i].tid, "nonvoluntary_ctxt_switches");
    return sum;
}

/* The profiler's own thread, 0 without. */
static pid_t find_sampler(void)
{
    DIR *directory = opendir("/proc/self/task");
    pid_t found = 0;
    for (struct dirent *entry; !found && directory && (entry = readdir(directory));) {
        char path[300], name[16] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof(name), file) && strcmp(name, "wallprof\n") == 0)
            found = (pid_t)atoi(entry->d_name);
        if (file)
            fclose(file);
    }
    if (directory)
        closedir(directory);
    return found;
}

static uint64_t process_cpu_ns(const struct rusage *usage)
{
    return ns_of(usage->ru_utime) + ns_of(usage->ru_stime);
}

struct figures {
    uint64_t time_ns, cpu_ns, switches, sampler_cpu_ns, sampler_switches;
};

static struct figures read_figures(pid_t sampler)
{
    struct rusage usage;
    struct figures figures = {0};
    if (sampler) {
        clockid_t clock = (clockid_t)(~(unsigned)sampler << 3 | 6); /* as in include/linux/posix-timers.h */
        figures.sampler_cpu_ns = clock_ns(clock);
        figures.sampler_switches = status_of(sampler, "voluntary_ctxt_switches");
    }
    figures.time_ns = clock_ns(CLOCK_MONOTONIC);
    getrusage(RUSAGE_SELF, &usage);
    figures.cpu_ns = process_cpu_ns(&usage);
    figures.switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
    return figures;
}

static void report_figures(const struct figures *before, const struct figures *after)
{
    report_number("wall_ns", after->time_ns - before->time_ns);
    report_number("cpu_ns", after->cpu_ns - before->cpu_ns);
    report_number("switches", after->switches - before->switches);
    report_number("sampler_window_ns", after->sampler_cpu_ns - before->sampler_cpu_ns);
    report_number("sampler_switches", after->sampler_switches - before->sampler_switches);
}

static void begin_work(void)
{
    atomic_store(&begun, 1);
    syscall(SYS_futex, &begun, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

static void do_work(pthread_t *threads, struct task *tasks, unsigned long busy)
{
    if (busy == 0)
        level_1(&tasks[0]);
    begin_work();
    for (unsigned long i = 0; i < busy; i++)
        pthread_join(threads[i], NULL);
}

static void sleep_ns(uint64_t ns)
{
    struct timespec rest = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    while (nanosleep(&rest, &rest) && errno == EINTR)
        ;
}

static void measure(unsigned long busy, unsigned long blocked, uint64_t units, uint64_t for_ns,
                    uint64_t after_ns)
{
    unsigned long count = busy + blocked;
    struct task *tasks = calloc(count + 1, sizeof(*tasks));
    pthread_t *threads = calloc(count + 1, sizeof(*threads));
    if (!tasks || !threads || pipe(idle_pipe))
        die("set-up");
    tasks[0] = (struct task){.body = work, .units = units};
    for (unsigned long i = 0; i < busy; i++) {
        tasks[i] = tasks[0];
        threads[i] = start(busy_thread, &tasks[i]);
    }
    for (unsigned long i = busy; i < count; i++) {
        tasks[i].body = ways_to_wait[(i - busy) % WAYS_TO_WAIT];
        start(remote_thread, &tasks[i]);
    }
    wait_until_waiting(count);
    if (for_ns) {
        for (unsigned long i = 0; i < busy; i++)
            tasks[i].end_ns = clock_ns(CLOCK_MONOTONIC) + after_ns + for_ns;
        begin_work();
        sleep_ns(after_ns);
    }

    pid_t sampler_tid = find_sampler();
    uint64_t busy_cpu_ns = 0, switches = switches_of(tasks + busy, blocked);
    struct figures before = read_figures(sampler_tid);
    if (for_ns)
        sleep_ns(for_ns);
    else
        do_work(threads, tasks, busy);
    struct figures after = read_figures(sampler_tid);
    switches = switches_of(tasks + busy, blocked) - switches;
    for (unsigned long i = 0; for_ns && i < busy; i++)
        pthread_join(threads[i], NULL);
    report_figures(&before, &after);
    for (unsigned long i = 0; i < (busy ? busy : 1); i++)
        busy_cpu_ns += tasks[i].cpu_ns;
    report_number("busy_cpu_ns", busy_cpu_ns);
    report_number("woken", switches);
    report_number("interrupted", atomic_load(&interrupted));
    report_end();
}

static void calibrate(void)
{
    struct task task = {.body = work, .units = 200000};
    level_1(&task);
    task.cpu_ns = 0;
    level_1(&task);
    report_number("units_per_s", task.units * 1000000000 / task.cpu_ns);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "calibrate") == 0)
        calibrate();
    else if (argc == 4)
        measure(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), 0, 0);
    else if (argc == 6 && strcmp(argv[3], "for") == 0)
        measure(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10), 0,
                strtoull(argv[4], NULL, 10) * 1000000, strtoull(argv[5], NULL, 10) * 1000000);
    else
        return 2;
    return 0;
}
