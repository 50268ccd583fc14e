/*
 * Observes threads of another process that run: each stands still for as long as it takes to read its
 * registers and clocks and to copy its stack (attach_trace.h). It is walked once it goes on.
 *
 * A thread that has no CPU does not come at once. It is awaited, and observed when it has come: until then it
 * is where it was. So whoever waits for the next tick waits for SIGCHLD too, and calls sampler_collect then.
 *
 * Called from: the sampler thread, as struct target demands.
 */
#ifndef WALLPROF_ATTACH_OBSERVE_H
#define WALLPROF_ATTACH_OBSERVE_H

#include "sample/observe.h"
#include "sig/walk/sig_unwind_slow.h"
#include "attach_trace.h"

#include <stdbool.h>
#include <stdint.h>

enum { ATTACH_AWAITED_MAX = 256, ATTACH_PAUSES = 512 };

struct attach_observer {
    struct attach_awaited {
        pid_t tid;
        struct thread *thread; /* NULL: it is not observed any more, but must be let go */
        uint64_t delay_ns;     /* its delay clock when it was asked */
    } awaited[ATTACH_AWAITED_MAX];
    uint32_t awaited_count, awaited_at;      /* at: where the next call goes on */
    struct sig_stack_copy copy;              /* words: owned */
    struct sig_unwind_slow_scratch *scratch; /* owned */
    struct {
        uint64_t stops;                 /* so far; of them: */
        uint64_t in_calls;              /* the thread had begun to wait in a call */
        uint64_t refused;               /* tries: another process traced it */
        uint64_t pauses[ATTACH_PAUSES]; /* stops by how long they were: so many us each, the last any more */
        uint64_t pause_max_ns;
    } counts;
};

/* 0 or -ENOMEM; deinit either way. The counts can still be read after it. */
int attach_observe_init(struct attach_observer *attached);
void attach_observe_deinit(struct attach_observer *attached);

/* At the end: threads that have not come are not observed. */
void attach_observe_give_up(struct attach_observer *attached);

/* As struct target has them. */
bool attach_observe_thread(struct attach_observer *attached, struct observer *observer, struct thread *thread,
                           uint64_t now_ns, struct observation *ret);
bool attach_observe_next(struct attach_observer *attached, struct observer *observer,
                         struct observation *ret);
void attach_observe_forget(struct attach_observer *attached, struct thread *thread);

/* The pause that so many per cent of the stops do not exceed, in us; ATTACH_PAUSES: it was longer than that.
 */
unsigned attach_observe_pause_us(const struct attach_observer *attached, unsigned percent);

#endif
