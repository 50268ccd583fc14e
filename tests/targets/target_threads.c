/*
 * The ways a thread can begin, go on and end, to be profiled: one per run.
 *
 *     target_threads MODE [count]
 *
 * At exit every thread is reported on stdout, with the function it spent its life in and how much of the
 * thread's time must be found there, in percent (names with | between them: in either), but for what it
 * was kept off the processors while it spun.
 *
 *     thread NAME tid lifetime_ns stalled_ns percent FUNCTION
 *     main lifetime_ns
 */
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>

enum { LIVES_MAX = 4096, RAW_STACK_BYTES = 65536, STALL_MS = 50 };

struct life {
    char name[16];
    const char *function;
    int percent;
    _Atomic pid_t tid;
    _Atomic uint64_t start_ns, end_ns; /* end 0: still there */
    uint64_t duration_ns, stalled_ns;
};

static struct life lives[LIVES_MAX];
static unsigned life_count;
static uint64_t main_start_ns;
static _Atomic uint64_t main_end_ns; /* 0: until exit */

/* No libc state is touched: this is for the thread without libc's set-up, too. */
static uint64_t kernel_now_ns(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct life *life_add(const char *name, const char *function, int percent, uint64_t duration_ms)
{
    struct life *life = &lives[life_count++];
    snprintf(life->name, sizeof life->name, "%s", name);
    life->function = function;
    life->percent = percent;
    life->duration_ns = duration_ms * NS_PER_MS;
    return life;
}

static void life_begin(struct life *life)
{
    life->start_ns = kernel_now_ns();
    life->tid = (pid_t)syscall(SYS_gettid);
    syscall(SYS_prctl, PR_SET_NAME, life->name, 0, 0, 0);
}

static void life_end(void *life)
{
    ((struct life *)life)->end_ns = kernel_now_ns();
}

static void report(void)
{
    uint64_t end_ns = kernel_now_ns();
    for (unsigned i = 0; i < life_count; i++) {
        const struct life *life = &lives[i];
        uint64_t life_ns = (life->end_ns ? life->end_ns : end_ns) - life->start_ns;
        printf("thread %s %d %ju %ju %d %s\n", life->name, life->tid, (uintmax_t)life_ns,
               (uintmax_t)life->stalled_ns, life->percent, life->function);
    }
    printf("main %ju\nlate %ju\n", (uintmax_t)((main_end_ns ? main_end_ns : end_ns) - main_start_ns),
           (uintmax_t)latest_ns);
}

static void note_stall(uint64_t stalled_ns)
{
    pid_t tid = (pid_t)syscall(SYS_gettid);
    for (unsigned i = 0; i < life_count; i++)
        lives[i].stalled_ns += lives[i].tid == tid ? stalled_ns : 0;
}

/* Two readings of the clock are microseconds apart, or a time slice of others. */
static void spin(uint64_t duration_ns)
{
    uint64_t now_ns = kernel_now_ns(), before_ns = now_ns, end_ns = now_ns + duration_ns;
    for (; now_ns < end_ns; before_ns = now_ns) {
        now_ns = kernel_now_ns();
        if (now_ns - before_ns > STALL_MS * NS_PER_MS)
            note_stall(now_ns - before_ns);
    }
}

static void sleep_ns(uint64_t duration_ns)
{
    uint64_t due_ns = kernel_now_ns() + duration_ns;
    struct timespec rest = timespec_of(duration_ns);
    while (nanosleep(&rest, &rest) && errno == EINTR)
        ;
    note_wakeup(due_ns, kernel_now_ns());
}

/* A tenth of the time on a CPU; sleeping is where a thread can be cancelled. */
static void pass_time(uint64_t duration_ns)
{
    for (uint64_t end = kernel_now_ns() + duration_ns; kernel_now_ns() < end;) {
        spin(NS_PER_MS);
        sleep_ns(9 * NS_PER_MS);
    }
}

/*
 * One function per thread: what is found in it must be found under that thread's name only. The comment in
 * the assembly makes each different, or the compiler would fold equal ones into one.
 */
#define LIFE(name, how)                                                                                      \
    KEEP_FRAME void name(struct life *life)                                                                  \
    {                                                                                                        \
        how(life->duration_ns);                                                                              \
        __asm__ volatile("# " #name ::: "memory");                                                           \
    }
LIFE(life_returns, pass_time)
LIFE(life_exits, pass_time)
LIFE(life_cancelled, pass_time)
LIFE(life_thrd_returns, pass_time)
LIFE(life_thrd_exits, pass_time)
LIFE(life_raw, spin)
LIFE(life_deaf, spin)
LIFE(life_masked, spin)
LIFE(life_survives_0, pass_time)
LIFE(life_survives_1, pass_time)
LIFE(life_detached_0, pass_time)
LIFE(life_detached_1, pass_time)
LIFE(life_detached_2, sleep_ns)
LIFE(life_quits, pass_time)
LIFE(life_ends_barely_0, pass_time)
LIFE(life_ends_barely_1, pass_time)

/* ---- kinds: every way to create a thread and every way to end one ---- */

static void *start_returning(void *life)
{
    life_begin(life);
    life_returns(life);
    life_end(life);
    return life;
}

static void *start_exiting(void *life)
{
    life_begin(life);
    life_exits(life);
    life_end(life);
    pthread_exit(life);
}

static void *start_cancelled(void *life)
{
    life_begin(life);
    pthread_cleanup_push(life_end, life);
    life_cancelled(life);
    pthread_cleanup_pop(1);
    return NULL;
}

static int start_thrd_returning(void *life)
{
    life_begin(life);
    life_thrd_returns(life);
    life_end(life);
    return 17;
}

static int start_thrd_exiting(void *life)
{
    life_begin(life);
    life_thrd_exits(life);
    life_end(life);
    thrd_exit(18);
}

static int start_raw(void *life)
{
    life_begin(life);
    life_raw(life);
    life_end(life);
    return 0;
}

/* A thread that libc knows nothing of: no thread-local storage of its own, no pthread_t. */
static void create_raw(struct life *life)
{
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    char *stack =
        mmap(NULL, RAW_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || clone(start_raw, stack + RAW_STACK_BYTES, flags, life) < 0)
        die("clone");
}

static void await_end(const struct life *life)
{
    while (!life->end_ns)
        sleep_ns(NS_PER_MS);
}

static pthread_t create(void *(*start)(void *), struct life *life)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, start, life))
        die("pthread_create");
    return thread;
}

/* Their results must come back through whatever stands between the program and libc. */
static int run_kinds(void)
{
    struct life *returning = life_add("returning", "life_returns", 90, 1500);
    struct life *exiting = life_add("exiting", "life_exits", 90, 1500);
    struct life *raw = life_add("raw", "life_raw", 50, 3000);
    pthread_t threads[3];
    thrd_t c11[2];
    void *results[3];
    int codes[2];
    create_raw(raw);
    threads[0] = create(start_returning, returning);
    threads[1] = create(start_exiting, exiting);
    threads[2] = create(start_cancelled, life_add("cancelled", "life_cancelled", 90, 60000));
    if (thrd_create(&c11[0], start_thrd_returning,
                    life_add("thrd-returning", "life_thrd_returns", 90, 1500)) ||
        thrd_create(&c11[1], start_thrd_exiting, life_add("thrd-exiting", "life_thrd_exits", 90, 1500)))
        die("thrd_create");
    pthread_join(threads[0], &results[0]);
    pthread_join(threads[1], &results[1]);
    pthread_cancel(threads[2]);
    pthread_join(threads[2], &results[2]);
    thrd_join(c11[0], &codes[0]);
    thrd_join(c11[1], &codes[1]);
    await_end(raw);
    int good = results[0] == returning && results[1] == exiting && results[2] == PTHREAD_CANCELED;
    return good && codes[0] == 17 && codes[1] == 18 ? 0 : 1;
}

/* ---- main-exits: the main thread is the first to go ---- */

#define START(name, life_function)                                                                           \
    static void *start_##name(void *life)                                                                    \
    {                                                                                                        \
        life_begin(life);                                                                                    \
        life_function(life);                                                                                 \
        life_end(life);                                                                                      \
        return NULL;                                                                                         \
    }
START(survivor_0, life_survives_0)
START(survivor_1, life_survives_1)

static int run_main_exits(void)
{
    create(start_survivor_0, life_add("survivor-0", "life_survives_0", 90, 1000));
    create(start_survivor_1, life_add("survivor-1", "life_survives_1", 90, 2000));
    pass_time(300 * NS_PER_MS);
    main_end_ns = kernel_now_ns();
    pthread_exit(NULL);
}

/* ---- short: thousands of threads in a row; reuse: all of them with one tid ---- */

#define SHORT(number) LIFE(short_##number, pass_short)
static void pass_short(uint64_t duration_ns)
{
    spin(duration_ns / 4);
    sleep_ns(duration_ns - duration_ns / 4);
}
SHORT(0)
SHORT(1)
SHORT(2)
SHORT(3)
SHORT(4)
SHORT(5)
SHORT(6)
SHORT(7)

static void (*const short_functions[])(struct life *) = {short_0, short_1, short_2, short_3,
                                                         short_4, short_5, short_6, short_7};
static const char *const short_names[] = {"short_0", "short_1", "short_2", "short_3",
                                          "short_4", "short_5", "short_6", "short_7"};

static void *start_short(void *argument)
{
    struct life *life = argument;
    life_begin(life);
    short_functions[(life - lives) % 8](life);
    life_end(life);
    return NULL;
}

/* The kernel gives the next thread the id after this one: see pid_namespaces(7), ns_last_pid. */
static void set_last_pid(pid_t pid)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d", pid);
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        die("ns_last_pid");
    close(fd);
}

static int run_short(unsigned count, int with_one_tid)
{
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "short-%04u", i);
        if (with_one_tid && i)
            set_last_pid(lives[0].tid - 1);
        pthread_join(create(start_short, life_add(name, short_names[i % 8], 0, 4)), NULL);
    }
    return 0;
}

/* ---- deaf: threads that cannot get the profiler's signal ---- */

static void block_all_signals_in_kernel(void)
{
    uint64_t all = ~(uint64_t)0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
}

static void block_all_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void *start_deaf(void *life)
{
    life_begin(life);
    block_all_signals_in_kernel();
    life_deaf(life);
    life_end(life);
    return NULL;
}

static void *start_masked(void *life)
{
    life_begin(life);
    block_all_signals();
    life_masked(life);
    life_end(life);
    return NULL;
}

KEEP_FRAME int life_waits_for_signal(void)
{
    sigset_t set;
    int got = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (sigwait(&set, &got))
        die("sigwait");
    KEEP_CALL();
    return got;
}

static void *start_waiting_for_signal(void *life)
{
    life_begin(life);
    block_all_signals();
    int got = life_waits_for_signal();
    life_end(life);
    return (void *)(intptr_t)got;
}

static int run_deaf(void)
{
    void *got;
    pthread_t deaf = create(start_deaf, life_add("deaf", "[not responding]", 90, 2500));
    pthread_t masked = create(start_masked, life_add("masked", "life_masked|[not responding]", 90, 1000));
    pthread_t waiting = create(start_waiting_for_signal,
                               life_add("sigwait", "life_waits_for_signal|[not responding]", 90, 0));
    sleep_ns(2000 * NS_PER_MS);
    pthread_kill(waiting, SIGUSR1);
    pthread_join(waiting, &got);
    pthread_join(masked, NULL);
    pthread_join(deaf, NULL);
    return got == (void *)(intptr_t)SIGUSR1 ? 0 : 1;
}

/* ---- ends of the process ---- */

START(detached_0, life_detached_0)
START(detached_1, life_detached_1)
START(detached_2, life_detached_2)

static int run_detached(void)
{
    pthread_detach(create(start_detached_0, life_add("detached-0", "life_detached_0", 90, 60000)));
    pthread_detach(create(start_detached_1, life_add("detached-1", "life_detached_1", 90, 60000)));
    pthread_detach(create(start_detached_2, life_add("detached-2", "life_detached_2", 90, 60000)));
    sleep_ns(1500 * NS_PER_MS);
    return 7;
}

static void *start_quitting(void *life)
{
    life_begin(life);
    life_quits(life);
    exit(9);
}

static int run_thread_exits_process(void)
{
    pthread_join(create(start_quitting, life_add("quitting", "life_quits", 90, 1500)), NULL);
    return 1;
}

/* Not portable, but done: exit called again by an exit handler. */
static void exit_again(void)
{
    exit(11);
}

static int run_nested_exit(void)
{
    atexit(exit_again);
    pass_time(500 * NS_PER_MS);
    return 1;
}

/*
 * bare-exit: one thread or two end by the bare system call, and the main thread by pthread_exit, before the
 * second or as the last. No thread is left then, but the C library does not know: no exit handler runs, so
 * the report comes first.
 */
#define START_BARE(number)                                                                                   \
    static void *start_bare_##number(void *life)                                                             \
    {                                                                                                        \
        life_begin(life);                                                                                    \
        life_ends_barely_##number(life);                                                                     \
        life_end(life);                                                                                      \
        syscall(SYS_exit, 0);                                                                                \
        return NULL;                                                                                         \
    }
START_BARE(0)
START_BARE(1)

static int run_bare_exit(unsigned count)
{
    create(start_bare_0, life_add("bare-0", "life_ends_barely_0", 50, 500));
    if (count == 2)
        create(start_bare_1, life_add("bare-1", "life_ends_barely_1", 50, 3000));
    sleep_ns(2000 * NS_PER_MS);
    report();
    fflush(stdout);
    pthread_exit(NULL);
}

static int run_mode(const char *mode, unsigned count)
{
    if (!strcmp(mode, "bare-exit"))
        return run_bare_exit(count);
    if (!strcmp(mode, "kinds"))
        return run_kinds();
    if (!strcmp(mode, "main-exits"))
        return run_main_exits();
    if (!strcmp(mode, "short"))
        return run_short(count, 0);
    if (!strcmp(mode, "reuse"))
        return run_short(count, 1);
    if (!strcmp(mode, "deaf"))
        return run_deaf();
    if (!strcmp(mode, "detached"))
        return run_detached();
    if (!strcmp(mode, "thread-exits-process"))
        return run_thread_exits_process();
    if (!strcmp(mode, "nested-exit"))
        return run_nested_exit();
    fprintf(stderr, "no mode %s\n", mode);
    return 2;
}

int main(int argc, char **argv)
{
    main_start_ns = kernel_now_ns();
    atexit(report);
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 2000;
    return run_mode(argc > 1 ? argv[1] : "kinds", count < LIVES_MAX ? count : LIVES_MAX);
}
