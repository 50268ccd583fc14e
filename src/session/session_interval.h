/* A profile for each interval: numbered files, of which the oldest are removed. The sampler thread's own. */
#ifndef WALLPROF_SESSION_INTERVAL_H
#define WALLPROF_SESSION_INTERVAL_H

#include "config/config.h"
#include "export/profile_path.h"

#include <stdint.h>
#include <sys/types.h>

struct session;

/* A file that was written, so that only it is removed later. */
struct interval_file {
    uint32_t number; /* 0: none */
    dev_t device;
    ino_t inode;
};

struct session_intervals {
    uint32_t files;             /* so far */
    uint32_t keep;              /* config.interval_keep */
    struct interval_file *kept; /* the last `keep` files of each output; NULL: all files stay */
    struct profile_path numbered[1 + CONFIG_MORE_OUTS_MAX]; /* the outputs of the present interval */
};

/* Without memory all files stay. */
void session_intervals_init(struct session_intervals *intervals, uint32_t keep);
void session_intervals_discard(struct session_intervals *intervals);

/* Finds the next number that is free, and fills in `numbered`. 0 or -errno. */
int session_name_interval(struct session *session, uint32_t *ret_number);

/* Writes the profile of the interval that ends at end_ns, and removes the oldest one beyond `keep`. */
void session_write_interval(struct session *session, uint64_t end_ns);

#endif
