/*
 * Threads that start children in every way at once, beside threads that hold the heap and the loader:
 *
 *     target_children_all SECONDS load     some load libraries
 *     target_children_all SECONDS exit     some children end by exit
 *
 * Not both: exit takes the loader's lock, and would hang without us if a thread of the parent had it.
 * Every child's status is checked; children that live long print their pid. Exit status 0 when all were
 * right.
 */
#include "target.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { KINDS = 9, EACH = 2 };

static int is_over;

static bool ends_with(pid_t child, int expected)
{
    int status = 0;
    pid_t ended;
    do
        ended = child < 0 ? -1 : waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == expected;
}

/* ---- what goes on beside ---- */

static void allocate(void)
{
    enum { BLOCKS = 50 };
    char *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        check((blocks[i] = malloc(100 + i * 100)) != NULL, "malloc");
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void load(void)
{
    void *library = dlopen("libutil.so.1", RTLD_NOW);
    check(library != NULL, "dlopen");
    if (library)
        dlclose(library);
    usleep(50); /* the loader's lock is not a fair one */
}

/* ---- children ---- */

static void fork_and_leave(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(11);
    check(ends_with(child, 11), "fork, _exit");
}

static void fork_and_exit(void)
{
    static int count;
    bool is_long = __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST) % 16 == 0;
    pid_t child = fork();
    if (child == 0) {
        uint64_t cpu_ns = is_long ? 100 * NS_PER_MS : 0;
        while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < cpu_ns)
            allocate();
        exit(12);
    }
    check(ends_with(child, 12), "fork, exit");
    if (is_long)
        printf("%d\n", child);
}

static void fork_and_execute(void)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/nonexistent", "nonexistent", (char *)NULL);
        execlp("sh", "sh", "-c", "exit 13", (char *)NULL);
        _exit(127);
    }
    check(ends_with(child, 13), "fork, exec");
}

static void vfork_and_execute(void)
{
    static char *const arguments[] = {"sh", "-c", "exit 14", NULL};
    pid_t child = vfork();
    if (child == 0) {
        execve("/nonexistent", arguments, environ);
        execve("/bin/sh", arguments, environ);
        _exit(127);
    }
    check(ends_with(child, 14), "vfork, exec");
}

static void bare_fork(void)
{
    pid_t child = _Fork();
    if (child == 0)
        _exit(15);
    check(ends_with(child, 15), "_Fork, _exit");
}

static void spawn(void)
{
    static char *const arguments[] = {"sh", "-c", "exit 16", NULL};
    pid_t child = -1;
    check(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0 && ends_with(child, 16),
          "posix_spawn");
}

static void open_and_run(void)
{
    char line[16] = "";
    FILE *stream = popen("echo 17; exit 17", "r");
    check(stream && fgets(line, sizeof(line), stream) && !strcmp(line, "17\n"), "popen");
    check(stream && pclose(stream) == 17 << 8, "pclose");
    check(system("exit 18") == 18 << 8, "system");
}

static void *repeat(void *what)
{
    void (*act)(void) = *(void (*const *)(void))what;
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST))
        act();
    return NULL;
}

int main(int argc, char **argv)
{
    static void (*const kinds[KINDS])(void) = {
        allocate,          load,      fork_and_leave, fork_and_exit, fork_and_execute,
        vfork_and_execute, bare_fork, spawn,          open_and_run};
    pthread_t threads[KINDS * EACH];
    bool loads = argc > 2 && !strcmp(argv[2], "load");
    for (int i = 0; i < KINDS * EACH; i++) {
        int kind = i % KINDS;
        if (kinds[kind] == (loads ? fork_and_exit : load))
            kind = 0;
        check(pthread_create(&threads[i], NULL, repeat, (void *)(uintptr_t)&kinds[kind]) == 0,
              "pthread_create");
    }
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < KINDS * EACH; i++)
        pthread_join(threads[i], NULL);
    return failures != 0;
}
