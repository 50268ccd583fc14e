#include "mcp_child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 20, TERM_MS = 5000, WRITE_MS = 60000, READ_BYTES = 16384 };

/* How far the end of a child that is to be stopped has been brought. */
enum stage { RUNS, TOLD, KILLED_PROGRAM, KILLED };

struct running {
    const struct mcp_child *child;
    struct mcp_watch *watch;
    struct mcp_text *texts[2];
    int pipes[2]; /* -1 at their end */
    pid_t pid;
    int status;
    int64_t due_ms; /* of the next stage */
    enum stage stage;
    enum mcp_end end;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the start ---- */

_Noreturn static void become(const struct mcp_child *child, pid_t parent, const int ends[2])
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it has ended already */
        _exit(1);
    dup2(null, STDIN_FILENO);
    dup2(ends[0], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    if (!child->directory || chdir(child->directory) == 0)
        execv(child->path, child->argv);
    dprintf(STDERR_FILENO, "%s: %m\n", child->directory ? child->directory : child->path);
    _exit(127);
}

/* False: there is no child. */
static bool start(struct running *running)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    const pid_t own = getpid();
    bool has_pipes = pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
    running->pid = has_pipes ? fork() : -1;
    if (running->pid == 0)
        become(running->child, own,
               (const int[]){out[1], running->texts[1] == running->texts[0] ? out[1] : err[1]});
    close(out[1]);
    close(err[1]);
    running->pipes[0] = out[0];
    running->pipes[1] = err[0];
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    return running->pid > 0;
}

/* ---- the end ---- */

/* Sends a signal to all of a child's session but itself: to what it runs. Returns to how many. */
static int signal_others(pid_t session, int number)
{
    int count = 0;
    DIR *processes = opendir("/proc");
    for (const struct dirent *entry; processes && (entry = readdir(processes));) {
        pid_t pid = atoi(entry->d_name);
        if (pid > 0 && pid != session && getsid(pid) == session)
            count += kill(pid, number) == 0;
    }
    if (processes)
        closedir(processes);
    return count;
}

/* The program is told to end, then killed; then the child has time to write its profile. */
static void bring_to_end(struct running *running)
{
    const int64_t waits_ms[] = {[TOLD] = TERM_MS, [KILLED_PROGRAM] = WRITE_MS, [KILLED] = WRITE_MS};
    running->stage = running->child->is_run && running->stage < KILLED ? running->stage + 1 : KILLED;
    running->due_ms = now_ms() + waits_ms[running->stage];
    const int number = running->stage == TOLD ? SIGTERM : SIGKILL;
    const int others = signal_others(running->pid, number);
    if (running->stage == KILLED || others == 0)
        kill(running->pid, number);
}

static void stop(struct running *running, enum mcp_end end)
{
    running->end = end;
    bring_to_end(running);
}

/* ---- meanwhile ---- */

/* Reads what there is. */
static void drain(struct running *running, int i)
{
    char bytes[READ_BYTES];
    ssize_t count;
    while (running->pipes[i] >= 0 && (count = read(running->pipes[i], bytes, sizeof bytes)) != 0) {
        if (count < 0 && errno != EINTR)
            return;
        if (count > 0)
            mcp_text_add(running->texts[i], bytes, (size_t)count);
    }
    if (running->pipes[i] >= 0)
        close(running->pipes[i]);
    running->pipes[i] = -1;
}

static void look(struct running *running)
{
    struct mcp_watch *watch = running->watch;
    struct pollfd fds[] = {{running->pipes[0], POLLIN, 0},
                           {running->pipes[1], POLLIN, 0},
                           {running->stage == RUNS ? watch->fd : -1, POLLIN, 0}};
    poll(fds, 3, LOOK_MS);
    drain(running, 0);
    drain(running, 1);
    if (fds[2].revents && !watch->goes_on(watch))
        stop(running, MCP_STOPPED);
    else if (now_ms() >= running->due_ms && running->stage == RUNS)
        stop(running, MCP_LATE);
    else if (now_ms() >= running->due_ms)
        bring_to_end(running);
}

enum mcp_end mcp_child_run(const struct mcp_child *child, struct mcp_watch *watch, struct mcp_text *out,
                           struct mcp_text *err, int *ret_status)
{
    struct running running = {.child = child,
                              .watch = watch,
                              .texts = {out, err},
                              .due_ms = now_ms() + INT64_C(1000) * child->limit_s,
                              .end = MCP_ENDED};
    if (!start(&running))
        running.end = MCP_NOT_STARTED;
    else
        while (waitpid(running.pid, ret_status, WNOHANG) != running.pid)
            look(&running);
    if (running.stage != RUNS)
        signal_others(running.pid, SIGKILL);
    for (int i = 0; i < 2; i++) {
        drain(&running, i);
        if (running.pipes[i] >= 0)
            close(running.pipes[i]);
    }
    mcp_text_finish(out);
    if (err != out)
        mcp_text_finish(err);
    return running.end;
}
