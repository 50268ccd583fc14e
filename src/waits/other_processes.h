/*
 * Holders of locks that are threads of other processes, by /proc: "writer (pid 7)".
 *
 * A tid alone proves nothing: its thread may be in another namespace, or have died and left the tid to
 * another one. So a thread is named only if it lives, and its process has mapped the very memory that the
 * lock is in. Where /proc does not show that (hidepid, another user), nobody is named.
 *
 * The maps of both processes are read once for a lock and a holder. That the holder lives is read again after
 * 0.1 s: one that has died since is still named until then.
 *
 * Called from: the sampler thread, with a descriptor table of its own.
 */
#ifndef WALLPROF_OTHER_PROCESSES_H
#define WALLPROF_OTHER_PROCESSES_H

#include "profile/tree.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { OTHER_PROCESSES_KEPT = 16, OTHER_PROCESSES_NAME_BYTES = 48 };

struct other_processes {
    struct other_holder {
        pid_t tid;                             /* 0: none */
        uint64_t address;                      /* of the lock */
        uint64_t start;                        /* when its thread began, as the kernel counts */
        uint64_t due_ns;                       /* when to look again */
        char name[OTHER_PROCESSES_NAME_BYTES]; /* "": nobody is named */
    } kept[OTHER_PROCESSES_KEPT];              /* by tid and address */
};

/* The name of a thread of another process that holds a lock between processes; NULL: it cannot be told. */
const char *other_processes_holder(struct other_processes *processes, pid_t tid, uint64_t address,
                                   uint64_t now_ns);

#endif
