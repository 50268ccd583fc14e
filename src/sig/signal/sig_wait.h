/*
 * Waits of the program that our signal has cut short.
 *
 * Some system calls return EINTR after any handler, whatever SA_RESTART says (signal(7)). The hooks of the
 * functions that make them (preload/hook_wait.h) note here that they wait. If our handler has cut such a call
 * short, it notes that, and leaves every signal blocked. So until the hook has read the note, no handler of
 * the program can run, whose EINTR would be taken for ours. If one has run since the wait began
 * (sig_trampolines.h), the EINTR is the program's, and our handler notes nothing.
 *
 * A wait that ends by longjmp leaves its note. So the note alone proves nothing: a hook's code, which lies in
 * a section of its own, must have made the call.
 *
 * Each thread has its own notes, and only handlers on that thread use them, so nothing here is atomic.
 */
#ifndef WALLPROF_SIG_WAIT_H
#define WALLPROF_SIG_WAIT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* In the frame of the hook that waits. */
struct sig_waiting {
    const struct sig_waiting *outer; /* the wait that this one is within a handler of, or NULL */
    uint32_t handled;                /* as it was when the wait began */
    bool may_be_short;               /* the call may also end with less than requested */
    uint64_t *mask; /* in the hook's frame: the mask that the kernel waits with; NULL: the thread's own */
};

/* In the same frame: the hook keeps every signal blocked, and unblocks some only within its call. */
struct sig_hold {
    struct sig_hold *outer; /* of a wait that this one is within a handler of, or NULL */
    uint64_t mask;          /* the thread's without the hold */
    bool is_over;           /* a handler of the program has got the mask back */
};

/* Signals of faults, and the C library's own (SIGCANCEL, SIGSETXID). */
#define SIG_WAIT_NEVER_BLOCKED                                                                               \
    (1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1) | 1ULL << (SIGFPE - 1) | 1ULL << (SIGILL - 1) |            \
     1ULL << (SIGTRAP - 1) | 1ULL << (SIGSYS - 1) | 1ULL << (32 - 1) | 1ULL << (33 - 1))

struct sig_wait {
    uint32_t handled;      /* calls of the program's handlers; see sig_trampolines.c, as for the next */
    struct sig_hold *hold; /* the innermost; NULL: none */
    bool was_interrupted;  /* by a handler of ours only; then: */
    uint64_t mask;         /* the signals that were blocked, which the hook has to restore */
    uint64_t time_ns;      /* CLOCK_MONOTONIC at the interruption */
    bool was_given;        /* the thread waited for the very request that it replies to */
    const struct sig_waiting *waits;   /* the innermost wait, NULL outside of one */
    uint32_t lent_to_children;         /* children of vfork that run here, one within another */
    uint32_t filter_of_child;          /* the child, as counted above, that has a filter of calls; 0: none */
    uint64_t restarts_pc, restarts_sp; /* sig_restart.h: of the call that our signal came on last, or 0 */
    uint64_t small_low, small_high;    /* sig_altstack.h: the signal stack that had too little room last */
};

/* initial-exec: a fixed offset from the thread pointer, never allocated lazily. */
extern __thread struct sig_wait sig_wait_here
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Where the hooks' code lies; once, before the handler is installed. */
void sig_wait_use_hooks(uint64_t low, uint64_t high);
bool sig_wait_is_hook(uint64_t pc);

/* In the handler, which will return to this context: whether it follows a call that was cut short, as deep in
 * the stack as a call of the hook that waits. */
bool sig_wait_may_be_cut_short(const ucontext_t *context);

/* Before a handler of the program is called: in its context the thread has the mask without the hold, which
 * it gets on the handler's return. A handler that comes upon another's entry leaves that to the other. */
void sig_wait_end_hold(ucontext_t *context);

/* Notes the interruption, if it is that call, for a signal that the program must not see. */
void sig_wait_interrupt(ucontext_t *context);

#endif
