/*
 * Programs that are recorded into a file while they do what may come between, for e2e_store.sh. Most end by
 * SIGKILL, so that what is in the file then is all there is.
 *
 *     target_store WAY
 *
 * grow            many stacks, more than a small file system holds; then returns
 * live            works until it is killed
 * threads COUNT   so many come and go
 * absent          the sampler is sent away and comes back (capset), then many stacks; killed
 * leave FILE      opens FILE often, and ends with its last thread, by pthread_exit
 * child HOW       a child (fork, vfork or clone) ends by _exit(9); right afterwards the parent is killed
 * orphan HOW      a child (fork or clone) works on when the parent has been killed, for two seconds
 * fork            a forked child works, then both return
 * exec-fails      executes what is not there, works for longer than a second, killed
 */
#include "target.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int capset(cap_user_header_t header, const cap_user_data_t data); /* the C library's, without a header */

enum { BRANCHES = 13, OPEN_FILES = 60 };

static void say(const char *what)
{
    if (write(STDOUT_FILENO, what, strlen(what)) < 0)
        _exit(99);
}

KEEP_FRAME void compute_ms(uint64_t ms)
{
    work_ms(ms);
    KEEP_CALL();
}

/* ---- as many stacks as there are numbers ---- */

KEEP_FRAME static void go_left(uint32_t way, int depth);
KEEP_FRAME static void go_right(uint32_t way, int depth);

static void go_on(uint32_t way, int depth)
{
    if (depth == BRANCHES)
        compute_ms(1);
    else if (way & 1)
        go_right(way >> 1, depth + 1);
    else
        go_left(way >> 1, depth + 1);
}

void go_left(uint32_t way, int depth)
{
    go_on(way, depth);
    KEEP_CALL();
}

void go_right(uint32_t way, int depth)
{
    go_on(way, depth);
    KEEP_CALL();
}

KEEP_FRAME void make_stacks(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        go_on(i * 2654435769U >> (32 - BRANCHES), 0);
    KEEP_CALL();
}

/* ---- the ways ---- */

static void be_killed(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static void *end_at_once(void *unused)
{
    return unused;
}

static void run_threads(int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_at_once, NULL) != 0 || pthread_join(thread, NULL) != 0)
            die("pthread_create");
    }
}

KEEP_FRAME void work_after_absence(void)
{
    make_stacks(1500);
    KEEP_CALL();
}

/* A call for which the sampler is sent away, and that changes nothing. */
static void stand_aside(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) < 0 || capset(&header, data) < 0)
        die("capset");
}

static void be_absent(void)
{
    compute_ms(100);
    stand_aside();
    say("absent\n");
    work_after_absence();
    be_killed();
}

static void *outlive_main(void *unused)
{
    compute_ms(200);
    return unused;
}

static void leave(const char *path)
{
    pthread_t thread;
    for (int i = 0; i < OPEN_FILES; i++) {
        if (open(path, O_RDWR | O_CLOEXEC) < 0)
            die(path);
    }
    pthread_create(&thread, NULL, outlive_main, NULL);
    pthread_exit(NULL);
}

static char child_stack[65536] __attribute__((aligned(64)));

static int end_in_clone(void *unused)
{
    (void)unused;
    _exit(9);
}

KEEP_FRAME void work_in_child(void)
{
    compute_ms(2000);
}

static int work_in_clone(void *unused)
{
    (void)unused;
    work_in_child();
    return 0;
}

static pid_t make_child(const char *how, int (*run)(void *))
{
    pid_t child;
    if (strcmp(how, "clone") == 0)
        return clone(run, child_stack + sizeof child_stack, SIGCHLD, NULL);
    if (strcmp(how, "vfork") == 0)
        child = vfork();
    else
        child = fork();
    if (child == 0)
        _exit(run(NULL));
    return child;
}

static void outlive_child(const char *how)
{
    int status;
    compute_ms(150);
    pid_t child = make_child(how, end_in_clone);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 9)
        die("child");
    compute_ms(25);
    be_killed();
}

static void orphan_child(const char *how)
{
    compute_ms(150);
    if (make_child(how, work_in_clone) < 0)
        die("child");
    compute_ms(300);
    be_killed();
}

static int fork_and_return(void)
{
    int status;
    compute_ms(150);
    pid_t child = fork();
    compute_ms(200);
    return child == 0 || waitpid(child, &status, 0) == child ? 0 : 1;
}

KEEP_FRAME void work_after_exec(void)
{
    compute_ms(1600);
    KEEP_CALL();
}

static void fail_to_execute(void)
{
    compute_ms(200);
    execl("/nonexistent/program", "program", (char *)NULL);
    work_after_exec();
    be_killed();
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "", *word = argc > 2 ? argv[2] : "";
    if (strcmp(way, "grow") == 0)
        make_stacks(2500);
    else if (strcmp(way, "live") == 0) {
        compute_ms(150);
        say("lives\n");
        compute_ms(60000);
    } else if (strcmp(way, "threads") == 0)
        run_threads(atoi(word));
    else if (strcmp(way, "absent") == 0)
        be_absent();
    else if (strcmp(way, "leave") == 0)
        leave(word);
    else if (strcmp(way, "child") == 0)
        outlive_child(word);
    else if (strcmp(way, "orphan") == 0)
        orphan_child(word);
    else if (strcmp(way, "fork") == 0)
        return fork_and_return();
    else if (strcmp(way, "exec-fails") == 0)
        fail_to_execute();
    else
        return 2;
    return 0;
}
