/* Rings of threads in a schedule: a pointer to the first one, NULL for an empty ring. Used by schedule.c
 * only. */
#ifndef WALLPROF_SCHEDULE_RING_H
#define WALLPROF_SCHEDULE_RING_H

#include "schedule.h"

#include <stddef.h>

static inline void schedule_ring_append(struct schedule_thread **ring, struct schedule_thread *thread)
{
    struct schedule_thread *first = *ring ? *ring : thread, *last = *ring ? first->previous : thread;
    *ring = first;
    thread->next = first;
    thread->previous = last;
    last->next = first->previous = thread;
}

static inline void schedule_ring_cut_out(struct schedule_thread **ring, struct schedule_thread *thread)
{
    if (*ring == thread)
        *ring = thread->next == thread ? NULL : thread->next;
    thread->previous->next = thread->next;
    thread->next->previous = thread->previous;
}

#endif
