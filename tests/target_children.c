/*
 * Children that are born at a bad moment, or in another way than by fork: one way per run.
 *
 *     target_children loader exit|leave   forks while another thread holds the loader's list; the child
 * works, then ends by exit, or its last thread by pthread_exit target_children callback            forks
 * while it holds the loader's list itself target_children memory MIB          forks with so much memory
 * touched in small pages, some times
 *
 * Exit status 0 when every child ended as it should.
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#ifdef __clang__
#define KEEP_FRAME __attribute__((noinline))
#else
#define KEEP_FRAME __attribute__((noinline, noclone))
#endif

KEEP_FRAME void work_in_child(void)
{
    for (uint64_t end = now_ns() + 400 * UINT64_C(1000000); now_ns() < end;)
        ;
}

/* Whether a child ends with a status, within half a minute. */
static int ends_with(pid_t child, int expected)
{
    int status = 0;
    for (int i = 0; i < 3000; i++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == expected)
                return 0;
            fprintf(stderr, "target_children: wait status %#x instead of exit status %d\n", status, expected);
            return 1;
        }
        usleep(10000);
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
        exit(4);
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
    usleep(20000); /* the profiler wants to look at the list, too */
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
    enum { FORKS = 5, PAGE_BYTES = 4096 };
    int failures = 0;
    size_t bytes = mib << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += PAGE_BYTES)
        memory[at] = 1;
    for (int i = 0; i < FORKS; i++) {
        uint64_t start_ns = now_ns();
        pid_t child = fork();
        if (child == 0)
            _exit(6);
        fprintf(stderr, "fork with %zu MiB: %.1f ms\n", mib, (double)(now_ns() - start_ns) / 1e6);
        failures += ends_with(child, 6);
    }
    return failures;
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
    fprintf(stderr, "no mode %s\n", mode);
    return 2;
}
