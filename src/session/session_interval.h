/* A profile for each interval: numbered files, of which the oldest are removed. The sampler thread's own. */
#ifndef WALLPROF_SESSION_INTERVAL_H
#define WALLPROF_SESSION_INTERVAL_H

#include "config/config.h"
#include "export/profile_path.h"

#include <stdint.h>
#include <sys/types.h>

struct session;

/* Who has written the files of an interval. */
struct interval_file {
    uint32_t number; /* 0: none */
    dev_t device;
    ino_t inode;
};

struct session_intervals {
    uint32_t files;             /* so far */
    uint32_t keep;              /* config.interval_keep, when kept is there */
    struct interval_file *kept; /* the last ones of each output, or NULL for all */
    struct profile_path numbered[1 + CONFIG_MORE_OUTS_MAX]; /* the outputs of the present interval */
};

/* Without memory all files stay. */
void session_intervals_init(struct session_intervals *intervals, uint32_t keep);
void session_intervals_discard(struct session_intervals *intervals);

/* The next number that is free, and with it `numbered`. 0 or -errno. */
int session_name_interval(struct session *session, uint32_t *ret_number);

/* Writes the profile of the interval that ends at end_ns, and removes those that are too many. */
void session_write_interval(struct session *session, uint64_t end_ns);

#endif
