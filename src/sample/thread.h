/*
 * The record of one thread of the program, from its start to its end. The comments say who writes each part.
 * threads.h says how a record passes from the thread to the sampler.
 */
#ifndef WALLPROF_THREAD_H
#define WALLPROF_THREAD_H

#include "account/account.h"
#include "profile/profile.h"
#include "remote_sample.h"
#include "schedule.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread {
    uint32_t index;     /* in the pool; constant */
    uint32_t next_free; /* atomic: the pool's list; other threads that try to take the record read it */

    /* Written by the creating or the starting thread, constant once `arrived`. */
    uint32_t number; /* 1.. in the order of registration */
    pid_t tid;
    uint8_t turn;   /* the group that it counts in while it is coming: 0 or 1 */
    bool is_coming; /* acquired, not yet entered */
    uint64_t start_ns, start_cpu_ns;
    uint64_t stack_low, stack_high; /* its own stack; 0 and 0 when not known */

    /* Written by the ending thread before it pushes itself on `left`. */
    uint64_t end_ns; /* atomic: 0 while it lives */
    uint64_t end_cpu_ns;
    char end_name[THREAD_NAME_BYTES];
    bool is_ending; /* its routine has ended; only the thread itself looks at it */

    struct thread_annotations annotations; /* what the program says of it */

    /* The creating hook's message to the starting thread. */
    char start_space[64] __attribute__((aligned(16)));

    /* List links, each written by the pushing thread. */
    struct thread *next_arrived, *next_left;

    /* The sampler's own. */
    uint32_t live_index;
    uint32_t recorded_number;   /* of its thread_record; 0: not given yet */
    struct thread *next_of_tid; /* in its bucket of by_tid */
    arena_ref record;
    struct fold_thread fold;
    struct schedule_thread schedule;
    struct stack_cache *stack_cache; /* of its last stack; NULL without */
    struct thread_stat stat;         /* its descriptors */
    struct remote_memory remote;
    struct interp_thread interp; /* c_id is the starting thread's */
    uint64_t name_due_ns;        /* when to read its name again, with a mapped store */
    struct {
        arena_ref label; /* of its name, for those who wait for it; 0 before the first one */
        uint64_t due_ns; /* when to read its name again for that */
        bool shares_tid; /* another thread may have had its tid before */
    } holder;
    struct {
        struct remote_memory memory; /* of the last look at it as the holder of a lock, which is no sample */
        arena_ref node;              /* its stack then */
        bool was_blamed;             /* others may have nodes of its tree in their records */
    } look;
    bool is_foreign; /* found by the scan: no hook will tell when it ends */
    uint32_t foreign_index;
    struct {
        int slot;                      /* outstanding signal, -1 without */
        uint32_t snapshot;             /* the last snapshot of the modules before it was sent */
        uint64_t sent_ns, sent_cpu_ns; /* when it was sent, and the thread's CPU clock then */
        uint64_t delay_ns;             /* its delay clock when it was read last, or FOLD_NO_DELAY */
        uint64_t chosen_ns;  /* when the thread was chosen last: the signal was sent or outstanding */
        uint64_t check_ns;   /* when to check an overdue reply, or to try a silent thread again */
        uint64_t backoff_ns; /* doubles with every silent try; 0 for a thread that replies */
        bool was_runnable;   /* when the signal was sent: woken, if its reply seems to come from a wait */
        bool is_silent;      /* did not reply the last time: its mask is read before another signal */
        bool is_look;        /* the outstanding signal was sent for blame only: the reply is no sample */
        bool is_traced;      /* by another process; known until then: */
        uint64_t tracer_due_ns;
    } observe;
};

#endif
