/*
 * The recorder of a program that `wallprof run` records from outside (tool/attach/attach_child.h), as a child
 * of ours beside the program.
 *
 * Called from: cmd_run.c, which has one thread: all signals are blocked from run_external_start on.
 */
#ifndef WALLPROF_RUN_EXTERNAL_H
#define WALLPROF_RUN_EXTERNAL_H

#include "tool/run/run_child.h"
#include "tool/run/run_directory.h"

#include <sys/types.h>

struct run_external {
    int talk[2];  /* a socket: the program's end before its exec, and the recorder's */
    int ended[2]; /* a pipe to the recorder: how the program has ended */
    pid_t recorder;
};

/* Before the program is started. 0 or the status of the refusal: it cannot be recorded from outside. */
int run_external_begin(struct run_external *ret, struct refusal *refusal);

/* struct run_program's hold; context: the struct run_external. */
int run_external_hold(void *context);

/* Starts the recorder of a program that has been started. Of the descriptors here only ended[1] is used
 * afterwards. */
void run_external_start(struct run_external *external, const struct run_child *child,
                        struct run_directory *directory);

/* The program has ended. Returns when its recording is complete. */
void run_external_end(struct run_external *external, const struct run_child *child);

/* The program was not started, as the recorder could not trace it: why, as a refusal. Returns its status. */
int run_external_refuse(const char *program, int error, struct refusal *refusal);

#endif
