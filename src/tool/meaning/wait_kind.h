/*
 * What a waiting thread waits for, by the names of the functions that it waits in. They are the C library's,
 * from the one around the system call outwards.
 *
 * Called from: the encoders. Names as in glibc's and musl's symbol tables, with or without their underscores,
 * versions (@@GLIBC_2.34) and suffixes (_nocancel, 64).
 */
#ifndef WALLPROF_WAIT_KIND_H
#define WALLPROF_WAIT_KIND_H

#include <stdbool.h>

enum wait_kind {
    WAIT_OTHER,     /* for anything else, or for a CPU */
    WAIT_LOCK,      /* a mutex, a read-write lock, a futex of unknown use */
    WAIT_CONDITION, /* a condition variable, a semaphore, a barrier: until there is something to do */
    WAIT_SLEEP,
    WAIT_POLL,   /* poll, select */
    WAIT_EVENTS, /* epoll, accept */
    WAIT_SOCKET, /* recv, send, connect */
    WAIT_FILE,   /* reading and writing what may be no socket, and what else is done with files */
    WAIT_CHILD,  /* for a process or a thread to end */
    WAIT_SIGNAL,
    WAIT_CPU,     /* for a CPU: run delay, whatever the functions */
    WAIT_IDLE,    /* for work */
    WAIT_STOPPED, /* the whole process, by a signal, a debugger or a frozen cgroup */
    WAIT_UNSEEN,  /* nobody knows, as below [unsampled] */
    WAIT_KIND_COUNT
};

/* "lock", "condition", and so on. */
extern const char *const wait_kind_words[WAIT_KIND_COUNT];

/* What is known after some of the stack's functions. It begins as all zero. */
struct wait_guess {
    enum wait_kind kind;
    bool is_begun;
};

/* Adds the next function outwards. False when the functions further out say no more about the wait. */
bool wait_guess_add(struct wait_guess *guess, const char *function);

/*
 * A function that many runtimes and servers wait in, and what for: a lock that is made of a condition, a
 * pool's queue. What it calls to wait says less than it does. function: as demangled, with or without
 * arguments.
 */
bool wait_machine_of(const char *function, enum wait_kind *ret);

/* Whether what polls in the function waits for the network, whatever else the function is used for. */
bool wait_machine_polls(const char *function);

/* Whether a machine is the interpreter's lock. Who waits for that has got what is waited for around it. */
bool wait_machine_is_gil(const char *function);

/*
 * The same for a function of a script, by its file. *ret_is_own: what it waits for itself; a function of a
 * script that it calls may wait for anything.
 */
bool wait_machine_of_script(const char *file, const char *function, enum wait_kind *ret, bool *ret_is_own);

/* Whether a wait of this kind is for work. is_outermost: the thread does little but wait there. */
bool wait_kind_is_for_work(enum wait_kind kind, bool is_outermost);

#endif
