/*
 * What a program says of its threads (wallprof.h): a part of their records. The thread itself writes it, also
 * in the program's handlers. The sampler reads it at any time.
 */
#ifndef WALLPROF_THREAD_ANNOTATIONS_H
#define WALLPROF_THREAD_ANNOTATIONS_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_NAME_WORDS = THREAD_NAME_BYTES / sizeof(uint64_t) };

struct thread_annotations {
    uint32_t labels;           /* atomic: the number of its label stack (labels.h) */
    uint32_t is_uninteresting; /* atomic */
    uint32_t asks_for_tracer;  /* atomic: it has called ptrace(PTRACE_TRACEME) */
    struct {
        uint64_t low, bytes;          /* atomic; of 0 bytes: none since the recording began */
    } signal_stack;                   /* sigaltstack */
    uint32_t name_changes;            /* atomic: odd while the name changes */
    uint64_t name[THREAD_NAME_WORDS]; /* atomic each; "": none */
};

/* The thread itself, but not in a handler that interrupts this call. A long name is cut; "" takes it away. */
void thread_annotations_set_name(struct thread_annotations *annotations, const char *name);

/* The thread itself: reads from the kernel where its signal stack is. */
void thread_annotations_read_signal_stack(struct thread_annotations *annotations);

/* The sampler, or the thread itself. False, and nothing written, without a name or while it changes. */
bool thread_annotations_name(const struct thread_annotations *annotations, char ret[THREAD_NAME_BYTES]);

#endif
