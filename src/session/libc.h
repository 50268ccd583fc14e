/*
 * The C library's functions under our hooks (libc.def). The hooks call them, and so does the session, whose
 * own calls would otherwise meet the hooks.
 *
 * They are looked up at the first use, because hooks are called before our constructor runs (other libraries'
 * constructors come first). Nothing is allocated on the way to a function that exists. Any thread;
 * idempotent, hence without a lock.
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

/* Only for libc(). */
extern struct libc_table {
    struct libc functions;
    int is_resolved; /* atomic; several threads may resolve at once, to the same values */
} libc_table __attribute__((visibility("hidden")));

const struct libc *libc_resolve(void);

static inline const struct libc *libc(void)
{
    if (__builtin_expect(__atomic_load_n(&libc_table.is_resolved, __ATOMIC_ACQUIRE), 1)) /* partner: libc.c */
        return &libc_table.functions;
    return libc_resolve();
}

#endif
