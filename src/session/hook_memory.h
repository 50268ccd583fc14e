/*
 * What hooks remember from one call of the program to the next. It is the process's, whether there is a
 * recording or not, and a forked child goes on with its parent's.
 *
 * Called from: hooks, in any thread, also in signal handlers.
 */
#ifndef WALLPROF_HOOK_MEMORY_H
#define WALLPROF_HOOK_MEMORY_H

#include "elf/program.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct environment; /* config/environment.h */

struct hook_memory {
    const struct environment *hidden; /* what session_start took out of the environment; NULL: nothing */
    const char *library_path;         /* what we were loaded from; NULL: unknown */
    const char *library;              /* its last part; NULL: unknown */
    struct program_loader loader;     /* this and the three above: written at the start only */
    uint64_t interrupting;            /* atomic, relaxed: signals of siginterrupt(); signal() uses them */
    int32_t ignoring;                 /* atomic: threads that need our signal to be ignored now */
    struct _pthread_cleanup_buffer main_end; /* in the C library's list of the main thread */
    bool has_filter; /* atomic, relaxed: the program has installed a filter of system calls; no partner */
    bool has_time_limits; /* atomic, relaxed: some socket has been given a limit; a hint, so no partner */
};

/* Only for hook_memory(). */
extern struct hook_memory hook_memory_of_process __attribute__((visibility("hidden")));

/* Inline, because the hooks of transfers read it at every call. */
static inline struct hook_memory *hook_memory(void)
{
    return &hook_memory_of_process;
}

#endif
