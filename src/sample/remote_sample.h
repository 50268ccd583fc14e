/*
 * Sampling a thread from outside: how the sampler observes a blocked thread without waking it.
 *
 *  - It has not run since a sample that found it blocked: its run count (thread_stat.h) is the same. So its
 * stack is the one that was seen then. Where no descriptor of its own is kept, because threads are many, its
 * CPU clock stands for the run count most times: it costs a tenth. It missed 8 of 94,000 runs, so every 16th
 * time the run count itself is read.
 *  - It is blocked, and has run meanwhile: the kernel shows its stack pointer and pc. From there its stack is
 *    walked over a copy (sig_remote_walk.h). Equal run counts before and after prove that it stood still.
 *  - Else it is running, or a frame is found only with a register that the kernel does not show. Then it must
 * get a request, which is a signal. Some calls would be cut short by that: there a stack that
 * ends early does less harm.
 *
 * What a reply has told is used again. A thread that is blocked where it was blocked when it replied has the
 * same registers, if they lead to the very same stack.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_REMOTE_SAMPLE_H
#define WALLPROF_REMOTE_SAMPLE_H

#include "account/fold.h"
#include "interp/interp.h"
#include "sig/ground/sig_stack.h"
#include "sig/walk/sig_remote_walk.h"
#include "thread_stat.h"
#include "waits/waits.h"

#include <stdbool.h>
#include <stdint.h>

enum { REMOTE_PLACES = 4 };

/* What the last samples of a thread tell the next one; part of its record. Zeroed memory: nothing. */
struct remote_memory {
    bool is_reference; /* it was found blocked, and its whole stack was seen, at the run count `reference` */
    uint64_t reference;
    uint64_t reference_cpu_ns;        /* its CPU clock then */
    uint32_t trusted;                 /* how often the CPU clock has stood for the run count since */
    uint32_t stack_bytes;             /* of its last stack; 0 when not known */
    struct waits_memory wait;         /* what it waited for at the reference */
    uint64_t waits_at[REMOTE_PLACES]; /* the last places where it was seen blocked: pcs after system calls */
    uint32_t places;                  /* how many have been written */
    bool lacks_register;              /* the last walk ended for lack of one: a reply may have it */
    struct {
        uint64_t sp, pc; /* where it was blocked when it replied; 0 when it was not */
        uint64_t fp;     /* the frame pointer then */
        uint64_t stack;  /* a hash of the addresses in that reply */
    } replied;
};

enum remote_result {
    REMOTE_UNCHANGED, /* blocked, and has not run since the last sample that said UNCHANGED or WALKED */
    REMOTE_WALKED,    /* blocked, and this is its stack */
    REMOTE_SIGNAL,    /* it is running, or cannot be seen from outside */
    REMOTE_GONE,      /* it has ended */
};

struct remote_sample {
    /* Of UNCHANGED and WALKED: its CPU clock. Of SIGNAL: its CPU clock when the kernel last updated it, 0
     * when that was not read. */
    uint64_t cpu_ns;
    bool is_runnable;  /* of SIGNAL: it was not blocked, so where it seems to be it waits for a CPU */
    uint64_t delay_ns; /* how long it has waited for a CPU; FOLD_NO_DELAY when that was not read */
    struct wait_locations wait; /* of UNCHANGED and WALKED: what it waits for */
    /* Of WALKED: */
    const uint64_t *addresses; /* as sig_unwind's; valid until the next sample */
    uint32_t depth;
    enum sig_unwind_end end;
    struct sig_unloads unloads;            /* as of the walk */
    uint32_t labels;                       /* the number of its label stack then */
    const struct sig_interp_stack *interp; /* its interpreter's frames, NULL without; as addresses */
};

struct remote_sampler {
    struct thread_stats stats;
    uint64_t *addresses;
    uint32_t capacity; /* of them */
    struct sig_stack_copy copy;
    struct lock_waits *waits;             /* not owned; NULL: nothing is said of waits */
    struct lock_words lock_words;         /* copied with the stack that is walked */
    struct interp *interp;                /* not owned */
    struct sig_interp_stack interp_stack; /* its frames are owned, from the first interpreter on */
};

/* For stacks of `depth` addresses. Every sample is SIGNAL until thread_stats_init. 0 or -ENOMEM. */
int remote_sample_init(struct remote_sampler *sampler, uint32_t depth);
void remote_sample_deinit(struct remote_sampler *sampler);

/* From now on frames of an interpreter are read too, if there is memory for them. Once. */
void remote_sample_use_interp(struct remote_sampler *sampler, struct interp *interp);

/* With a descriptor table of its own: opens /proc/thread-self/mem if the kernel refuses process_vm_readv. */
void remote_sample_open_memory(struct remote_sampler *sampler);

/* The thread to sample. */
struct remote_thread {
    pid_t tid;
    uint64_t stack_low, stack_high;
    struct thread_stat *stat;
    struct remote_memory *memory;
    struct interp_thread *interp;
    const uint32_t *labels_at; /* atomic: where it keeps the number of its label stack, or NULL */
    bool is_silent;            /* it does not reply to signals: a stack that ends early is better than none */
    bool may_run; /* it was running when it was seen last, or was not seen yet: one look suffices for that */
};

enum remote_result remote_sample(struct remote_sampler *sampler, const struct remote_thread *thread,
                                 struct remote_sample *ret);

/* Whether it has not run since the last sample found it blocked: as UNCHANGED. */
bool remote_sample_has_not_run(struct remote_sampler *sampler, pid_t tid, struct thread_stat *stat,
                               struct remote_memory *memory);

/* How long it has waited for a CPU in its life, FOLD_NO_DELAY when that cannot be read. */
uint64_t remote_sample_delay(struct remote_sampler *sampler, pid_t tid, struct thread_stat *stat);

/* Its CPU clock, as the kernel has it last; known_ns when that cannot be read. */
uint64_t remote_sample_cpu(struct remote_sampler *sampler, pid_t tid, struct thread_stat *stat,
                           uint64_t known_ns);

/*
 * Whether a signal cuts a blocked call short, although its handler has SA_RESTART. number, arguments: of the
 * call. Sockets with a timeout of their own are cut short too, but their calls do not show it. Source: man 7
 * signal, "Interruption of system calls and library functions by signal handlers"; in the kernel, what
 * returns ERESTARTNOHAND, ERESTART_RESTARTBLOCK or EINTR itself.
 */
bool remote_sample_is_cut_short(long number, const uint64_t arguments[6]);

/* Whether it has lately been seen blocked in the call that returns to this pc. */
bool remote_sample_waits_at(const struct remote_memory *memory, uint64_t pc);

/* What a reply tells: where the thread was blocked, and its stack. Only a whole stack of a thread that was
 * blocked teaches something. */
struct sig_slot;
void remote_sample_learn(struct remote_memory *memory, const struct sig_slot *reply);

#endif
