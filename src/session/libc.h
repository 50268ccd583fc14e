/*
 * The C library's functions under our hooks (libc.def). The hooks call them, and so does the session, whose
 * own calls would otherwise meet the hooks.
 *
 * They are looked up at the first use, because hooks are called before our constructor runs (other libraries'
 * constructors come first). Nothing is allocated on the way to a function that exists, so one that this C
 * library is too old for is not looked up by dlsym. A program can still find our hook of it by name; the hook
 * then fails with ENOSYS, as a kernel that lacks the call would. Any thread; idempotent, hence without a
 * lock.
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
#define LIBC(type, name, parameters)              type(*name) parameters;
#define LIBC_SINCE(minor, type, name, parameters) type(*name) parameters;
#define LIBC_APART                                LIBC_SINCE
#define LIBC_ONLY                                 LIBC_SINCE
#define HOOK(name)
#define PUBLIC(name)
#include "libc.def"
#undef LIBC
#undef LIBC_SINCE
#undef LIBC_APART
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

/* The same, for the functions of LIBC_APART. Before glibc 2.34 their libraries may be loaded long after us,
 * and for a part of the program only. A library that is found stays loaded. */
const struct libc *libc_apart(void);

static inline const struct libc *libc(void)
{
    if (__builtin_expect(__atomic_load_n(&libc_table.is_resolved, __ATOMIC_ACQUIRE), 1)) /* partner: libc.c */
        return &libc_table.functions;
    return libc_resolve();
}

#endif
