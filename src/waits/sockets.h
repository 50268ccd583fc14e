/*
 * What sockets are called, by their inode, which is all that a descriptor's link tells of one.
 *
 * The names are found in the tables of /proc/PID/net, of the network namespace that the waiting thread is in.
 * So no reference to a socket is ever taken: pidfd_getfd(2) would tell the same at once, but if the program
 * closed the socket meanwhile, ours would be the last close. The connection would end later than the program
 * knows, its port would stay taken, SO_LINGER would not be waited for, and an epoll set could still report
 * it.
 *
 * A table of TCP is a pass over all connections of the machine. It takes 2 ms where there are few, and more
 * where there are many. So a reading keeps what it has found, each reading ends after 10 ms of CPU time, and
 * all together take what reading_credit.h allows. A socket that no table had is looked for again after a
 * second.
 *
 * The inode of a socket is used again only after four billion others. A name is kept for that of a TCP socket
 * as long as it is not displaced, and for a second for others, which may be given other peers.
 *
 * Called from: the sampler thread. Scratch memory, from the first socket on.
 */
#ifndef WALLPROF_SOCKETS_H
#define WALLPROF_SOCKETS_H

#include "reading_credit.h"
#include "socket_rows.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SOCKETS_KEPT = 4096, SOCKETS_NAMED = 512, SOCKETS_PORT_BYTES = SOCKET_PORTS / 8 };

struct sockets {
    struct socket_memory *memory; /* owned */
    struct reading_credit credit;
    uint64_t again_ns; /* when what was not paid for now is to be asked again; UINT64_MAX: it was */
};

/* The name of a socket that a thread of ours waits for; "" if it is not known. task_directory: an open
 * /proc/self/task. */
void sockets_find(struct sockets *sockets, int task_directory, pid_t tid, uint64_t inode, uint64_t now_ns,
                  char ret[SOCKET_NAME_BYTES]);
void sockets_deinit(struct sockets *sockets);

#endif
