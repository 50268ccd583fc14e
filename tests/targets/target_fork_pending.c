/*
 * Forks while a signal that is sent to the whole process group arrives again and again, so that it is pending
 * in most children when they begin. Its handler allocates. A program of one thread may rely on that.
 *
 *     target_fork_pending COUNT
 *
 * Until COUNT children have run the handler before anything else, or have hung. Status 0: none hung.
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
    ALLOCATED_BYTES = 5000,  /* more than the thread's own cache has, so that a lock is taken */
    COPIED_BYTES = 16 << 20, /* so that a fork takes a while */
    HANG_S = 600             /* a child takes milliseconds */
};

static pid_t parent, child;
static volatile sig_atomic_t handled, hung;
static volatile sig_atomic_t has_forked; /* in the child: fork has returned */

static void allocate(int number)
{
    (void)number;
    if (getpid() == parent)
        return;
    void *volatile memory = malloc(ALLOCATED_BYTES);
    free(memory);
    handled |= !has_forked;
}

static void kill_child(int number)
{
    (void)number;
    hung++;
    kill(child, SIGKILL);
}

/* A signal of real time, since one of these is queued for a child that is being made even if its parent
 * blocks it and has one pending. */
static int number(void)
{
    return SIGRTMIN + 5;
}

static void send_until_parent_ends(void)
{
    signal(number(), SIG_IGN);
    while (getppid() == parent) {
        kill(0, number());
        usleep(100);
    }
    _exit(0);
}

static int run_child(void)
{
    has_forked = 1;
    return handled;
}

static int wait_for_child(void)
{
    int status;
    alarm(HANG_S);
    while (waitpid(child, &status, 0) < 0)
        ;
    alarm(0);
    return status;
}

int main(int count, char **arguments)
{
    int wanted = count > 1 ? atoi(arguments[1]) : 100, forks = 0, seen = 0;
    char *memory = malloc(COPIED_BYTES);
    memset(memory, 1, COPIED_BYTES);
    CHECK(setpgid(0, 0) == 0 || getpgrp() == getpid());
    parent = getpid();
    signal(number(), allocate);
    signal(SIGALRM, kill_child);
    pid_t sender = fork();
    if (sender == 0)
        send_until_parent_ends();
    for (; seen + hung < wanted; forks++) {
        child = fork();
        if (child == 0)
            _exit(run_child());
        int status = wait_for_child();
        seen += WIFEXITED(status) && WEXITSTATUS(status) == 1;
    }
    kill(sender, SIGKILL);
    printf("%d forks, %d with a pending signal, %d hung\n", forks, seen, (int)hung);
    return hung > 0;
}
