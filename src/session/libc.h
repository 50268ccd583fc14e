/*
 * The C library's functions under our hooks (libc.def): what we call so as not to meet ourselves.
 */
#ifndef WALLPROF_LIBC_H
#define WALLPROF_LIBC_H

#include <aio.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>

struct libc {
#define LIBC(type, name, parameters) type(*name) parameters;
#define LIBC_ONLY                    LIBC
#define HOOK(name)
#define PUBLIC(name)
#include "libc.def"
#undef LIBC
#undef LIBC_ONLY
#undef HOOK
#undef PUBLIC
};

#endif
