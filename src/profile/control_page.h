/*
 * How another process asks the sampler for something (wallprof ctl): a nameless file of the sampler's, which
 * nobody but the same user finds (/proc/PID/task/TID/fd), mapped by both.
 *
 * One at a time asks: it has a lock on the file (flock). It writes what it wants, then `asked`, one more than
 * it was, counts `wake` up and wakes it; and waits until `answered` is the same. The sampler believes nothing
 * of what it finds there: it copies what was asked once, into memory of its own, and bounds it.
 *
 * Both sides are of one build: others are refused by `layout`.
 */
#ifndef WALLPROF_CONTROL_PAGE_H
#define WALLPROF_CONTROL_PAGE_H

#include <limits.h>
#include <stdint.h>

#define CONTROL_PAGE_NAME "wallprof-control"

enum { CONTROL_PAGE_BYTES = 16384, CONTROL_PAGE_LAYOUT = 0x77700001, CONTROL_PROGRAM_BYTES = 512 };

enum control_kind { CONTROL_NONE, CONTROL_START, CONTROL_STOP, CONTROL_DUMP, CONTROL_STATUS };

/* What the sampler says with every answer. */
struct control_status {
    int32_t pid; /* as the process itself sees it */
    uint32_t is_recording;
    uint64_t since_utc_ns; /* it has been, or has not been, since then */
    uint64_t recorded_ns;  /* of what has not been written by interval yet */
    uint32_t threads_live, threads_seen;
    uint64_t samples;
    uint32_t files; /* written by interval so far */
    char program[CONTROL_PROGRAM_BYTES];
    char out[PATH_MAX]; /* where the profile goes */
};

struct control_page {
    uint32_t layout;   /* CONTROL_PAGE_LAYOUT when all is there */
    uint32_t wake;     /* atomic, shared futex: what the sampler waits on */
    uint32_t asked;    /* atomic: number of the last request */
    uint32_t answered; /* atomic, shared futex: and of the last that has been answered */
    uint32_t kind;     /* enum control_kind */
    int32_t result;    /* as the functions of wallprof.h return it */
    char path[PATH_MAX];
    struct control_status status;
};

_Static_assert(sizeof(struct control_page) <= CONTROL_PAGE_BYTES, "the file holds the page");

#endif
