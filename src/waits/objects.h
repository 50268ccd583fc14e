/*
 * What a thread waits for that is no lock: "tcp 10.0.0.7:5432", "file /var/lib/x.db", "child 1234 make".
 *
 * It is asked once for each wait, and answered by the files of /proc. Nothing is done with the program's
 * descriptors: their links are read (proc_fd_link in fs/proc/fd.c), as ps and lsof do.
 *
 * The members of an epoll set are read at most every 0.1 s for a thread. The kernel holds the set's lock
 * while it writes them, so once a large set has been met no set is read any more.
 *
 * A child's program may be what its parent was, if it is asked before the child has executed another one.
 *
 * Called from: the sampler thread, with a descriptor table of its own.
 */
#ifndef WALLPROF_OBJECTS_H
#define WALLPROF_OBJECTS_H

#include "blocking_calls.h"
#include "known_objects.h"
#include "object_sets.h"
#include "other_ends.h"
#include "sockets.h"
#include "told_apart.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { OBJECTS_EPOLLS = 16 };

struct objects {
    struct known_objects known;
    struct sockets sockets;
    struct other_ends ends;
    struct epoll_name {
        pid_t tid; /* 0: none */
        int descriptor;
        uint64_t due_ns;   /* when to look again, if somebody asks */
        uint64_t again_ns; /* as below */
        char name[KNOWN_OBJECT_BYTES];
    } epolls[OBJECTS_EPOLLS]; /* by both */
    bool has_large_epolls;    /* then no set is read any more */
    struct told_apart children;
    uint64_t again_ns; /* when what was asked last is to be asked again, though it is still waited for;
                        * UINT64_MAX: its name stays */
};

/* A thread that is blocked in a system call. task_directory: an open /proc/self/task. */
struct object_wait {
    int task_directory;
    pid_t tid;
    long number;
    const uint64_t *arguments;
};

/* False if it is not known. Sets objects->again_ns in any case. */
bool objects_name(struct objects *objects, const struct object_wait *wait, uint64_t now_ns,
                  char ret[KNOWN_OBJECT_BYTES]);
void objects_deinit(struct objects *objects);

#endif
