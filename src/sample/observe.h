/*
 * Sampling threads: from outside where that is certain (remote_sample.h), by a signal where it must be.
 *
 * A sample from outside is an observation at once. A signal is sent, and answered later: the sampler waits at
 * most until the next tick, and takes the replies that have come. A signalled thread that was preempted or is
 * in an uninterruptible call replies when it runs again, before it executes another instruction of its own:
 * its reply is as true then as it would have been at once, so an outstanding reply is left outstanding and
 * the thread gets no other request meanwhile. A thread that has our signal blocked is different: it runs on
 * without a reply. That is found out (SigBlk in /proc) when a reply is overdue; its time is then [not
 * responding] as long as it is not seen from outside, and it gets another request after a pause that doubles
 * up to a second.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_OBSERVE_H
#define WALLPROF_OBSERVE_H

#include "remote_sample.h"
#include "account/account.h"
#include "modules/modules.h"
#include "sig/signal/sig_slots.h"
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
};

struct observer {
    struct sig_slots slots;
    struct thread **owner; /* per slot; NULL for a slot whose thread is gone */
    struct stack_cache *
        *orphan; /* per slot: the stack cache of a thread that is gone while its handler was writing */
    struct stack_caches *stack_caches; /* the account's */
    struct sig_slot *slot_memory;
    uint64_t *address_memory;
    struct sig_unwind_slow_scratch
        *scratch_memory; /* one a slot; pages that no walk needs are never touched */
    uint32_t used_high;  /* slots at and above have never been used: what is scanned */
    int task_directory;  /* /proc/self/task, set by the sampler, whose descriptor it is; -1 before */
    int held_slot;       /* released by the next observe_next */
    uint32_t snapshot;   /* number of the last snapshot of the modules, set by the sampler before it sends */
    uint32_t scan_at;    /* where observe_next goes on */
    struct remote_sampler remote;
    bool by_signal_only;     /* no thread is sampled from outside */
    int signal;              /* the number of requests; 0: none is available */
    bool is_held_back_below; /* a thread was found that blocks it, and not the spare one: see sig_numbers.h */
    uint64_t filled_below;   /* and threads that block both */
    struct {                 /* observations so far, by how they were made */
        uint64_t unchanged, walked, replied;
        uint64_t unreplied; /* overdue because the signal is blocked */
    } made;
    uint64_t sent;    /* signals */
    uint64_t no_slot; /* not sent because every slot was outstanding */
    /* What the replies have cost the threads that gave them, about (overhead_limit_reply_ns). */
    uint64_t replies_cpu_ns;
};

/*
 * Room for slot_count outstanding replies of at most `depth` addresses; stack_caches is the account's.
 * 0 or -ENOMEM.
 */
int observe_init(struct observer *observer, uint32_t slot_count, uint32_t depth,
                 struct stack_caches *stack_caches);
void observe_deinit(struct observer *observer);

/* The sampler thread runs. is_private: the program cannot see its descriptors. */
void observe_enter(struct observer *observer, int task_directory, bool is_private,
                   enum thread_stat_view view);

/* For a process whose sampler, and descriptors, are gone. */
void observe_drop_descriptors(struct observer *observer);

/*
 * A thread that is to be sampled from now on. The first one's descriptors are opened at once: a program
 * that changes its user does so before it creates others, and after that none may be had.
 */
void observe_begin(struct observer *observer, struct thread *thread);

/*
 * Samples at a chosen thread. True when that gave an observation: *ret, which is valid until the next call of
 * this or observe_next. False when it was signalled; or owes a reply, or is to be left alone for a while.
 */
bool observe_thread(struct observer *observer, struct thread *thread, uint64_t now_ns,
                    struct observation *ret);

/*
 * Before signals are sent: with which one. Those that are on their way with another one are not waited for
 * any more.
 */
void observe_use_signal(struct observer *observer, int signal);

/* Cancels the requests to which no thread has begun to reply. */
void observe_cancel(struct observer *observer);

/* Waits for the replies, at most until the deadline. */
void observe_wait(struct observer *observer, uint64_t deadline_ns);

/*
 * The next reply, or the next overdue thread found to be silent; false when there is none for now. Call
 * until false once per tick.
 */
bool observe_next(struct observer *observer, uint64_t now_ns, struct observation *ret);

/* The thread has ended: its outstanding slot has no owner any more. */
void observe_forget(struct observer *observer, struct thread *thread);

/* Whether it is where the last observation found it, for certain. */
bool observe_has_not_run(struct observer *observer, struct thread *thread);

/* Whether a thread owes a reply for longer than a signal takes. */
bool observe_is_overdue(const struct thread *thread, uint64_t now_ns);

#endif
