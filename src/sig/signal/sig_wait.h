/*
 * Waits of the program that our signal has cut short: which ones, and since when.
 *
 * Some system calls return EINTR after any handler, whatever SA_RESTART says (signal(7)). The hooks of the
 * functions that make them (preload/hook_wait.h) say here that they wait. A handler of ours that finds itself
 * behind such a call, cut short, leaves word, and every signal blocked: so until the hook has looked, no
 * handler of the program's can run whose EINTR would be taken for ours. If one has run since the wait began
 * (sig_trampolines.h), the EINTR is the program's and nothing is left.
 *
 * A wait that is left by longjmp leaves its word behind. So the word alone counts for nothing: the call must
 * also be found to have been made from a hook's code, which lies in a section of its own.
 *
 * Each thread has its own; a handler runs on the thread it speaks of, so nothing here is atomic.
 */
#ifndef WALLPROF_SIG_WAIT_H
#define WALLPROF_SIG_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* In the frame of the hook that waits. */
struct sig_waiting {
    const struct sig_waiting *outer; /* the wait that this one is within a handler of, or NULL */
    uint32_t handled;                /* as it was when the wait began */
    bool may_be_short;               /* the call may also end with less than asked for */
    uint64_t *mask; /* in the hook's frame: what the kernel is given to wait with; NULL: the thread's own */
};

struct sig_wait {
    uint32_t handled;     /* calls of handlers of the program's; the first, see sig_trampolines.c */
    bool was_interrupted; /* by a handler of ours, and nothing else; then: */
    uint64_t mask;        /* the signals that were blocked, which the hook has to put back */
    uint64_t time_ns;     /* CLOCK_MONOTONIC when it was */
    bool was_given;       /* the thread waited for the very request that it replies to */
    const struct sig_waiting *waits;   /* the innermost wait, NULL outside of one */
    uint32_t lent_to_children;         /* of vfork: what runs here are they, one within the other */
    uint64_t restarts_pc, restarts_sp; /* sig_restart.h: of the call that our signal was last met on, or 0 */
    uint64_t small_low, small_high;    /* sig_altstack.h: where a handler last had too little room */
};

/* initial-exec: a fixed offset from the thread pointer, never allocated lazily. */
extern __thread struct sig_wait sig_wait_here
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Where the hooks' code lies; once, before the handler is installed. */
void sig_wait_use_hooks(uint64_t low, uint64_t high);
bool sig_wait_is_hook(uint64_t pc);

/* In the handler, which returns to this context: whether it is behind a call cut short, as deep in the stack
 * as one of the hook that has left word would be. */
bool sig_wait_may_be_cut_short(const ucontext_t *context);

/* If it is that one, for a signal that the program is not to see. */
void sig_wait_interrupt(ucontext_t *context);

#endif
