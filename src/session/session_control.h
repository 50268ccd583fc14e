/*
 * When a process is recorded: starting, stopping and renewing the profile, on request and by the clock.
 *
 * All of it happens in the sampler, between ticks. Other threads read is_stopped, and count in `left`.
 */
#ifndef WALLPROF_SESSION_CONTROL_H
#define WALLPROF_SESSION_CONTROL_H

#include "config/config.h"
#include <stdbool.h>
#include <stdint.h>

struct session;

struct session_recording {
    uint32_t is_stopped; /* atomic, relaxed: nothing is recorded; no partner, it tells of nothing else */
    uint32_t left;       /* atomic, relaxed: how many threads have ended since it was stopped; no partner */

    /* The sampler's own. */
    bool has_recorded;       /* something that is not in a file yet which stays */
    bool has_begun;          /* something has been recorded in this profile */
    uint64_t profile_ns;     /* the beginning of the profile, CLOCK_MONOTONIC */
    uint64_t profile_utc_ns; /* the same since the epoch */
    uint64_t end_ns;         /* of the whole recording; 0: it goes on */
    uint64_t changed_utc_ns; /* when it was last started or stopped */
    uint64_t span_ns;        /* while it records: since when */
    uint64_t recorded_ns;    /* the time of the spans before that */
    uint64_t start_at_ns;    /* when it starts by itself; 0: it does not. Likewise: */
    uint64_t stop_at_ns;     /* when it stops */
    uint64_t renew_at_ns;    /* when another profile begins */
    uint64_t idle_at_ns;     /* while it is stopped: when the sampler looks for threads that have ended */
};

/* In a thread of the program that ends. While recording is stopped the sampler has to notice now and then. */
void session_control_note_left(struct session *session);

/* The program's first thread, before there is a sampler: whether and when recording starts. start_ns: the
 * session's. */
void session_control_plan(struct session_recording *recording, const struct config *config,
                          uint64_t start_ns);

/* In a forked child: it is stopped if its parent is. */
void session_control_inherit(struct session_recording *recording, const struct session_recording *parent);

/* In the first sampler thread, once it is set up. */
void session_control_begin(struct session *session);

/* Any thread: whether the sampler's sleep is to end for a request. */
bool session_control_is_pending(const struct session *session);

/* In the sampler, between ticks: until when it may sleep; 0: until somebody wakes it. */
uint64_t session_control_deadline(const struct session *session);

/* In the sampler, between ticks: does what is due. */
void session_control_act(struct session *session);

/* In the sampler. 0 or CONTROL_ALREADY. */
int session_control_start(struct session *session, uint64_t now_ns);
int session_control_stop(struct session *session, uint64_t now_ns);

/* How much time has been recorded in this profile up to a moment. */
uint64_t session_recorded_ns(const struct session_recording *recording, uint64_t now_ns);

#endif
