/*
 * The ways a process can end, for e2e_exits.sh: what it prints and its status are to be the same under the
 * profiler.
 *
 *     target_exits MODE
 *     target_exits modes      lists them: name, and whether the profiler sees the end
 *
 * Unless a mode says otherwise, workers compute and wait meanwhile.
 */
#include "target.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

enum { STATUS = 3, WORKERS = 4, WORK_MS = 60 };

static atomic_ulong work_done;
static atomic_int life_count;

/* Past the buffers of stdio, so that also what a sudden end would lose is seen. */
static void say(const char *what)
{
    char line[128];
    int bytes = snprintf(line, sizeof(line), "%s\n", what);
    if (write(STDOUT_FILENO, line, (size_t)bytes) != bytes)
        _exit(99);
}

static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0)
        continue;
}

/* A millisecond at a time: a pause of the machine takes one, not all. */
/* For so much CPU time: on a crowded machine time passes without a sample. */
__attribute__((noinline)) static void compute(long ms)
{
    uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * NS_PER_MS;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
        for (int i = 0; i < 10000; i++)
            atomic_fetch_add(&work_done, 1);
    }
}

static void *work(void *unused)
{
    for (;;) {
        compute(1);
        usleep(500);
    }
    return unused;
}

static void start(void *(*routine)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, routine, argument) != 0)
        _exit(98);
    pthread_detach(thread);
}

static void start_workers(void)
{
    for (int i = 0; i < WORKERS; i++)
        start(work, NULL);
    compute(WORK_MS);
}

static void *finish_life(void *unused)
{
    compute(50);
    atomic_fetch_add(&life_count, 1);
    return unused;
}

__attribute__((noreturn)) static void wait_for_the_end(void)
{
    for (;;)
        sleep(5);
}

/* ---- what runs at the end ---- */

static void first_handler(void)
{
    compute(20);
    say("first handler");
}

/* Threads are created and end while the process does. */
static void second_handler(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, finish_life, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    pause_ms(20);
    say("second handler");
}

static void exiting_handler(void)
{
    say("a handler exits");
    exit(STATUS + 1);
}

__attribute__((destructor)) static void destruct(void)
{
    compute(50);
    pause_ms(5);
    say("destructor");
}

static void register_handlers(void)
{
    atexit(second_handler);
    atexit(first_handler);
}

/* ---- the modes ---- */

static int returns(void)
{
    register_handlers();
    return STATUS;
}

static int exits(void)
{
    register_handlers();
    printf("of stdio\n");
    exit(STATUS);
}

static int exits_in_handler(void)
{
    atexit(second_handler);
    atexit(exiting_handler);
    exit(STATUS);
}

static int exits_quickly(void)
{
    register_handlers();
    at_quick_exit(second_handler);
    at_quick_exit(first_handler);
    quick_exit(STATUS);
}

static int exits_at_once(void)
{
    register_handlers();
    _exit(STATUS);
}

static void *exit_in_thread(void *how)
{
    pause_ms(20);
    if (how)
        exit(STATUS);
    _exit(STATUS);
}

static int thread_exits(void)
{
    register_handlers();
    start(exit_in_thread, "exit");
    wait_for_the_end();
}

static int thread_exits_at_once(void)
{
    start(exit_in_thread, NULL);
    wait_for_the_end();
}

/* Not defined by the standard; with the C library one of them ends the process, and handlers run once. */
static int several_exit(void)
{
    atexit(first_handler);
    for (int i = 0; i < 3; i++)
        start(exit_in_thread, "exit");
    pause_ms(20);
    exit(STATUS);
}

static void exit_on_signal(int number)
{
    exit(STATUS + number);
}

static int handler_exits(void)
{
    register_handlers();
    signal(SIGALRM, exit_on_signal);
    struct itimerval timer = {.it_value.tv_usec = 20000};
    setitimer(ITIMER_REAL, &timer, NULL);
    wait_for_the_end();
}

static void *execute(void *path)
{
    pause_ms(10);
    execl("/proc/self/exe", "target_exits", "none", (char *)NULL);
    return path;
}

static int thread_executes(void)
{
    start(execute, NULL);
    wait_for_the_end();
}

static void *outlive(void *unused)
{
    compute(50);
    pause_ms(50);
    say("outlived main");
    return unused;
}

/* No workers: the process ends by itself with its last thread. */
static int main_leaves(void)
{
    register_handlers();
    start(outlive, NULL);
    pthread_exit(NULL);
}

static void *outlive_and_exit(void *argument)
{
    outlive(argument);
    exit(STATUS);
}

static int main_leaves_thread_exits(void)
{
    register_handlers();
    start(outlive_and_exit, NULL);
    pthread_exit(NULL);
}

static int aborts(void)
{
    register_handlers();
    abort();
}

static void on_abort(int number)
{
    say(number == SIGABRT ? "SIGABRT handled" : "?");
}

static int aborts_handled(void)
{
    signal(SIGABRT, on_abort);
    abort();
}

static int is_killed(void)
{
    raise(SIGKILL);
    return STATUS;
}

static int is_terminated(void)
{
    pthread_kill(pthread_self(), SIGTERM);
    return STATUS;
}

static void *read_nowhere(void *unused)
{
    return (void *)(uintptr_t) * (volatile char *)unused;
}

static int thread_crashes(void)
{
    start(read_nowhere, NULL);
    wait_for_the_end();
}

/* ---- the stack's end ---- */

__attribute__((noinline)) static int descend(int depth)
{
    volatile char frame[512];
    frame[depth % 512] = (char)depth;
    int below = depth < 0 ? 0 : descend(depth + 1);
    return below + frame[depth % 512];
}

static void limit_stack(void)
{
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &limit);
}

static int overflows(void)
{
    limit_stack();
    return descend(0);
}

static void *overflow(void *unused)
{
    descend(0);
    return unused;
}

static int thread_overflows(void)
{
    start(overflow, NULL);
    wait_for_the_end();
}

static __thread sigjmp_buf before_overflow;

static void leave_overflow(int number)
{
    siglongjmp(before_overflow, number);
}

static void *overflow_often(void *name)
{
    stack_t alternate = {.ss_size = 65536, .ss_sp = malloc(65536)};
    static __thread volatile int count;
    sigaltstack(&alternate, NULL);
    while (count < 40) {
        if (sigsetjmp(before_overflow, 1) == 0)
            descend(0);
        count++;
    }
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    free(alternate.ss_sp);
    say(name);
    return NULL;
}

static int overflows_handled(void)
{
    struct sigaction action = {.sa_handler = leave_overflow, .sa_flags = SA_ONSTACK};
    pthread_t thread;
    register_handlers();
    limit_stack();
    sigaction(SIGSEGV, &action, NULL);
    overflow_often("main's overflows");
    pthread_create(&thread, NULL, overflow_often, "a thread's overflows");
    pthread_join(thread, NULL);
    return STATUS;
}

/* With so much room left it computes, and needs none of it. */
static __attribute__((noinline)) void compute_near(uintptr_t low, size_t room)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    volatile char *bottom = alloca(here - low - room);
    register unsigned long turns = 5000000;
    bottom[0] = 0;
    do
        __asm__ volatile("" : "+r"(turns));
    while (--turns);
}

static void *come_near(void *low)
{
    enum { ROOM_MAX = 12 * 1024, STEP = 128 };
    stack_t alternate = {.ss_size = 65536, .ss_sp = malloc(65536)};
    static __thread volatile size_t room = STEP;
    sigaltstack(&alternate, NULL);
    for (; room < ROOM_MAX; room += STEP) {
        if (sigsetjmp(before_overflow, 1) == 0)
            compute_near((uintptr_t)low, room);
    }
    say("a thread has come near");
    return NULL;
}

/* A handler of ours may have no room on such a stack. The program is to be told so like of any other
 * overflow. */
static int nearly_overflows(void)
{
    enum { STACK_BYTES = 128 * 1024, PAGE = 64 * 1024 };
    struct sigaction action = {.sa_handler = leave_overflow, .sa_flags = SA_ONSTACK};
    char *low = mmap(NULL, PAGE + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    register_handlers();
    sigaction(SIGSEGV, &action, NULL);
    if (low == MAP_FAILED || mprotect(low + PAGE, STACK_BYTES, PROT_READ | PROT_WRITE) != 0 ||
        pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstack(&attributes, low + PAGE, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, come_near, low + PAGE) != 0)
        return 97;
    pthread_join(thread, NULL);
    return STATUS;
}

/* ---- many ---- */

static void *end_at_once(void *unused)
{
    atomic_fetch_add(&life_count, 1);
    return unused;
}

static int short_lives(void)
{
    enum { AT_ONCE = 8 };
    int rounds = atoi(getenv("TARGET_EXITS_THREADS") ? getenv("TARGET_EXITS_THREADS") : "8000") / AT_ONCE;
    for (int i = 0; i < rounds; i++) {
        pthread_t threads[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) {
            if (pthread_create(&threads[j], NULL, end_at_once, NULL) != 0)
                return 97;
        }
        for (int j = 0; j < AT_ONCE; j++)
            pthread_join(threads[j], NULL);
    }
    say(atomic_load(&life_count) == rounds * AT_ONCE ? "all lived" : "some did not live");
    return STATUS;
}

static int none(void)
{
    say("executed");
    return STATUS;
}

static const struct mode {
    const char *name;
    int (*run)(void);
    bool has_workers, is_seen;
} modes[] = {
    {"returns", returns, true, true},
    {"exits", exits, true, true},
    {"exits-in-handler", exits_in_handler, true, true},
    {"exits-quickly", exits_quickly, true, true},
    {"exits-at-once", exits_at_once, true, true},
    {"thread-exits", thread_exits, true, true},
    {"thread-exits-at-once", thread_exits_at_once, true, true},
    {"several-exit", several_exit, true,
     false}, /* one may end the process while another writes the profile */
    {"handler-exits", handler_exits, false, true},
    {"thread-executes", thread_executes, true, true},
    {"main-leaves", main_leaves, false, true},
    {"main-leaves-thread-exits", main_leaves_thread_exits, true, true},
    {"aborts", aborts, true, false},
    {"aborts-handled", aborts_handled, true, false},
    {"is-killed", is_killed, true, false},
    {"is-terminated", is_terminated, true, false},
    {"thread-crashes", thread_crashes, true, false},
    {"overflows", overflows, true, false},
    {"thread-overflows", thread_overflows, true, false},
    {"overflows-handled", overflows_handled, true, true},
    {"nearly-overflows", nearly_overflows, true, true},
    {"short-lives", short_lives, false, true},
    {"none", none, false, true},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && argc > 1; i++) {
        const struct mode *mode = &modes[i];
        if (!strcmp(argv[1], "modes"))
            printf("%s %d\n", mode->name, mode->is_seen);
        else if (!strcmp(argv[1], mode->name)) {
            if (mode->has_workers)
                start_workers();
            return mode->run();
        }
    }
    fflush(stdout);
    _exit(0);
}
