/*
 * Children that are born at a bad moment, or in another way than by fork: one way per run.
 *
 * - loader exit|leave|again: forks while another thread holds the loader's list; the child works, then ends
 *   by exit, or its last thread by pthread_exit; or forks in turn, and its child works
 * - callback: forks while it holds the loader's list itself
 * - memory MIB: forks with so much memory touched in small pages, some times
 * - inherit plain|blocked|ignored|full: starts a program in every way there is, with SIGPROF, or all signals,
 *   in that state, and prints what the program, its starter and its children say of it
 * - kernels plain|blocked|ignored|full: what the kernel says of a forked child
 * - vfork: what a child of vfork and _Fork sees and may do
 * - raw: children that no function of the C library makes
 *
 * Exit status 0 when every child ended as it should.
 */
#include "target.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* So much CPU time: on a machine with other work to do, too, the sampler gets to run meanwhile. */
KEEP_FRAME void work_in_child(void)
{
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < 400 * NS_PER_MS)
        ;
}

/* Whether a child ends with a status, within half a minute. */
static int ends_with(pid_t child, int expected)
{
    int status = 0;
    for (int i = 0; i < 30000; i++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == expected)
                return 0;
            fprintf(stderr, "target_children: wait status %#x instead of exit status %d\n", status, expected);
            return 1;
        }
        usleep(i < 100 ? 100 : 1000);
    }
    fprintf(stderr, "target_children: a child hangs\n");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 1;
}

/* ---- the loader's list ---- */

static int is_held, may_go;

static int hold_list(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    __atomic_store_n(&is_held, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&may_go, __ATOMIC_SEQ_CST))
        usleep(1000);
    return 1;
}

static void *hold_list_in_thread(void *unused)
{
    dl_iterate_phdr(hold_list, NULL);
    return unused;
}

/* So that pthread_exit need not load libgcc_s in the child, which no program can do then. */
static void *leave(void *unused)
{
    pthread_exit(unused);
}

static int run_loader(const char *how)
{
    bool leaves = !strcmp(how, "leave");
    pthread_t holder;
    pthread_create(&holder, NULL, leave, NULL);
    pthread_join(holder, NULL);
    pthread_create(&holder, NULL, hold_list_in_thread, NULL);
    while (!__atomic_load_n(&is_held, __ATOMIC_SEQ_CST))
        usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        work_in_child();
        if (leaves)
            pthread_exit(NULL);
        pid_t grandchild = strcmp(how, "again") ? -1 : fork();
        if (grandchild == 0)
            work_in_child();
        exit(grandchild > 0 && ends_with(grandchild, 4) ? 1 : 4);
    }
    int failures = ends_with(child, leaves ? 0 : 4);
    __atomic_store_n(&may_go, 1, __ATOMIC_SEQ_CST);
    pthread_join(holder, NULL);
    printf("%d\n", child);
    return failures;
}

static int fork_with_list(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info, (void)size;
    usleep(20000); /* the profiler wants to read the list, too */
    pid_t child = fork();
    if (child == 0)
        _exit(5);
    *(int *)data = ends_with(child, 5);
    return 1;
}

static int run_callback(void)
{
    int failures = 1;
    dl_iterate_phdr(fork_with_list, &failures);
    return failures;
}

/* ---- memory ---- */

static int run_memory(size_t mib)
{
    enum { FORKS = 3, PAGE_BYTES = 4096 };
    int failures = 0;
    size_t bytes = mib << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += PAGE_BYTES)
        memory[at] = 1;
    for (int i = 0; i < FORKS; i++) {
        uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
        pid_t child = fork();
        if (child == 0)
            _exit(6);
        fprintf(stderr, "fork with %zu MiB: %.1f ms\n", mib,
                (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e6);
        failures += ends_with(child, 6);
    }
    return failures;
}

/* ---- what a program inherits ---- */

static char *const show_signals[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
static const char show_command[] = "grep -E '^Sig(Blk|Ign)' /proc/self/status";

static int wait_for(pid_t child)
{
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

static int start_by_fork(void)
{
    pid_t child = fork();
    if (child == 0) {
        execvp(show_signals[0], show_signals);
        _exit(127);
    }
    return wait_for(child);
}

static int start_by_bare_fork(void)
{
    pid_t child = _Fork();
    if (child == 0) {
        execvp(show_signals[0], show_signals);
        _exit(127);
    }
    return wait_for(child);
}

static int start_by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execv("/nonexistent", show_signals);
        execvp(show_signals[0], show_signals);
        _exit(127);
    }
    return wait_for(child);
}

static int start_by_spawn(void)
{
    pid_t child;
    if (posix_spawnp(&child, "nonexistent-program", NULL, NULL, show_signals, environ) == 0)
        return 1;
    return posix_spawnp(&child, show_signals[0], NULL, NULL, show_signals, environ) || wait_for(child);
}

static int start_by_system(void)
{
    return system(show_command) != 0;
}

static int start_by_popen(void)
{
    char line[256];
    FILE *stream = popen(show_command, "r");
    while (stream && fgets(line, sizeof(line), stream))
        fputs(line, stdout);
    return !stream || pclose(stream) != 0;
}

static void on_other(int number)
{
    (void)number;
}

/* What a process reads back of itself: the mask, that of a handler, what is ignored. */
static int tell_own(void)
{
    sigset_t mask;
    struct sigaction action, other;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    sigaction(SIGPROF, NULL, &action);
    sigaction(SIGUSR1, NULL, &other);
    printf("itself: ignored %d, handler %d; blocked, and by the handler:", action.sa_handler == SIG_IGN,
           other.sa_handler == on_other);
    for (int number = 1; number <= SIGRTMAX; number++)
        printf(" %d%d", sigismember(&mask, number), sigismember(&other.sa_mask, number));
    printf("\n");
    return fflush(stdout);
}

static int tell_own_in(pid_t child)
{
    if (child == 0)
        _exit(tell_own());
    return wait_for(child);
}

static int tell_own_in_fork(void)
{
    return tell_own_in(fork());
}

static int tell_own_in_bare_fork(void)
{
    return tell_own_in(_Fork());
}

/* What that is in the kernel, past the profiler's hooks, once it has left. */
static int tell_kernels_in_fork(void)
{
    char text[4096];
    uint64_t action[4] = {0};
    pid_t child = fork();
    if (child != 0)
        return wait_for(child);
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, action, sizeof(uint64_t));
    int fd = open("/proc/self/status", O_RDONLY);
    ssize_t bytes = read(fd, text, sizeof(text) - 1);
    text[bytes > 0 ? bytes : 0] = 0;
    const char *blocked = strstr(text, "SigBlk");
    printf("kernel's: handler's mask %#llx, %.24s\n", (unsigned long long)action[3], blocked ? blocked : "");
    _exit(fflush(stdout));
}

static void set_state(const char *state)
{
    sigset_t profile;
    struct sigaction other = {.sa_handler = on_other};
    sigfillset(&other.sa_mask);
    sigaction(SIGUSR1, &other, NULL);
    sigemptyset(&profile);
    sigaddset(&profile, SIGPROF);
    if (!strcmp(state, "full"))
        sigprocmask(SIG_SETMASK, &other.sa_mask, NULL);
    if (!strcmp(state, "blocked"))
        sigprocmask(SIG_BLOCK, &profile, NULL);
    if (!strcmp(state, "ignored"))
        signal(SIGPROF, SIG_IGN);
}

static int run_kernels(const char *state)
{
    set_state(state);
    return tell_kernels_in_fork();
}

static int run_inherit(const char *state)
{
    static const struct {
        const char *name;
        int (*start)(void);
    } ways[] = {
        {"fork", start_by_fork},   {"_Fork", start_by_bare_fork},   {"vfork", start_by_vfork},
        {"spawn", start_by_spawn}, {"popen", start_by_popen},       {"system", start_by_system},
        {"none", tell_own},        {"own, fork", tell_own_in_fork}, {"own, _Fork", tell_own_in_bare_fork}};
    int failures = 0;
    set_state(state);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        printf("%s %s\n", state, ways[i].name);
        fflush(stdout);
        failures += ways[i].start();
    }
    execv("/nonexistent", show_signals);
    tell_own();
    fflush(stdout);
    if (failures == 0)
        execvp(show_signals[0], show_signals);
    return 1;
}

/* ---- children that share memory or have no parent ---- */

static void on_profile(int number)
{
    (void)number;
}

/* In the child, with what the parent has set: a handler, and the signal blocked.
 * A digit for each that is wrong. */
static int look_and_change(void)
{
    struct sigaction action, other = {.sa_handler = SIG_IGN};
    sigset_t mask, none;
    int wrong = 0;
    sigemptyset(&none);
    sigaction(SIGPROF, NULL, &action);
    wrong |= (action.sa_handler != on_profile) << 0;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    wrong |= (sigismember(&mask, SIGPROF) != 1) << 1;
    sigaction(SIGPROF, &other, &action);
    wrong |= (action.sa_handler != on_profile) << 2;
    sigaction(SIGPROF, NULL, &action);
    wrong |= (action.sa_handler != SIG_IGN) << 3;
    sigprocmask(SIG_SETMASK, &none, &mask);
    wrong |= (sigismember(&mask, SIGPROF) != 1) << 4;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    wrong |= (sigismember(&mask, SIGPROF) != 0) << 5;
    return wrong;
}

static int check_own(void)
{
    struct sigaction action;
    sigset_t mask;
    sigaction(SIGPROF, NULL, &action);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    return action.sa_handler != on_profile || sigismember(&mask, SIGPROF) != 1;
}

static int run_vfork(void)
{
    struct sigaction action = {.sa_handler = on_profile};
    sigset_t profile;
    sigemptyset(&profile);
    sigaddset(&profile, SIGPROF);
    sigaction(SIGPROF, &action, NULL);
    sigprocmask(SIG_BLOCK, &profile, NULL);
    int failures = check_own();
    for (int i = 0; i < 50; i++) {
        pid_t child = vfork();
        if (child == 0)
            _exit(look_and_change());
        failures += child < 0 || ends_with(child, 0) || check_own();
        child = _Fork();
        if (child == 0)
            _exit(look_and_change());
        failures += child < 0 || ends_with(child, 0) || check_own();
    }
    return failures != 0;
}

/* ---- by system call ---- */

static int in_clone(void *memory)
{
    free(malloc(1000));
    return memory ? 8 : 9;
}

static int run_raw(void)
{
    enum { STACK_BYTES = 256 * 1024 };
    int failures = 0;
    char *stack = malloc(STACK_BYTES);
    for (int i = 0; i < 30; i++) {
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0)
            _exit(7);
        failures += ends_with(child, 7);
        child = clone(in_clone, stack + STACK_BYTES, SIGCHLD, NULL);
        failures += ends_with(child, 9);
        child = clone(in_clone, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, stack);
        failures += ends_with(child, 8);
    }
    free(stack);
    /* One of the kind forks properly, and its child lives. */
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            work_in_child();
            exit(3);
        }
        printf("%d\n", grandchild);
        fflush(stdout);
        _exit(ends_with(grandchild, 3) ? 1 : 7);
    }
    return failures + ends_with(child, 7);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
    if (!strcmp(mode, "loader"))
        return run_loader(argument);
    if (!strcmp(mode, "callback"))
        return run_callback();
    if (!strcmp(mode, "memory"))
        return run_memory((size_t)atoi(argument));
    if (!strcmp(mode, "inherit"))
        return run_inherit(argument);
    if (!strcmp(mode, "kernels"))
        return run_kernels(argument);
    if (!strcmp(mode, "vfork"))
        return run_vfork();
    if (!strcmp(mode, "raw"))
        return run_raw();
    fprintf(stderr, "no mode %s\n", mode);
    return 2;
}
