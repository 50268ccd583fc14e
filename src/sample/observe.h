/*
 * Samples threads: from outside where that is certain (remote_sample.h), else by a signal.
 *
 * A sample from outside is an observation at once. A reply to a request comes later. The sampler waits for it
 * at most until the next tick, and takes the replies that have come.
 *
 * A signalled thread that was preempted, or is in an uninterruptible call, replies before it executes another
 * instruction of its own. So its reply is as true late as early. Until then the thread gets no other request.
 *
 * A thread that has our signal blocked runs on without a reply. Its mask (SigBlk in /proc) is read when the
 * reply is overdue. Such a thread is silent: its time is [not responding] while it is not seen from outside.
 * It gets another request after a pause that doubles up to a second.
 *
 * A thread that another process traces would be stopped by a signal, so it gets none: it is silent, too.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_OBSERVE_H
#define WALLPROF_OBSERVE_H

#include "remote_sample.h"
#include "account/account.h"
#include "base/clock.h"
#include "interp/interp_replies.h"
#include "modules/modules.h"
#include "sig/signal/sig_slots.h"
#include "target/target.h"
#include "thread.h"
#include "threads.h"

#include <stdbool.h>
#include <stdint.h>

/* One sample of one thread. */
struct observation {
    struct thread *thread;
    struct fold_observation sample; /* its time is independent of what the program does; what belongs to
                                     * stretches, and the path, is not filled in */
    struct account_stack stack;     /* if fold_has_stack(); valid until the next call of observe_next */
    bool by_full_walk;              /* it took the walk with every register to get so far */
    bool is_look; /* it is no sample, as nobody has chosen the thread: only its stack is of use */
};

struct observer {
    struct sig_slots slots;
    struct thread **owner;       /* by slot; NULL for a slot whose thread is gone */
    struct stack_cache **orphan; /* by slot: the cache of a thread that ended while its handler was writing */
    struct stack_caches *stack_caches; /* the account's */
    uint64_t *address_memory;
    struct sig_unwind_slow_scratch *scratch_memory; /* by slot; pages that no walk needs are never touched */
    uint32_t used_high;                             /* slots from here on have never been used */
    int task_directory; /* /proc/self/task, set by the sampler, whose descriptor it is; -1 before */
    int held_slot;      /* released by the next observe_next */
    uint32_t snapshot;  /* number of the last snapshot of the modules, set by the sampler before it sends */
    uint32_t scan_at;   /* where observe_next goes on */
    struct remote_sampler remote;
    struct interp_replies interp;
    uint64_t handler_bytes;      /* what a signal stack must have for our handler */
    bool by_signal_only;         /* no thread is sampled from outside */
    const struct target *target; /* not owned; NULL: threads of this process are sampled */
    const struct thread *gone;   /* of a target: one that was found to have ended; taken by the sampler */
    int signal;                  /* the number of requests; 0: none is available */
    bool is_held_back_below;     /* a thread blocks this number, but not the spare one: see sig_numbers.h */
    uint64_t filled_below;       /* how often a thread was found that blocks both */
    struct {                     /* observations so far, by how they were made */
        uint64_t unchanged, walked, replied;
        uint64_t unreplied; /* overdue because the signal is blocked */
    } made;
    uint64_t sent;           /* signals */
    uint64_t replies_cpu_ns; /* estimate: CPU time of the program's threads for replies (overhead_limit.h) */
};

/* For slot_count outstanding replies of at most `depth` addresses each. 0 or -ENOMEM; deinit either way. */
int observe_init(struct observer *observer, uint32_t slot_count, uint32_t depth,
                 struct stack_caches *stack_caches);
void observe_deinit(struct observer *observer);

/* An interpreter was found: from now on its frames are read too, if there is memory for them. */
void observe_use_interp(struct observer *observer, struct interp *interp);

/* The sampler thread runs. is_private: the program cannot see its descriptors. *view is found if unknown. */
void observe_enter(struct observer *observer, int task_directory, bool is_private,
                   enum thread_stat_view *view);

/* The sampler thread has ended, and its descriptors are gone with it. */
void observe_drop_descriptors(struct observer *observer);

/*
 * The thread is sampled from now on. The first thread's descriptors are opened at once: a program that
 * changes its user does so before it creates other threads, and afterwards they can perhaps not be opened.
 */
void observe_begin(struct observer *observer, struct thread *thread);

/*
 * Samples a chosen thread. True with an observation in *ret, which is valid until the next call of this or of
 * observe_next. False when the thread was signalled, has not replied yet, or is left alone for a while.
 */
bool observe_thread(struct observer *observer, struct thread *thread, uint64_t now_ns,
                    struct observation *ret);

/* The same, but sends no signal: false also when the thread cannot be seen from outside now. */
bool observe_thread_outside(struct observer *observer, struct thread *thread, uint64_t now_ns,
                            struct observation *ret);

/*
 * What the holder of a lock is doing, which is no sample of it: its own samples are as they would be without.
 * LOOK_RUNS: it is running, or cannot be seen from outside. LOOK_COMES: it has been asked, and observe_next
 * will tell: it has not run since, or will reply at once.
 */
enum look { LOOK_NONE, LOOK_UNCHANGED, LOOK_WALKED, LOOK_RUNS, LOOK_COMES };
enum look observe_look(struct observer *observer, struct thread *thread, uint64_t now_ns,
                       struct observation *ret);

/* After LOOK_RUNS: asks it. Whether its reply will come. */
bool observe_ask(struct observer *observer, struct thread *thread, uint64_t now_ns);

/* The signal of the next requests. Outstanding requests with another signal are cancelled. */
void observe_use_signal(struct observer *observer, int signal);

/* Cancels the requests to which no thread has begun to reply. */
void observe_cancel(struct observer *observer);

/* Waits for the replies, at most until the deadline. */
void observe_wait(struct observer *observer, uint64_t deadline_ns);

/* The next reply, or the next overdue thread that is silent; false when there is none for now. To be called
 * until false, once a tick. */
bool observe_next(struct observer *observer, uint64_t now_ns, struct observation *ret);

/* The thread has ended: its outstanding slot has no owner any more. */
void observe_forget(struct observer *observer, struct thread *thread);

/* Whether it is certain that it has not run since the last observation. */
static inline bool observe_has_not_run(struct observer *observer, struct thread *thread)
{
    return remote_sample_has_not_run(&observer->remote, thread->tid, &thread->stat, &thread->remote);
}

/* A thread's CPU clock; of a target's thread as the kernel has it last, or what was seen last if it is gone.
 */
static inline uint64_t observe_cpu_clock(struct observer *observer, struct thread *thread)
{
    return observer->target
               ? remote_sample_cpu(&observer->remote, thread->tid, &thread->stat, thread->fold.cpu_clock_ns)
               : clock_read_ns(clock_of_thread(thread->tid));
}

/* Whether a reply is outstanding for longer than a signal takes, or the thread is silent. */
bool observe_is_overdue(const struct thread *thread, uint64_t now_ns);

#endif
