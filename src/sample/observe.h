/*
 * Looking at threads: from outside where that is certain (blocked.h), by a signal where it must be.
 *
 * A look from outside is an observation at once. A signal is sent, and answered later: the sampler waits at
 * most until the next tick, and takes the answers that have come. A signalled thread that was preempted or is
 * in an uninterruptible call answers when it runs again, before it executes another instruction of its own:
 * its answer is as true then as it would have been at once, so an outstanding answer is left outstanding and
 * the thread is not asked again meanwhile. A thread that has our signal blocked is different: it runs on
 * without answering. That is found out (SigBlk in /proc) when an answer is overdue; its time is then [not
 * responding] as long as it is not seen from outside, and it is asked again after a pause that doubles up to
 * a second.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_OBSERVE_H
#define WALLPROF_OBSERVE_H

#include "remote_sample.h"
#include "account/stack_cache.h"
#include "modules/modules.h"
#include "sig/signal/sig_slots.h"
#include "threads.h"

#include <stdbool.h>
#include <stdint.h>

/* What came back about one thread. */
struct observation {
    struct wp_thread *thread;
    uint64_t time_ns;      /* CLOCK_MONOTONIC: the moment it is for, independent of what the program does */
    uint64_t cpu_clock_ns; /* its CPU clock then */
    bool is_running;       /* false: it waited in a system call, or for a CPU */
    bool is_unchanged;     /* it has not run since the last observation; addresses are not valid */
    bool is_unknown;       /* no answer: it has the signal blocked; addresses are not valid */
    bool is_left_out;      /* the program says that it is uninteresting; addresses are not valid */
    bool is_truncated;     /* the root was not reached */
    bool by_memo;      /* the thread's memo has the stack; addresses are what is not shared with the last */
    bool by_full_walk; /* it took the walk with every register to get so far */
    struct modules_moment moment;
    uint32_t labels; /* the number of its label stack then */
    uint32_t depth;
    const uint64_t *addresses; /* innermost first; valid until the next call of observe_next */
};

struct wp_observer {
    struct sig_slots slots;
    struct wp_thread **owner; /* per slot; NULL for a slot whose thread is gone */
    struct wp_memo **orphan;  /* per slot: the memo of a thread that is gone while its handler was writing */
    struct wp_memos memos;
    struct sig_slot *slot_memory;
    uint64_t *address_memory;
    struct sig_full_scratch *scratch_memory; /* one a slot; pages that no walk needs are never touched */
    uint32_t used_high;                      /* slots at and above have never been used: what is scanned */
    int task_directory; /* /proc/self/task, set by the sampler, whose descriptor it is; -1 before */
    int held_slot;      /* released by the next observe_next */
    uint32_t look;      /* number of the last look at the modules, set by the sampler before it sends */
    uint32_t scan_at;   /* where observe_next goes on */
    struct wp_blocked blocked;
    bool by_signal_only;     /* nobody is looked at from outside */
    int signal;              /* what they are asked with; 0: nothing, no signal is to be had */
    bool is_held_back_below; /* a thread was found that blocks it, and not the spare one: see sig_numbers.h */
    uint64_t filled_below;   /* and threads that block both */
    struct {                 /* observations so far, by how they were made */
        uint64_t unchanged, walked, answered;
        uint64_t unanswered; /* overdue because the signal is blocked */
    } made;
    uint64_t sent;    /* signals */
    uint64_t no_slot; /* not asked because every slot was outstanding */
    /* What the answers have cost the threads that gave them, about (restraint_answer_ns). */
    uint64_t answers_cpu_ns;
};

/*
 * Room for slot_count outstanding answers of at most `depth` addresses; memo_bytes is what the memos of the
 * threads' last stacks may take. 0 or -ENOMEM.
 */
int observe_init(struct wp_observer *observer, uint32_t slot_count, uint32_t depth, size_t memo_bytes);
void observe_deinit(struct wp_observer *observer);

/* The sampler thread runs, and its descriptors are out of the program's sight, or not. */
void observe_enter(struct wp_observer *observer, int task_directory, bool is_private);

/* For a process whose sampler, and descriptors, are gone. */
void observe_drop_descriptors(struct wp_observer *observer);

/*
 * A thread that is to be looked at from now on. The first one's descriptors are opened at once: a program
 * that changes its user does so before it creates others, and after that none may be had.
 */
void observe_begin(struct wp_observer *observer, struct wp_thread *thread);

/*
 * Looks at a chosen thread. True when that gave an observation: *ret, which is valid until the next call of
 * this or observe_next. False when it was signalled; or owes an answer, or is to be left alone for a while.
 */
bool observe_look(struct wp_observer *observer, struct wp_thread *thread, uint64_t now_ns,
                  struct observation *ret);

/*
 * Before signals are sent: with which one. Those that are on their way with another one are not waited for
 * any more.
 */
void observe_use_signal(struct wp_observer *observer, int signal);

/* Whoever has been asked and has not begun to answer needs not to. */
void observe_cancel(struct wp_observer *observer);

/* Waits for the answers, at most until the deadline. */
void observe_wait(struct wp_observer *observer, uint64_t deadline_ns);

/*
 * The next answer, or the next overdue thread found to be silent; false when there is none for now. Call
 * until false once per tick.
 */
bool observe_next(struct wp_observer *observer, uint64_t now_ns, struct observation *ret);

/* The thread has ended: its outstanding slot is nobody's any more. */
void observe_forget(struct wp_observer *observer, struct wp_thread *thread);

/* Whether it is where the last observation found it, for certain. */
bool observe_has_not_run(struct wp_observer *observer, struct wp_thread *thread);

/* Whether a thread owes an answer for longer than a signal takes. */
bool observe_is_overdue(const struct wp_thread *thread, uint64_t now_ns);

#endif
