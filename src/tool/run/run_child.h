/*
 * The program as a child of `wallprof run`, in its process group: it starts as it would have started in our
 * place, and every signal that is sent to us reaches it.
 *
 * Called from: cmd_run.c, which has one thread, and run_end.c and run_external.c for it; run_tool also for
 * attach --follow. All signals are blocked in it from the start of the program
 * on; they wait until they are handed on, and those that come later change nothing any more.
 */
#ifndef WALLPROF_RUN_CHILD_H
#define WALLPROF_RUN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* What is started. */
struct run_program {
    const char *path;
    char **argv;
    const char *library; /* preloaded; NULL: nothing is */

    /* Called in the child before it becomes the program, with all signals blocked. 0, or an errno: then it
     * does not. NULL: nothing is called. */
    int (*hold)(void *context);
    void *hold_context;
};

struct run_child {
    pid_t pid;
    int status;       /* as waitpid gives it */
    int *exec_error;  /* errno of the exec, shared with the child; 0: the program was started */
    int *hold_error;  /* what hold has returned, likewise */
    int stop_signal;  /* of the terminal: the last that has come to us, 0 since it was continued */
    bool is_stopped;  /* the program is */
    bool was_stopped; /* we were, with it */
};

/* Replaces this process by the program. Returns errno. */
int run_child_become(const struct run_program *program);

/* Starts it. 0 or -errno. */
int run_child_start(struct run_child *ret, const struct run_program *program);

/* Closes what we have of its streams, except stderr, so that a pipe ends when the program closes it; and all
 * other descriptors but those that are kept. */
void run_child_drop_streams(const int *kept, int count);

/* Hands on signals until the program has ended. */
void run_child_await(struct run_child *child);

/* Ends this process as the program has ended: with its status, or by its signal. */
_Noreturn void run_child_leave(const struct run_child *child);

/* Runs `wallprof` with these arguments, to its end. What it prints goes to descriptor `output`. `inherited`
 * is open in it, unless that is -1. The keyboard neither ends nor stops it: we wait for it, and
 * our parent would not see that it has stopped. */
void run_tool(char *const *argv, int output, int inherited);

#endif
