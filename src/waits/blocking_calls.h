/*
 * What a system call waits for, by its number and arguments: a descriptor, or a child.
 *
 * A pure function.
 */
#ifndef WALLPROF_BLOCKING_CALLS_H
#define WALLPROF_BLOCKING_CALLS_H

#include <stdint.h>
#include <sys/types.h>

enum { BLOCKING_SETS = 3 };

enum blocking_kind {
    BLOCKING_OTHER,      /* nothing that has a name: sleep, signals */
    BLOCKING_DESCRIPTOR, /* what a descriptor stands for */
    BLOCKING_POLL,       /* the same, of several */
    BLOCKING_SELECT,     /* the same, of those in up to three sets of bits */
    BLOCKING_EPOLL,      /* the same, of the set that a descriptor stands for */
    BLOCKING_QUEUE,      /* a message queue, by its descriptor */
    BLOCKING_CHILD,      /* the end of a process */
};

struct blocking_call {
    enum blocking_kind kind;
    int descriptor;
    uint64_t polled; /* of BLOCKING_POLL: where its struct pollfd are, */
    uint64_t polled_count;
    uint64_t selected[BLOCKING_SETS]; /* of BLOCKING_SELECT: where its sets are, or 0, */
    uint64_t selected_bits;           /* and how many bits of each count */
    pid_t child;                      /* 0: any */
};

struct blocking_call blocking_call_of(long number, const uint64_t arguments[6]);

#endif
