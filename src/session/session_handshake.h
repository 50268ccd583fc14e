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
    uint32_t state; /* atomic, futex: enum session_state */
    int set_up_status;
    struct sampler_pause pause;
    uint32_t forks; /* atomic, relaxed: begun so far. The partner is the pause: a tick is after a fork. */
    bool ignores_children; /* session_ignore_children */
};

/* Waits until no file is written for an exec, for at most 5 s. */
void session_wait_for_writing(struct session_handshake *handshake);

/*
 * Whether this thread holds the sampler (session_hold_*), or is about to. A handler that interrupts fork must
 * not wait for the sampler then. Who ends or replaces the process in there lets go first. A forked child has
 * its parent's count, and forgets it: it holds nothing.
 */
bool session_is_held_here(void);
void session_let_go(void);
void session_forget_holds(void);

#endif
