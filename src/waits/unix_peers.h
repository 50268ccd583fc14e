/*
 * What a unix socket is connected to, as the kernel tells it through a socket of ours (sock_diag(7)). The
 * program's own sockets are not touched.
 *
 * Nothing is asked under a seccomp filter, which might end the process for socket(2). It is not asked either
 * where the kernel would have to load a module (unix_diag.h), once it was refused, or by `wallprof attach`:
 * the process that is recorded may be in another network namespace.
 *
 * Called from: the sampler thread, with a descriptor table of its own.
 */
#ifndef WALLPROF_UNIX_PEERS_H
#define WALLPROF_UNIX_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { UNIX_PATH_BYTES = 112 };

struct unix_peer {
    uint32_t inode;
    char path[UNIX_PATH_BYTES]; /* "": it has none; @NAME: not in the file system */
};

/* Whether it may be asked. Zeroed memory: not known yet. */
struct unix_peers {
    enum { UNIX_PEERS_NEW, UNIX_PEERS_ABSENT, UNIX_PEERS_THERE, UNIX_PEERS_REFUSED } state;
};

/* False where the kernel does not tell. task_directory: an open /proc/self/task. tid: the thread that waits.
 */
bool unix_peer_find(struct unix_peers *peers, int task_directory, pid_t tid, uint64_t inode,
                    struct unix_peer *ret);

#endif
