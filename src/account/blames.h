/*
 * Gives the time that threads wait for locks to the stacks of those who hold them (fold.h).
 *
 * A holder that is blocked is seen from outside at once. One that runs is asked by a signal, and its reply
 * comes later: until then its waiters are kept here. A waiter that is observed again meanwhile has another
 * entry, and the earlier one keeps what has passed. Where there are too many entries, nobody is blamed.
 *
 * Called from: the sampler thread. Holders and waiters are known by their struct fold_thread, which stay
 * where they are until blames_forget.
 */
#ifndef WALLPROF_BLAMES_H
#define WALLPROF_BLAMES_H

#include "fold.h"

#include <stdbool.h>
#include <stdint.h>

enum { BLAMES_MAX = 256 };

/* Zeroed memory: nobody is awaited. */
struct blames {
    struct blame {
        const struct fold_thread *holder;
        struct fold_thread *waiter; /* NULL: it was observed again, or has ended */
        struct wait_locations wait;
        const void *link; /* the caller's: what makes the holder one; NULL once it has been checked */
        uint64_t ns;      /* once there is no waiter */
    } entries[BLAMES_MAX];
    uint32_t count;
};

/* The stack that is blamed. */
struct blamed {
    arena_ref node; /* the innermost frame; 0, or no frame at all: nobody is blamed */
    arena_ref root; /* of its thread */
};

/* After another observation of a thread: what passed before it is settled, and nobody is blamed from now on.
 */
void blames_end_stretch(struct blames *blames, struct fold_thread *waiter);

/* After that: the waiter's last observation blames a stack, or the holder's, which its reply will tell.
 * wait: the labels of its wait. */
void blames_give(const struct fold *fold, struct fold_thread *waiter, const struct wait_locations *wait,
                 struct blamed blamed);
void blames_await(struct blames *blames, struct fold_thread *waiter, const struct wait_locations *wait,
                  const struct fold_thread *holder, const void *link);

/* An entry is given up. */
void blames_drop(struct blames *blames, uint32_t index);

/* The holder was seen at last; or, with a node of 0, it will not be. */
void blames_reply(struct blames *blames, const struct fold *fold, const struct fold_thread *holder,
                  arena_ref node);

/* A thread has ended. Its tree stays for now. */
void blames_forget(struct blames *blames, struct fold_thread *thread);

#endif
