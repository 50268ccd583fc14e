/*
 * The recording at will: it is started and stopped, written now and then, by the program itself (wallprof.h),
 * by another process (control_page.h), by a signal (sig_control.h), and by the clock.
 *
 * All of it is done in the sampler, between ticks. A thread of the program leaves its request here and waits
 * for the answer; another process does so in a page that both have mapped, and a signal's handler counts.
 * What they wake the sampler by is one word, which lies in that page.
 */
#ifndef WALLPROF_SESSION_CONTROL_H
#define WALLPROF_SESSION_CONTROL_H

#include "config/config.h"
#include "profile/control_page.h"
#include "export/profile_path.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/* The answer to a request; also what wallprof.h promises. Positive: an errno. */
enum control_result {
    CONTROL_NOT_RECORDED = -2,
    CONTROL_ALREADY = -3,
    CONTROL_BUSY = -4,
    CONTROL_TIMED_OUT = -5,
    CONTROL_NOTHING = -6,
};

enum request_state { REQUEST_NONE, REQUEST_ASKED, REQUEST_TAKEN, REQUEST_LEFT, REQUEST_DONE };

/* A request of a thread of the program's. */
struct session_request {
    uint32_t turn;  /* atomic, futex: the tid of who is asking, 0 for nobody */
    uint32_t state; /* atomic, futex: enum request_state */
    enum control_kind kind;
    int result;
    char path[PATH_MAX];
};

/* Who has written the files of an interval. */
struct interval_file {
    uint32_t number; /* 0: none */
    dev_t device;
    ino_t inode;
};

struct session_control {
    struct control_page *page; /* shared with the tool once the sampler has entered; before that memory */
    struct session_request request;
    uint32_t is_stopped; /* atomic: nothing is recorded */
    uint32_t left;       /* atomic: how many threads have left while it was stopped */

    /* The sampler's own. */
    bool has_recorded;          /* something that is in no file yet that will stay */
    bool has_begun;             /* something has been recorded in this profile */
    uint64_t profile_ns;        /* its begin, CLOCK_MONOTONIC, */
    uint64_t profile_utc_ns;    /* and since the epoch */
    uint64_t changed_utc_ns;    /* when it was last started or stopped */
    uint64_t span_ns;           /* while it records: since when */
    uint64_t recorded_ns;       /* the spans before that */
    uint64_t start_at_ns;       /* when it starts by itself, 0: not */
    uint64_t stop_at_ns;        /* and stops, */
    uint64_t renew_at_ns;       /* and begins anew, */
    uint64_t idle_at_ns;        /* and, while it is stopped, looks at who has come and gone */
    uint32_t answered;          /* the page's */
    uint32_t toggles;           /* sig_control_count when they were last looked at */
    bool is_loss_reported;      /* of the control signal, to the program */
    uint32_t files;             /* by interval, so far */
    struct interval_file *kept; /* the last config.interval_keep of each output */
    struct wp_output numbered[1 + CONFIG_MORE_OUTS_MAX]; /* the names of the present interval */
};

/* ---- the program's threads ---- */

/* What wallprof.h promises of them. path: absolute, NULL for the profile's own. */
int session_control_ask(enum control_kind kind, const char *path);
int session_control_is_active(void);

/* A thread of the program has left: the sampler looks at who has come and gone now and then. */
void session_control_note_left(struct session *session);

/* Any thread: the sampler is to look at what it has been told. */
void session_wake(struct session *session);

/* ---- the life of a session ---- */

/* With the session. 0 or -ENOMEM. discard: with it, or with a copy of it in a child. */
int session_control_init(struct session *session);
void session_control_discard(struct session *session);

/* In a forked child, which begins as its parent is: */
void session_control_inherit(struct session *session, const struct session *parent);

/* In the sampler: the page is for others to be found from now on. Every time a sampler enters. */
void session_control_open(struct session *session);

/* In the sampler, once, when it has entered. */
void session_control_begin(struct session *session);

/* Any moment: whether there is something to be done, or the sampler's sleep is to end. */
bool session_control_is_asked(const struct session *session);

/* In the sampler, between ticks: until when it may sleep, 0 for as long as nobody wakes it. */
uint64_t session_control_deadline(const struct session *session);

/* In the sampler, between ticks: does what is due. */
void session_control_act(struct session *session);

/* In the sampler that ends, or in whoever stands in for it: what has been asked is not done any more. */
void session_control_end(struct session *session);

/* How much has been recorded of this profile up to a moment. */
uint64_t session_control_recorded_ns(const struct session *session, uint64_t now_ns);

#endif
