/*
 * Everything that changes the state of a recording, at once: threads start, stop and dump it, fork, exec,
 * suspend the sampler, begin and end, until one of them ends the process.
 *
 *     target_transitions END TURNS DIRECTORY
 *
 * END: return, exit, _exit, leave (the last thread returns), exec. Each thread takes so many TURNS. Then the
 * main thread ends the process, while new threads fork, exec and suspend. The dumps are in DIRECTORY.
 */
#include "target.h"
#include "wallprof.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static unsigned turns;
static const char *directory;

static void start_and_stop(unsigned turn)
{
    int result = turn % 2 ? wallprof_start() : wallprof_stop();
    CHECK(result == 0 || result == WALLPROF_ALREADY);
}

static void dump(unsigned turn)
{
    char path[256];
    snprintf(path, sizeof path, "%s/dump.%u.pb.gz", directory, turn);
    int result = wallprof_dump(path);
    CHECK(result == 0);
}

/* Children that end in every way, recorded and not. */
static void fork_child(unsigned turn)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (turn % 3 == 0)
            _exit(0);
        if (turn % 3 == 1)
            execl("/bin/true", "true", (char *)NULL);
        exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void fail_to_exec(unsigned turn)
{
    (void)turn;
    CHECK(execl("/nonexistent/program", "program", (char *)NULL) == -1 && errno == ENOENT);
}

static void suspend(unsigned turn)
{
    (void)turn;
    CHECK(prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == 0);
}

static void *end_at_once(void *unused)
{
    return unused;
}

/* While another thread is in execve, the kernel makes no thread of the process: EAGAIN (copy_fs, in_exec). */
static void run_thread(unsigned turn)
{
    pthread_t thread;
    (void)turn;
    int error = pthread_create(&thread, NULL, end_at_once, NULL);
    CHECK(error == 0 || error == EAGAIN);
    CHECK(error || pthread_join(thread, NULL) == 0);
}

static void (*const actions[])(unsigned turn) = {
    start_and_stop, dump, fork_child, fail_to_exec, suspend, suspend, run_thread,
};

enum { ACTIONS = sizeof actions / sizeof *actions };

static void *act(void *argument)
{
    void (*action)(unsigned) = *(void (*const *)(unsigned))argument;
    for (unsigned turn = 0; turn < turns; turn++)
        action(turn);
    return NULL;
}

static void *go_on(void *argument)
{
    void (*action)(unsigned) = *(void (*const *)(unsigned))argument;
    for (unsigned turn = turns;; turn++)
        action(turn);
    return NULL;
}

static void end(const char *how)
{
    int status = failures ? 1 : 0;
    if (strcmp(how, "exit") == 0)
        exit(status);
    if (strcmp(how, "_exit") == 0)
        _exit(status);
    if (strcmp(how, "exec") == 0)
        execl(status ? "/bin/false" : "/bin/true", "end", (char *)NULL);
}

int main(int count, char **arguments)
{
    pthread_t threads[ACTIONS];
    if (count != 4)
        die("target_transitions END TURNS DIRECTORY");
    turns = (unsigned)atoi(arguments[2]);
    directory = arguments[3];
    dprintf(STDOUT_FILENO, "%d\n", getpid());
    usleep(120 * 1000); /* an exec is worth a file from 100 ms on */
    for (unsigned i = 0; i < ACTIONS; i++)
        CHECK(pthread_create(&threads[i], NULL, act, (void *)&actions[i]) == 0);
    for (unsigned i = 0; i < ACTIONS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    int started = wallprof_start();
    CHECK(started == 0 || started == WALLPROF_ALREADY); /* so something is recorded at the end */
    if (strcmp(arguments[1], "leave") == 0) {
        pthread_detach(pthread_self());
        CHECK(pthread_create(&threads[0], NULL, act, (void *)&actions[4]) == 0);
        pthread_exit(NULL);
    }
    for (unsigned i = 2; i < ACTIONS; i++)
        CHECK(pthread_create(&threads[i], NULL, go_on, (void *)&actions[i]) == 0);
    end(arguments[1]);
    return failures ? 1 : 0;
}
