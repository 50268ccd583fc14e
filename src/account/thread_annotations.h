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

/* atomic each; of 0 bytes: none since the recording began */
struct thread_signal_stack {
    uint64_t low, bytes;
};

struct thread_annotations {
    uint32_t labels;           /* atomic: the number of its label stack (labels.h) */
    uint32_t is_uninteresting; /* atomic */
    uint32_t asks_for_tracer;  /* atomic: it has called ptrace(PTRACE_TRACEME) */
    uint64_t exec_cpu_ns;      /* atomic: its CPU clock at an exec that has not failed; 0: none */
    struct thread_signal_stack signal_stack;  /* as sigaltstack has set it last */
    struct thread_signal_stack earlier_stack; /* the return of a handler may make it that again */
    uint32_t name_changes;                    /* atomic: odd while the name changes */
    uint64_t name[THREAD_NAME_WORDS];         /* atomic each; "": none */
};

/* The thread itself, but not in a handler that interrupts this call. A long name is cut; "" takes it away. */
void thread_annotations_set_name(struct thread_annotations *annotations, const char *name);

/*
 * The thread itself, with all signals blocked, around a change of its signal stack. hide: until show it has
 * no room for anything. show: reads from the kernel where it is; own_stack_high is for sig_altstack_returns.
 * restore: it has not changed.
 */
struct thread_signal_stack thread_annotations_hide_signal_stack(struct thread_annotations *annotations);
void thread_annotations_show_signal_stack(struct thread_annotations *annotations,
                                          const struct thread_signal_stack *before, uint64_t own_stack_high);
void thread_annotations_restore_signal_stack(struct thread_annotations *annotations,
                                             const struct thread_signal_stack *before);

/* The sampler, or the thread itself. False, and nothing written, without a name or while it changes. */
bool thread_annotations_name(const struct thread_annotations *annotations, char ret[THREAD_NAME_BYTES]);

#endif
