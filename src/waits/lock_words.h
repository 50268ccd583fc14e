/*
 * What the words of a lock say: whether a futex that a thread waits for is a lock's, and who holds that.
 *
 * A thread that waits for a lock of the C library is blocked in futex(2). The address that it waits at is a
 * word of the lock, and the words beside it say who holds the lock. They are copied together with the
 * thread's stack (sig_memory_copy_some), at one moment between two readings of its run count. So the thread
 * waited at that moment, and the holder that the words name held the lock.
 *
 *  - A mutex's holder writes itself down after it has locked the mutex, and takes that back before it unlocks
 *    it. So one word that names a holder is true at the moment at which it was read. A locked mutex without a
 *    holder is being handed over: then nobody is named.
 *  - A mutex that is robust, or inherits priorities, is locked by writing the holder into the futex word.
 *  - A lock for readers and writers names the writer. Its readers are not named anywhere.
 *
 * Some functions of the C library that wait for a mutex, a semaphore or a thread have no name in it: a jump
 * leads into them, which no stack shows. There all words must agree.
 *
 * Conditions, semaphores and barriers have no holder: there only where they begin is told. Of a thread that
 * is joined the kernel clears the word that is waited for, and what is expected there is its tid.
 *
 * Pure functions. Source: glibc, nptl/pthread_mutex_lock.c, pthread_mutex_unlock.c, pthread_rwlock_common.c
 * (2.17 to 2.41; the words have been where they are since 2.0, those of a pthread_rwlock_t since 2.25);
 * pthread_cond_wait.c (since 2.25; the words that are waited for are at 40, since 2.41 at 32),
 * pthread_barrier_wait.c, sem_waitcommon.c, pthread_join_common.c.
 */
#ifndef WALLPROF_LOCK_WORDS_H
#define WALLPROF_LOCK_WORDS_H

#include "sig/sys/sig_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Locks, and what else of the C library is waited for by a futex. */
enum lock_kind {
    LOCK_UNKNOWN,
    LOCK_MUTEX,
    LOCK_RWLOCK,
    LOCK_FUTEX,
    LOCK_CONDITION,
    LOCK_SEMAPHORE,
    LOCK_BARRIER,
    LOCK_JOIN, /* a thread's end */
    LOCK_KINDS
};

/* What the stack says a thread waits in (lock_functions.h). */
enum lock_role {
    LOCK_ROLE_SEMAPHORE,
    LOCK_ROLE_BARRIER,
    LOCK_ROLE_JOIN,
    LOCK_ROLE_MUTEX,     /* a function that waits for nothing but its mutex */
    LOCK_ROLE_READER,    /* for a lock for readers and writers */
    LOCK_ROLE_WRITER,    /* likewise */
    LOCK_ROLE_LIBRARY,   /* another function of the C library: it is what all its words agree on */
    LOCK_ROLE_CONDITION, /* a mutex if all its words agree, as that is locked again at the end; else a
                            condition */
    LOCK_ROLE_FUTEX,     /* the program's own call */
};

/* Of a lock, the bytes around the word that is waited for. */
enum { LOCK_BYTES_BEFORE = 12, LOCK_BYTES = 44 };

struct lock_words {
    struct sig_memory_piece piece; /* from where, and how much was copied to: */
    unsigned char bytes[LOCK_BYTES];
};

/* The lock that a thread waits for. */
struct lock_found {
    enum lock_kind kind;  /* LOCK_UNKNOWN: none */
    uint64_t address;     /* of the lock */
    uint64_t holder_at;   /* of the word that names its holder; 0: none does */
    uint32_t holder_word; /* that word */
    pid_t holder;         /* the holder's tid; 0: nobody is named */
    pid_t joined;         /* of LOCK_JOIN: the tid of the thread whose end is waited for */
    bool is_shared;       /* between processes */
    bool is_inherited; /* the kernel gives it to the one that it wakes: that one may be its holder already */
    bool needs_holder; /* it is one only if it was one before, or its holder is a thread: words may also
                        * agree by chance */
};

/* Whether a system call may be the wait for a lock. Then ret->piece says what to copy. */
bool lock_words_wanted(long number, const uint64_t arguments[6], struct lock_words *ret);

/* The lock whose words these are. arguments: of the call. */
void lock_words_read(const struct lock_words *words, const uint64_t arguments[6], enum lock_role role,
                     struct lock_found *ret);

/* Who is named by a holder's word; 0 for nobody. is_futex: it is also the word that is waited for. */
pid_t lock_words_holder(uint32_t word, bool is_futex);

#endif
