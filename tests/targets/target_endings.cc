/*
 * The ways a process can end, with a log of how long each of its threads had lived by then: for
 * e2e_endings.sh, which finds the same in the profile, or in what was left of it.
 *
 *     target_endings ENDING THREADS LOG [child]
 *     target_endings list
 *
 * child: it is a forked child that ends so, with threads of its own; the parent says how, and returns. The
 * log is memory that survives any end: struct log. out-of-memory: ENDINGS_MEMORY_GROUP is the directory of
 * a control group with little memory.
 */
#include "target.h"
#include "sampler_sleeps.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { STATUS = 3, THREADS_MAX = 64, LIFE_MS = 250 };

struct thread_log {
    uint64_t tid, created_ns, started_ns; /* CLOCK_MONOTONIC: before it could begin, and when it had */
};

struct log {
    uint64_t pid;
    uint64_t ticked_ns; /* at a tick after that every thread was there */
    uint64_t ending_ns; /* right before the end */
    uint64_t thread_count;
    struct thread_log threads[THREADS_MAX];
};

static struct log *the_log;
static int siginfos; /* how often the handler was called */

/* ---- the threads ---- */

static void begin(struct thread_log *log)
{
    log->tid = (uint64_t)syscall(SYS_gettid);
    log->started_ns = clock_ns(CLOCK_MONOTONIC);
}

KEEP_FRAME static void compute_ms(uint64_t ms)
{
    volatile uint64_t sum = 0;
    for (uint64_t end = clock_ns(CLOCK_MONOTONIC) + ms * NS_PER_MS; clock_ns(CLOCK_MONOTONIC) < end;)
        sum = sum + 1;
}

static void *live(void *log)
{
    begin(static_cast<struct thread_log *>(log));
    for (;;) {
        compute_ms(1);
        usleep(20000);
    }
    return log;
}

static void start_threads(uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        pthread_t thread;
        the_log->threads[i].created_ns = clock_ns(CLOCK_MONOTONIC);
        if (pthread_create(&thread, NULL, live, &the_log->threads[i]) != 0)
            die("pthread_create");
        pthread_detach(thread);
    }
    for (uint64_t i = 1; i < count; i++) {
        while (__atomic_load_n(&the_log->threads[i].started_ns, __ATOMIC_ACQUIRE) == 0)
            usleep(1000);
    }
    the_log->thread_count = count;
}

/*
 * What is left of a process that is killed says how long its threads had lived at the last tick. When that
 * was depends on how crowded the machine is. So this waits for a whole tick.
 */
static void wait_for_tick(uint64_t threads)
{
    long goal = -1;
    the_log->ticked_ns = clock_ns(CLOCK_MONOTONIC);
    if (!getenv("LD_PRELOAD"))
        return;
    while (!has_ticked(&goal, (long)threads))
        usleep(1000);
}

/* ---- the endings ---- */

static void say(const char *what)
{
    if (write(STDOUT_FILENO, what, strlen(what)) < 0)
        _exit(99);
}

static void about_to_end()
{
    the_log->ending_ns = clock_ns(CLOCK_MONOTONIC);
}

static void say_at_exit()
{
    say("at exit\n");
}

/* What a handler is told must be what it would be told without us, and once. */
static void say_signal(int number, siginfo_t *info, void *)
{
    char line[128];
    snprintf(line, sizeof line, "signal %d, code %d, %s, call %d\n", number, info->si_code,
             number == SIGSEGV          ? info->si_addr == (void *)8 ? "at 8" : "elsewhere"
             : info->si_pid == getpid() ? "from itself"
                                        : "from another",
             ++siginfos);
    say(line);
}

static void exit_on_signal(int number, siginfo_t *info, void *context)
{
    say_signal(number, info, context);
    about_to_end();
    exit(STATUS);
}

static void exit_at_once_on_signal(int number, siginfo_t *info, void *context)
{
    say_signal(number, info, context);
    about_to_end();
    _exit(STATUS);
}

/* As programs do that report their crashes: the default action ends it after all. */
static void return_on_signal(int number, siginfo_t *info, void *context)
{
    say_signal(number, info, context);
    about_to_end();
    signal(number, SIG_DFL);
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(number, &action, NULL);
}

static int read_address_8()
{
    volatile int *address = (volatile int *)8;
    __asm__("" : "+r"(address));
    return *address;
}

static int read_behind_a_file()
{
    int fd = memfd_create("empty", MFD_CLOEXEC);
    volatile char *memory = (volatile char *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    return *memory;
}

static int divide_by_zero()
{
    volatile int zero = 0;
    return STATUS / zero;
}

KEEP_FRAME static int descend(int depth)
{
    volatile char frame[4096];
    frame[depth % 4096] = (char)depth;
    int below = depth < 0 ? 0 : descend(depth + 1);
    return below + frame[depth % 4096];
}

static int returns()
{
    atexit(say_at_exit);
    return STATUS;
}

static int exits()
{
    atexit(say_at_exit);
    exit(STATUS);
}

static int exits_at_once()
{
    _exit(STATUS);
}

static int exits_at_once_by_c99()
{
    _Exit(STATUS);
}

static int exits_quickly()
{
    at_quick_exit(say_at_exit);
    quick_exit(STATUS);
}

static int exits_by_system_call()
{
    syscall(SYS_exit_group, STATUS);
    return 0;
}

static int aborts()
{
    abort();
}

template <int number> static int is_sent()
{
    kill(getpid(), number);
    for (;;)
        pause();
}

static int handler_exits()
{
    handle(SIGTERM, exit_on_signal);
    return is_sent<SIGTERM>();
}

static int handler_exits_at_once()
{
    handle(SIGSEGV, exit_at_once_on_signal);
    return read_address_8();
}

static int handler_returns()
{
    handle(SIGSEGV, return_on_signal);
    return read_address_8();
}

static int throws()
{
    throw std::runtime_error("nobody catches this");
}

/* Alone: the kernel may kill any process of the group, and a second one where the first is slow to die. */
static void join_memory_group()
{
    const char *group = getenv("ENDINGS_MEMORY_GROUP");
    std::string path = std::string(group ? group : "") + "/cgroup.procs";
    int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        die(path.c_str());
    close(fd);
}

static int runs_out_of_memory()
{
    join_memory_group();
    const size_t step = 1 << 20;
    for (;;) {
        char *memory = (char *)mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            _exit(98);
        memset(memory, 1, step);
        about_to_end();
    }
}

static int lives_on()
{
    for (;;) {
        about_to_end();
        compute_ms(1);
    }
}

static const struct ending {
    const char *name;
    int (*run)(void);
    bool is_ordinary; /* the process writes its profile itself */
} endings[] = {
    {"return", returns, true},
    {"exit", exits, true},
    {"quick_exit", exits_quickly, true},
    {"handler-exits", handler_exits, true},
    {"_exit", exits_at_once, false},
    {"_Exit", exits_at_once_by_c99, false},
    {"exit_group", exits_by_system_call, false},
    {"abort", aborts, false},
    {"SIGTERM", is_sent<SIGTERM>, false},
    {"SIGINT", is_sent<SIGINT>, false},
    {"SIGSEGV", read_address_8, false},
    {"SIGBUS", read_behind_a_file, false},
    {"SIGFPE", divide_by_zero, false},
    {"SIGKILL", is_sent<SIGKILL>, false},
    {"handler-_exits", handler_exits_at_once, false},
    {"handler-returns", handler_returns, false},
    {"stack-overflow", [] { return descend(0); }, false},
    {"exception", throws, false},
    {"out-of-memory", runs_out_of_memory, false},
    {"lives-on", lives_on, false},
};

/* ---- main ---- */

static struct log *map_log(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct log)) < 0)
        die(path);
    void *memory = mmap(NULL, sizeof(struct log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        die(path);
    close(fd);
    return static_cast<struct log *>(memory);
}

static int end_so(const struct ending *ending, uint64_t threads)
{
    the_log->pid = (uint64_t)getpid();
    begin(&the_log->threads[0]);
    start_threads(threads);
    compute_ms(LIFE_MS / 2);
    usleep(LIFE_MS / 2 * 1000);
    wait_for_tick(threads);
    about_to_end();
    return ending->run();
}

static int wait_for(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child)
        die("waitpid");
    printf("the child: %s %d%s\n", WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
           WIFSIGNALED(status) && WCOREDUMP(status) ? ", core" : "");
    return 0;
}

int main(int argc, char **argv)
{
    const struct ending *ending = NULL;
    for (const struct ending &each : endings) {
        if (argc == 2)
            printf("%s %d\n", each.name, each.is_ordinary);
        else if (argc > 3 && strcmp(each.name, argv[1]) == 0)
            ending = &each;
    }
    if (!ending)
        return argc == 2 ? 0 : 2;
    the_log = map_log(argv[3]);
    the_log->threads[0].created_ns = argc > 4 ? clock_ns(CLOCK_MONOTONIC) : 0;
    const pid_t child = argc > 4 ? fork() : 0;
    return child == 0 ? end_so(ending, strtoul(argv[2], NULL, 10)) : wait_for(child);
}
