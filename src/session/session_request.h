/*
 * Requests to start, to stop and to write the recording: by the program itself (wallprof.h), by another
 * process (control_page.h), and by a signal (sig_control.h).
 *
 * A thread of the program leaves its request here and waits for the reply. Another process does so in a page
 * that both have mapped, and a signal's handler counts. The sampler carries all of them out between ticks.
 * One word, in that page, wakes it.
 */
#ifndef WALLPROF_SESSION_REQUEST_H
#define WALLPROF_SESSION_REQUEST_H

#include "profile/control_page.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct session;

/* The reply to a request; also what wallprof.h promises. Positive: an errno. */
enum control_result {
    CONTROL_NOT_RECORDED = -2,
    CONTROL_ALREADY = -3,
    CONTROL_BUSY = -4,
    CONTROL_TIMED_OUT = -5,
    CONTROL_NOTHING = -6,
};

enum request_state { REQUEST_NONE, REQUEST_SENT, REQUEST_TAKEN, REQUEST_ABANDONED, REQUEST_DONE };

/* The request of a thread of the program. The thread that has the turn writes kind and path before
 * REQUEST_SENT, and the sampler writes result before REQUEST_DONE. */
struct session_request {
    char path[PATH_MAX];
    uint32_t turn;  /* atomic, futex: the tid of the thread whose request it is, 0: free */
    uint32_t state; /* atomic, futex: enum request_state */
    enum control_kind kind;
    int result;
};

struct session_requests {
    struct session_request request;
    struct control_page *page; /* memory, shared with the tool when the sampler has opened it */

    /* The sampler's own. */
    uint32_t replied;      /* the number of the page's last request that has a reply */
    uint32_t toggles;      /* sig_control_count when it was read last */
    bool is_loss_reported; /* the program has taken the control signal */
};

/* ---- threads of the program ---- */

/* As wallprof.h promises of wallprof_start and its like. path: absolute, NULL for the profile's own. */
int session_send_request(enum control_kind kind, const char *path);
int session_is_active(void);

/* Any thread: the sampler wakes and reads the state and the requests. */
void session_wake(struct session_requests *requests);

/* ---- the life of a session ---- */

/* init: 0 or -ENOMEM. discard: also for a forked child's copy. */
int session_requests_init(struct session_requests *requests);
void session_requests_discard(struct session_requests *requests);

/* In each sampler thread at its beginning: from now on other processes find the page. */
void session_requests_open(struct session_requests *requests);

/* Any thread: whether a request has not been carried out yet. */
bool session_requests_are_pending(const struct session_requests *requests);

/* In the sampler, between ticks: carries them out. */
void session_requests_act(struct session *session);

/* In the thread that ends the recording, after the sampler: a request that was sent is refused. */
void session_requests_end(struct session_requests *requests);

#endif
