/*
 * A timeline's records thread by thread, in the order in which they were made.
 *
 * Called from: the encoders. Scratch memory: four bytes a record, and four a thread.
 */
#ifndef WALLPROF_TIMELINE_INDEX_H
#define WALLPROF_TIMELINE_INDEX_H

#include "timeline.h"

#include <stdint.h>

struct timeline_index {
    const struct timeline *timeline; /* not owned */
    uint32_t *order;                 /* of all records */
    uint32_t *first;                 /* by thread number: the index in order of its first record */
    uint32_t thread_count;
};

/* For the threads 0..thread_count; records of others are left out. 0 or -ENOMEM. */
int timeline_index_init(struct timeline_index *index, const struct timeline *timeline, uint32_t thread_count);
void timeline_index_deinit(struct timeline_index *index);

/* How many records a thread has, and the i-th of them. */
uint32_t timeline_index_count(const struct timeline_index *index, uint32_t thread);
const struct timeline_record *timeline_index_at(const struct timeline_index *index, uint32_t thread,
                                                uint32_t i);

#endif
