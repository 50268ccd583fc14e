/*
 * Sampling a thread from outside: how the sampler observes one that is blocked without waking it.
 *
 *  - It has not run since a sample that found it blocked: its run count (thread_stat.h) has not moved, so its
 * stack is the one that was seen then.
 *  - It is blocked, and has run meanwhile: the kernel shows its stack pointer and pc, from there its stack is
 *    walked over a copy (sig_unwind.h), and the run count, equal before and after, proves that it stood still
 *    all the while.
 *  - Neither: it is running; or a frame of its stack is found only with a register that the kernel does not
 *    show. Then the thread has to be sent a request, a signal. But for some calls a signal is worse than a
 * stack that ends early: those that it would cut short (cut_short.h).
 *
 * What a signal has told is used again: the registers of a thread that replied while it was blocked are
 * those that it has when it is blocked there the next time, if they lead to the very same stack.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_REMOTE_SAMPLE_H
#define WALLPROF_REMOTE_SAMPLE_H

#include "sig/ground/sig_stack.h"
#include "sig/walk/sig_remote_walk.h"
#include "thread_stat.h"

#include <stdbool.h>
#include <stdint.h>

/* What the last samples of a thread leave to the next; part of its record. Zeroed memory: nothing. */
struct remote_memory {
    bool is_reference;    /* it was found blocked, and its whole stack seen, with this run count */
    uint64_t reference;   /* the run count then */
    uint32_t stack_bytes; /* that its last stack took; 0 when not known */
    bool lacks_register;  /* the last walk ended for want of one: a signal may tell */
    struct {
        uint64_t sp, pc; /* where it was blocked when it replied to a signal; 0 when it was not */
        uint64_t fp;     /* the frame pointer then */
        uint64_t stack;  /* a hash of the addresses in that reply */
    } replied;
};

enum remote_result {
    REMOTE_UNCHANGED, /* blocked, and has not run since the last sample that said UNCHANGED or WALKED */
    REMOTE_WALKED,    /* blocked, and this is its stack */
    REMOTE_SIGNAL,    /* it runs, or cannot be seen from outside */
    REMOTE_GONE,      /* it has ended */
};

struct remote_sample {
    /* Its CPU clock, of UNCHANGED and WALKED; of ASK what it said when the kernel last took the thread off a
     * CPU or counted its time, 0 when that cannot be read. */
    uint64_t cpu_ns;
    /* Of WALKED: */
    const uint64_t *addresses; /* as sig_unwind's; valid until the next sample */
    uint32_t depth;
    enum sig_unwind_end end;
    struct sig_unloads unloads; /* as of the walk */
    uint32_t labels;            /* what its labels were while it stood there */
};

struct remote_sampler {
    struct thread_stats stats;
    uint64_t *addresses;
    uint32_t capacity; /* of them */
    struct sig_stack_copy copy;
};

/* Room for stacks of `depth` addresses. Nothing can be watched before thread_stats_init. 0 or -ENOMEM. */
int remote_sample_init(struct remote_sampler *sampler, uint32_t depth);
void remote_sample_deinit(struct remote_sampler *sampler);

/* In the sampler, with a descriptor table of its own: where the kernel refuses to copy memory
 * (process_vm_readv), the other way to have it do so is opened. */
void remote_sample_open_memory(struct remote_sampler *sampler);

/* The thread to sample. */
struct remote_thread {
    pid_t tid;
    uint64_t stack_low, stack_high;
    struct thread_stat *stat;
    struct remote_memory *memory;
    const uint32_t *labels_at; /* where it keeps what its labels are, or NULL */
    bool is_silent;            /* it does not reply to signals: a stack that ends early is better than none */
};

enum remote_result remote_sample(struct remote_sampler *sampler, const struct remote_thread *thread,
                                 struct remote_sample *ret);

/* Whether it is still where the last sample found it blocked: what UNCHANGED says, by itself. */
bool remote_sample_has_not_run(struct remote_sampler *sampler, pid_t tid, struct thread_stat *stat,
                               const struct remote_memory *memory);

/* What a thread has replied to a signal: where it was blocked, and its stack. */
struct remote_reply {
    uint64_t sp, pc, fp; /* sp and pc are 0 when it was not blocked, or addresses are not the whole stack */
    const uint64_t *addresses;
    uint32_t depth;
};
void remote_sample_learn(struct remote_memory *memory, const struct remote_reply *reply);

#endif
