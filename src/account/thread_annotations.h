/*
 * What a program says of its threads (wallprof.h), as a part of their records: written by the thread itself,
 * also in a handler of the program's, and read by the sampler at any time.
 */
#ifndef WALLPROF_MARKS_H
#define WALLPROF_MARKS_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { MARKS_NAME_WORDS = THREAD_NAME_BYTES / sizeof(uint64_t) };

struct wp_marks {
    uint32_t labels;                 /* atomic: the number of its label stack (labels.h) */
    uint32_t is_uninteresting;       /* atomic */
    uint32_t name_changes;           /* atomic: odd while the name is being changed */
    uint64_t name[MARKS_NAME_WORDS]; /* atomic each: "" for none */
};

/* The thread itself, not in a handler that interrupts this call. What does not fit is left out; "" is no name
 * any more. */
void marks_set_name(struct wp_marks *marks, const char *name);

/* The sampler, or the thread itself: its name by the program; false, and nothing written, without one, or
 * while it is changed. */
bool marks_name(const struct wp_marks *marks, char ret[THREAD_NAME_BYTES]);

#endif
