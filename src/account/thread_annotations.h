/*
 * What a program says of its threads (wallprof.h), as a part of their records: written by the thread itself,
 * also in a handler of the program's, and read by the sampler at any time.
 */
#ifndef WALLPROF_THREAD_ANNOTATIONS_H
#define WALLPROF_THREAD_ANNOTATIONS_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_NAME_WORDS = THREAD_NAME_BYTES / sizeof(uint64_t) };

struct thread_annotations {
    uint32_t labels;                  /* atomic: the number of its label stack (labels.h) */
    uint32_t is_uninteresting;        /* atomic */
    uint32_t name_changes;            /* atomic: odd while the name is being changed */
    uint64_t name[THREAD_NAME_WORDS]; /* atomic each: "" for none */
};

/* The thread itself, not in a handler that interrupts this call. What does not fit is left out; "" is no name
 * any more. */
void thread_annotations_set_name(struct thread_annotations *annotations, const char *name);

/* The sampler, or the thread itself: its name by the program; false, and nothing written, without one, or
 * while it is changed. */
bool thread_annotations_name(const struct thread_annotations *annotations, char ret[THREAD_NAME_BYTES]);

#endif
