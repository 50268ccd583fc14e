/*
 * What a unix socket is connected to, as the kernel tells it through a socket of ours (sock_diag(7)). The
 * program's own sockets are not touched.
 *
 * Nothing is asked under a seccomp filter, which might end the process for socket(2).
 *
 * Called from: the sampler thread, with a descriptor table of its own.
 */
#ifndef WALLPROF_UNIX_PEERS_H
#define WALLPROF_UNIX_PEERS_H

#include <stdbool.h>
#include <stdint.h>

enum { UNIX_PATH_BYTES = 112 };

struct unix_peer {
    uint32_t inode;
    char path[UNIX_PATH_BYTES]; /* "": it has none; @NAME: not in the file system */
};

/* False where the kernel does not tell. task_directory: an open /proc/self/task. */
bool unix_peer_find(int task_directory, uint64_t inode, struct unix_peer *ret);

#endif
