/*
 * The C library's functions under our hooks.
 *
 * Resolved at the first use, because hooks are called before our constructor runs (other libraries'
 * constructors come first). dlsym allocates nothing on the way to a function that exists. Any thread;
 * idempotent, hence without a lock.
 */
#ifndef WALLPROF_REAL_H
#define WALLPROF_REAL_H

#include "session/libc.h"

typedef void real_handler_fn(int);

/* Only for real_functions. */
extern struct real_table {
    struct libc functions;
    int is_resolved; /* atomic; several threads may resolve at once, to the same values */
} real_table __attribute__((visibility("hidden")));

const struct libc *real_resolve(void);

static inline const struct libc *real_functions(void)
{
    if (__builtin_expect(__atomic_load_n(&real_table.is_resolved, __ATOMIC_ACQUIRE), 1)) /* see real.c */
        return &real_table.functions;
    return real_resolve();
}

/* What the functions of _FORTIFY_SOURCE call when a buffer is too small: ends the program. */
extern void __chk_fail(void) __attribute__((noreturn));

/* An interposed function: visible from outside, whatever the other functions are compiled with. */
#define WALLPROF_HOOK __attribute__((visibility("default")))

/* A hook that waits, or a part of it that waits. The handler knows it by the section of its code
 * (sig_wait.h). */
#define WALLPROF_WAIT      __attribute__((section("wallprof_waits")))
#define WALLPROF_WAIT_HOOK WALLPROF_HOOK WALLPROF_WAIT

/* Another name of a hook that may wait, as the C library exports it. */
#define WALLPROF_ALSO(name, function)                                                                        \
    extern __typeof__(function) name __attribute__((alias(#function), visibility("default")))

#endif
