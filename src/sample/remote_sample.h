/*
 * Looking at a thread from outside: how the sampler observes one that is blocked without waking it.
 *
 *  - It has not run since a look that found it blocked: its run count (watch.h) has not moved, so its stack
 * is the one that was seen then.
 *  - It is blocked, and has run meanwhile: the kernel shows its stack pointer and pc, from there its stack is
 *    walked over a copy (sig_unwind.h), and the run count, equal before and after, proves that it stood still
 *    all the while.
 *  - Neither: it is running; or a frame of its stack is found only with a register that the kernel does not
 *    show. Then the thread has to be asked, by signal. But for some calls a signal is worse than a stack that
 *    ends early: those that it would cut short (cut_short.h).
 *
 * What a signal has told is used again: the registers of a thread that was asked while it was blocked are
 * those that it has when it is blocked there the next time, if they lead to the very same stack.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_BLOCKED_H
#define WALLPROF_BLOCKED_H

#include "sig/signal/sig_handler.h"
#include "thread_stat.h"

#include <stdbool.h>
#include <stdint.h>

/* What the last looks at a thread leave to the next; part of its record. Zeroed memory: nothing. */
struct blocked_memory {
    bool is_reference;    /* it was found blocked, and its whole stack seen, with this run count */
    uint64_t reference;   /* the run count then */
    uint32_t stack_bytes; /* that its last stack took; 0 when not known */
    bool lacks_register;  /* the last walk ended for want of one: a signal may tell */
    struct {
        uint64_t sp, pc; /* where it was blocked when it answered a signal; 0 when it was not */
        uint64_t fp;     /* the frame pointer then */
        uint64_t stack;  /* a hash of the addresses it answered */
    } answered;
};

enum blocked_result {
    BLOCKED_UNCHANGED, /* blocked, and has not run since the last look that said UNCHANGED or WALKED */
    BLOCKED_WALKED,    /* blocked, and this is its stack */
    BLOCKED_ASK,       /* it runs, or cannot be seen from outside */
    BLOCKED_GONE,      /* it has ended */
};

struct blocked_look {
    /* Its CPU clock, of UNCHANGED and WALKED; of ASK what it said when the kernel last took the thread off a
     * CPU or counted its time, 0 when that cannot be read. */
    uint64_t cpu_ns;
    /* Of WALKED: */
    const uint64_t *addresses; /* as sig_unwind's; valid until the next look */
    uint32_t depth;
    enum sig_unwind_end end;
    struct sig_unloads unloads; /* as of the walk */
    uint32_t labels;            /* what its labels were while it stood there */
};

struct wp_blocked {
    struct wp_watches watches;
    uint64_t *addresses;
    uint32_t capacity; /* of them */
    struct sig_stack_copy copy;
};

/* Room for stacks of `depth` addresses. Nothing can be watched before watch_init. 0 or -ENOMEM. */
int blocked_init(struct wp_blocked *blocked, uint32_t depth);
void blocked_deinit(struct wp_blocked *blocked);

/* In the sampler, with a descriptor table of its own: where the kernel refuses to copy memory
 * (process_vm_readv), the other way to have it do so is opened. */
void blocked_open_memory(struct wp_blocked *blocked);

/* What is asked about. */
struct blocked_thread {
    pid_t tid;
    uint64_t stack_low, stack_high;
    struct watch *watch;
    struct blocked_memory *memory;
    const uint32_t *labels_at; /* where it keeps what its labels are, or NULL */
    bool is_silent;            /* it does not answer signals: a stack that ends early is better than none */
};

enum blocked_result blocked_look(struct wp_blocked *blocked, const struct blocked_thread *thread,
                                 struct blocked_look *ret);

/* Whether it is still where the last look found it blocked: what UNCHANGED says, by itself. */
bool blocked_has_not_run(struct wp_blocked *blocked, pid_t tid, struct watch *watch,
                         const struct blocked_memory *memory);

/* The thread has answered a signal. */
void blocked_learn(struct blocked_memory *memory, const struct sig_slot *slot);

#endif
