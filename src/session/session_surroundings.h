/*
 * What the sampler thread has around it: its directories and its descriptor table, apart from the program's.
 *
 * Owned by the sampler thread, or by the thread that creates or has joined it (session_internal.h).
 */
#ifndef WALLPROF_SESSION_SURROUNDINGS_H
#define WALLPROF_SESSION_SURROUNDINGS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct session_surroundings {
    pthread_t thread; /* the sampler */
    bool is_resumed;  /* it is not the first one */
    bool has_own_descriptors;
    bool has_fillers;        /* /dev/null as 0, 1 and 2 of these */
    int stderr_handle;       /* of the program's stderr, among them; -1: none */
    uint32_t loader_is_free; /* atomic, futex: the probe has come back (session_child.c) */
    bool has_probe;          /* the probe waits for the loader's lock for ever */
};

/* Gives the calling thread a short time slice, exact timers, directories and descriptors of its own;
 * is_strict: nothing of it, as that takes unusual system calls. */
void session_surroundings_enter(struct session_surroundings *surroundings, bool is_strict);

/* Whether the calling process can have a thread with descriptors of its own. */
bool session_surroundings_can_leave(void);

/* Before a file is written: closes 0 to 2 if RLIMIT_NOFILE is so low by now that every number counts. */
void session_surroundings_free_descriptors(struct session_surroundings *surroundings);

#endif
