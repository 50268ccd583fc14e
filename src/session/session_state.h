/*
 * The state of the recording: one word, on which the sampler thread and the program's threads agree.
 *
 * The sampler thread sets the recording up, records, and ends it. Threads of the program ask it to write
 * before an exec, to end for a moment (session_suspend.c), and to end for good. Each of them changes the
 * state by an event. The table in session_state.c says what an event does in a state: it leads to another
 * state, it is refused, or it waits for another state.
 *
 * Two things are not states, because they go along with any of them. Whether recording is stopped for now is
 * decided by the sampler alone (session_control.h). Threads that fork or exec hold the sampler; holds add up
 * and leave the state as it was (sampler_pause.h).
 *
 * Any thread, also in a handler, but no handler may wait for what its own thread does: a thread that suspends
 * the sampler or ends it as the last one has its signals blocked. A change is one compare-exchange, acquire
 * and release; its partners are the other changes and the loads, which acquire. A thread that sees a state
 * sees everything that was written before the change that led to it.
 */
#ifndef WALLPROF_SESSION_STATE_H
#define WALLPROF_SESSION_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum session_state {
    STATE_WAITING,   /* the sampler sleeps until its first tick is due, and nothing is set up */
    STATE_STARTING,  /* the sampler sets itself up */
    STATE_RECORDING, /* the sampler takes samples */
    STATE_WRITING,   /* a thread that is about to exec waits for the profile so far */
    STATE_SUSPENDED, /* a thread has ended the sampler for a moment, or waits for its end */
    STATE_RESUMING,  /* the same thread has another sampler created, which sets itself up */
    STATE_DESERTED,  /* the sampler has seen the last thread go, and ends the recording by itself */
    STATE_LEAVING,   /* the last thread ends the sampler, which leaves the profile to exit() */
    STATE_LEFT,      /* there is no sampler: the thread that ends the recording writes the profile */
    STATE_FAILED,    /* the sampler could not be set up, and has ended */
    STATE_ENDING,    /* a thread ends the recording; the last state if the process ends too */
    STATE_OVER,      /* the recording has ended before the process: no hook does anything any more */
};

enum session_event {
    ON_BEGIN,     /* the first tick is due, or the set-up is wanted now */
    ON_SET_UP,    /* the sampler is ready */
    ON_FAIL,      /* the sampler could not be set up */
    ON_WRITE,     /* exec: the profile so far is wanted */
    ON_WRITTEN,   /* the sampler has written it */
    ON_SUSPEND,   /* setns, unshare, capset, a seccomp filter for all threads, ... */
    ON_RESUME,    /* the call is over */
    ON_DESERT,    /* the sampler sees that no thread is left */
    ON_LEAVE,     /* the last thread that hooks know of ends */
    ON_TAKE_OVER, /* the sampler that is leaving writes after all: exit() will not be called */
    ON_GONE,      /* the sampler has left, or another one could not be created */
    ON_END,       /* exit, _exit, or the end of the recording before it */
    ON_RETIRE,    /* the end before exit is complete */
};

enum { SESSION_STATES = STATE_OVER + 1, SESSION_EVENTS = ON_RETIRE + 1 };

/* state: a futex of the process. A thread that changes it has to wake a sleeping sampler (session_wake). */
enum session_state session_state_now(const uint32_t *state);

/* Whether the recording ends, or has ended: a request is not carried out any more. */
bool session_state_is_final(const uint32_t *state);

/* Changes the state by an event, without waiting. 0, -EPERM if the event is refused, or -EAGAIN if it has to
 * wait. *ret_before, unless NULL: the state before the change, or the one that prevents it. */
int session_state_move(uint32_t *state, enum session_event event, enum session_state *ret_before);

/* Waits until the event need not wait; until the deadline (CLOCK_MONOTONIC, 0: none) at most. */
void session_state_await(uint32_t *state, enum session_event event, uint64_t deadline_ns);

/* Waits until the deadline (0: none) at most, and changes the state. 0, -EPERM if the event is refused, or
 * -EAGAIN after the deadline. */
int session_state_reach(uint32_t *state, enum session_event event, uint64_t deadline_ns,
                        enum session_state *ret_before);

/* Waits while the state is this one; until the deadline at most. */
void session_state_await_other(uint32_t *state, enum session_state now, uint64_t deadline_ns);

#endif
