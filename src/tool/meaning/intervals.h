/*
 * What each thread does over time: its life as intervals, one after the other, each with one state and one
 * stack.
 *
 * The records of the timeline say when a stack was seen, and the tree says what its time was spent on. Each
 * record stands for a stretch of its thread's life, and the stretches follow each other. Records of one stack
 * that follow each other, found in the same way, are one stretch. It is divided as its node's time is:
 * stretches in which the thread was found running get the CPU time first, those in which it was queued the
 * run delay, those in which it waited the blocked time. The state in which it was found comes last.
 *
 * So the intervals of a thread add up to its tree: CPU time, run delay, and each kind of wait. What the tree
 * has and no record shows (a gap, a record that was dropped, [unsampled]) lies where the records leave
 * room, else at the end.
 *
 * Called from: formats. One thread. Memory: 104 bytes for each node of the profile, and twice the intervals
 * of one thread.
 */
#ifndef WALLPROF_INTERVALS_H
#define WALLPROF_INTERVALS_H

#include "meaning.h"
#include "profile/timeline_index.h"

/* A state is an enum wait_kind (WAIT_CPU: it is queued for a CPU), or this one. */
enum { STATE_RUNNING = WAIT_KIND_COUNT, STATE_COUNT };

struct interval {
    uint64_t begin_ns, end_ns; /* of the timeline's clock */
    arena_ref node;
    uint8_t state;
};

struct interval_list {
    struct interval *all; /* owned */
    uint32_t count, capacity;
    bool failed; /* there was no memory for one */
};

struct intervals {
    const struct profile *profile; /* not owned; it has a timeline */
    const struct meaning *meaning; /* not owned */
    struct timeline_index index;
    struct interval_node *nodes;      /* owned; by tree_node_index */
    struct interval_list parts, list; /* of the thread that was made last: parts have holes in them */
};

/* 0 or -ENOMEM; deinit in any case. */
int intervals_init(struct intervals *intervals, const struct profile *profile, const struct meaning *meaning);
void intervals_deinit(struct intervals *intervals);

/* Makes intervals->list of a thread: in order and without overlaps, from its start on. Each thread is
 * made once, as its nodes remember what was given away. 0 or -ENOMEM. */
int intervals_make(struct intervals *intervals, const struct thread_record *thread);

#endif
