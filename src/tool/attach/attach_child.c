#include "attach_child.h"
#include "attach.h"
#include "attach_store.h"
#include "base/number_names.h"
#include "tool/io/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- before the exec ---- */

static bool say(int talk, int word)
{
    return send(talk, &word, sizeof word, MSG_NOSIGNAL) == (ssize_t)sizeof word;
}

/* False: the other end is gone. */
static bool hear(int talk, int *ret)
{
    ssize_t bytes;
    do
        bytes = recv(talk, ret, sizeof *ret, MSG_WAITALL);
    while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof *ret;
}

int attach_child_hold(int talk)
{
    int recorder, error;
    if (!hear(talk, &recorder))
        return 0;
    prctl(PR_SET_PTRACER, (unsigned long)recorder, 0, 0, 0); /* fails where there is no Yama */
    return say(talk, 0) && hear(talk, &error) ? error : 0;
}

/* ---- up to the exec ---- */

/* A stop on the way: by a signal, which is passed on, or of job control, which stays in force. */
static void pass_stop(pid_t pid, int status)
{
    const bool is_group_stop = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
    const long signal = status >> 16 ? 0 : WSTOPSIG(status);
    ptrace(is_group_stop ? PTRACE_LISTEN : PTRACE_CONT, pid, NULL, (void *)signal);
}

/* False: the child has ended before. */
static bool await_exec(pid_t pid)
{
    int status;
    for (;;) {
        const pid_t reported = waitpid(pid, &status, __WALL);
        if (reported < 0 && errno == EINTR)
            continue;
        if (reported != pid || !WIFSTOPPED(status))
            return false;
        if (status >> 16 == PTRACE_EVENT_EXEC)
            return true;
        pass_stop(pid, status);
    }
}

/* False: there is nothing to be recorded. */
static bool seize(const struct attach_child *child)
{
    int ready;
    if (!say(child->talk, getpid()) || !hear(child->talk, &ready))
        return false;
    const int error =
        ptrace(PTRACE_SEIZE, child->pid, NULL, (void *)(long)PTRACE_O_TRACEEXEC) < 0 ? errno : 0;
    const bool is_seized = say(child->talk, error) && error == 0;
    close(child->talk);
    return is_seized && await_exec(child->pid);
}

/* ---- the recording ---- */

/* The words of a process that was killed, as `wallprof gather` has them (left_store.h). */
static void describe_end(struct attach *attach, int status)
{
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *name = number ? signal_name(number) : NULL;
    *attach->ending = '\0';
    if (name)
        snprintf(attach->ending, sizeof attach->ending, "killed by signal %d (%s)", number, name);
    else if (number)
        snprintf(attach->ending, sizeof attach->ending, "killed by signal %d", number);
}

static int record_held(struct attach *attach, const struct attach_child *child, bool *ret_has_parent)
{
    int status = 0, error = attach_init(attach);
    if (error == 0)
        error = attach_record_held(attach);
    if (error < 0)
        attach_let_go(child->pid);
    else if (attach->has_ended) {
        *ret_has_parent = read(child->ended, &status, sizeof status) == (ssize_t)sizeof status;
        describe_end(attach, status);
    }
    if (error == 0)
        error = attach_store_end(attach);
    attach_deinit(attach);
    return error;
}

/* As WALLPROF_FOLLOW asks for it. From outside fork and exec are the same. */
static void follow_children(struct attach *attach)
{
    if (!attach->config->follows_fork && !attach->config->follows_exec)
        return;
    if (!attach_follow_is_possible())
        command_fail("this kernel does not tell who is whose child (CONFIG_PROC_CHILDREN): children of the "
                     "program are not recorded");
    else if (attach_follow_begin(&attach->follow, attach->run, true) < 0)
        attach->follow.is_on = false;
}

bool attach_child_record(const struct attach_child *child)
{
    static struct config config;
    static struct log log;
    static struct attach attach;
    bool has_parent = true;
    if (!seize(child))
        return true;
    int error = attach_open(&attach, child->pid, &config, &log);
    attach.is_held = attach.is_deaf = true;
    attach.run = child->run;
    unsetenv("LD_PRELOAD"); /* for recorders of its children, which are the tool */
    if (error == 0) {
        follow_children(&attach);
        error = record_held(&attach, child, &has_parent);
    } else
        attach_let_go(child->pid);
    if (attach.follow.is_on && !attach_follow_end(&attach.follow))
        attach_follow_complain(child->pid);
    if (error < 0)
        attach_fail(&attach, error);
    log_flush(&log);
    return has_parent;
}
