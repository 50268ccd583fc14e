/*
 * Records a process from outside (tool/attach) into a store that is read meanwhile.
 *
 * The recording is made by a child of ours, in a process group of its own: so it goes on while the terminal
 * has stopped us, and no thread of the process is left standing still then. It ends when we end, however.
 *
 * Called from: live_source.c.
 */
#ifndef WALLPROF_LIVE_RECORDER_H
#define WALLPROF_LIVE_RECORDER_H

#include <stdbool.h>
#include <sys/types.h>

struct live_recorder {
    pid_t child;  /* 0: there is none */
    int store;    /* of the recording */
    int messages; /* of the child */
};

/* 0; or 1 after a message. We have a single thread. */
int live_recorder_begin(struct live_recorder *recorder, pid_t pid);

/* The recording has ended: with its process, or because it could not go on. live_recorder_end says why not;
 * that the recorder was killed is said here. */
bool live_recorder_has_ended(struct live_recorder *recorder);

/* Ends it, waits until it has, and says what it had to say. The store stays open. */
void live_recorder_end(struct live_recorder *recorder);

#endif
