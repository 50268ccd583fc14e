/*
 * What the sampler thread and the program's threads agree on: the state of the recording, and holds of the
 * sampler around fork and exec.
 *
 * Any thread changes the state, by the events of session_state.h. Any thread holds the sampler, which ticks
 * and writes only between sampler_pause_work and sampler_pause_rest. set_up_status is the sampler's; it is
 * written before the event that says that the set-up is over, and read after that event or after a join.
 */
#ifndef WALLPROF_SESSION_HANDSHAKE_H
#define WALLPROF_SESSION_HANDSHAKE_H

#include "sampler_pause.h"
#include "session_state.h"

#include <stdbool.h>
#include <stdint.h>

struct session_handshake {
    uint32_t state;           /* atomic, futex: enum session_state */
    uint32_t is_wanted;       /* atomic: the sampler is to set itself up at once (session_hasten_set_up) */
    uint32_t is_sampler_gone; /* atomic, futex: it uses nothing of the session any more */
    int set_up_status;
    struct sampler_pause pause;
    uint32_t forks;        /* atomic, relaxed: begun so far; the pause orders it before the next tick */
    bool ignores_children; /* session_ignore_children */
};

/* Waits while a file is written before an exec, for 5 s at most. */
void session_wait_for_writing(struct session_handshake *handshake);

/*
 * Whether this thread holds the sampler (session_hold_*), or is about to. Then it runs a handler that
 * interrupts fork, and must not wait for the sampler. If the handler ends or replaces the process, it
 * releases its holds first (let_go). A forked child has a copy of its parent's count, and forgets it.
 */
bool session_is_held_here(void);
void session_let_go(void);
void session_forget_holds(void);

#endif
