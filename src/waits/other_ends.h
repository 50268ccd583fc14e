/*
 * Who has the other end of a pipe, or of a unix socket's connection: "pipe from sort (pid 12)", "pipe within
 * this process", "unix /run/x.sock".
 *
 * The ends of a pipe have one inode, and the descriptors' links say who has which (relatives.h). A socket's
 * peer is told by the kernel (unix_peers.h). If that has a path, it is called by it, else by who has it.
 *
 * Where one of the processes does not show its descriptors (another user, hidepid), or there is too much to
 * read, "within this process" is not said.
 *
 * A pipe or socket whose other end only another process has is looked for once. Any other is looked for again
 * after 1 s, 2 s, 4 s, and then every 8 s. All of it costs what reading_credit.h allows. Links are read as in
 * objects.h.
 *
 * Called from: the sampler thread. Scratch memory, from the first one on.
 */
#ifndef WALLPROF_OTHER_ENDS_H
#define WALLPROF_OTHER_ENDS_H

#include "reading_credit.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { OTHER_END_BYTES = 160 };

struct other_ends {
    struct other_ends_memory *memory; /* owned */
    struct reading_credit credit;
    uint64_t again_ns; /* when what was said last is to be asked again; UINT64_MAX: it stays */
};

/* A thread's descriptor. task_directory: an open /proc/self/task. */
struct near_end {
    int task_directory;
    pid_t tid;
    int descriptor;
    const char *link; /* its link: "pipe:[4711]", "socket:[4711]" */
    uint64_t inode;
};

/* False, and ret is as it was, if it is not known. */
bool other_ends_pipe(struct other_ends *ends, const struct near_end *near, uint64_t now_ns,
                     char ret[OTHER_END_BYTES]);
bool other_ends_unix(struct other_ends *ends, const struct near_end *near, uint64_t now_ns,
                     char ret[OTHER_END_BYTES]);
void other_ends_deinit(struct other_ends *ends);

#endif
