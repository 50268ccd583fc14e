/*
 * The timeline of a merged recording: the records of all its recordings, on one clock.
 *
 * Each recording's clock begins anywhere, so times become those of the system's clock: nanoseconds since the
 * epoch. If that was set between two recordings, they lie where it says. Events are left out: they are of a
 * process, and do not say of which.
 *
 * Called from: merge.c. Memory: 64 bytes for each record of all recordings.
 */
#ifndef WALLPROF_MERGE_TIMELINE_H
#define WALLPROF_MERGE_TIMELINE_H

#include "profile/profile.h"

#include <stdbool.h>

/* Zeroed memory: nothing is kept. */
struct merge_timeline {
    bool is_wanted;           /* set by the caller, before anything is added */
    bool is_lacking;          /* a recording has none: the merged one cannot have it */
    struct timeline timeline; /* its records are owned */
};

/* How one recording becomes a part of the merged one. The arrays are owned, and NULL where no timeline is
 * kept. */
struct merge_timeline_part {
    const struct profile *profile;
    arena_ref
        *node_of; /* by tree_node_index: where a node of its tree goes; 0: nowhere. The caller fills it */
    uint32_t *thread_of; /* by the number of its thread, 0 included: the merged one's; 0: none */
};

void merge_timeline_deinit(struct merge_timeline *merged);

/* Makes a part's arrays, if its timeline is to be kept. 0 or -ENOMEM; end in any case. */
int merge_timeline_begin(struct merge_timeline *merged, const struct profile *profile,
                         struct merge_timeline_part *ret);
void merge_timeline_end(struct merge_timeline_part *part);

/* A thread of the part goes to a merged one, whose life it extends. number: 0 for time of no thread, which is
 * of the whole recording. */
void merge_timeline_add_thread(const struct merge_timeline_part *part, uint32_t number,
                               struct thread_record *merged);

/* Adds the records of a part whose threads and nodes are known. 0 or -ENOMEM. */
int merge_timeline_add(struct merge_timeline *merged, const struct merge_timeline_part *part);

/* The merged recording's timeline, which begins at start_utc_ns; NULL if it is not wanted, or not complete.
 */
const struct timeline *merge_timeline_finish(struct merge_timeline *merged, uint64_t start_utc_ns);

#endif
