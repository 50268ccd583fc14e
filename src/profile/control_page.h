/*
 * How another process sends the sampler a request (wallprof ctl): through a nameless file of the sampler,
 * which both have mapped. Only the same user and root can open it (/proc/PID/task/TID/fd).
 *
 * One process at a time has the lock on the file (flock). It writes its request, increments `request_number`
 * and `wake`, wakes the sampler, and waits until `reply_number` is equal to `request_number`. The sampler
 * believes nothing of the page: it copies the request once, into its own memory, and bounds it.
 *
 * Both sides must be of one build: `layout` says so.
 */
#ifndef WALLPROF_CONTROL_PAGE_H
#define WALLPROF_CONTROL_PAGE_H

#include <limits.h>
#include <stdint.h>

#define CONTROL_PAGE_NAME "wallprof-control"

enum { CONTROL_PAGE_BYTES = 16384, CONTROL_PAGE_LAYOUT = 0x77700001, CONTROL_PROGRAM_BYTES = 512 };

enum control_kind { CONTROL_NONE, CONTROL_START, CONTROL_STOP, CONTROL_DUMP, CONTROL_STATUS };

/* A part of every reply. */
struct control_status {
    int32_t pid; /* as the process itself sees it */
    uint32_t is_recording;
    uint64_t since_utc_ns; /* when is_recording became what it is */
    uint64_t recorded_ns;  /* the part that no interval profile has yet */
    uint32_t threads_live, threads_seen;
    uint64_t samples;
    uint32_t files; /* interval profiles written so far */
    char program[CONTROL_PROGRAM_BYTES];
    char out[PATH_MAX]; /* where the profile goes */
};

struct control_page {
    uint32_t layout;         /* CONTROL_PAGE_LAYOUT once all is filled in */
    uint32_t wake;           /* atomic, shared futex: what the sampler waits on */
    uint32_t request_number; /* atomic: of the last request */
    uint32_t reply_number;   /* atomic, shared futex: of the last request that has its reply */
    uint32_t kind;           /* enum control_kind */
    int32_t result;          /* as the functions of wallprof.h return it */
    char path[PATH_MAX];
    struct control_status status;
};

_Static_assert(sizeof(struct control_page) <= CONTROL_PAGE_BYTES, "the file holds the page");

#endif
