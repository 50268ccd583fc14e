/*
 * Memory for the threads of a long life. When it runs short, the trees of threads that have ended are merged,
 * those of one name into one tree with one record. Their nodes and records serve again (tree_drop).
 *
 * Labels are part of a path, so times stay apart by label. Sums are exact at every instant, also for whoever
 * reads a mapped store after a kill (struct tree_move). The timeline's records follow their threads.
 *
 * The newer half of the ended threads stay apart, and threads with more than a 64th of all time. If that does
 * not free enough, fewer stay apart. Then names that differ only in numbers are one, then all names. Names
 * are given up only where more than MERGE_ENDED_FEW records of ended threads are left.
 *
 * The work is done in slices, each of which takes about 2 ms, or 8 ms with a full timeline. A slice goes on
 * in the list of records where the last one stopped, so a thread is looked at once in each round.
 *
 * Called from: the sampler thread only, when a mapped store's header knows all lists.
 */
#ifndef WALLPROF_MERGE_ENDED_H
#define WALLPROF_MERGE_ENDED_H

#include "profile/timeline.h"
#include "profile/tree.h"
#include "thread_records.h"

#include <stdbool.h>
#include <stdint.h>

enum { MERGE_ENDED_FEW = 256, MERGE_ENDED_NAMES = 1024 };

/* What tells threads apart that are not merged, from the least pressing need on. */
enum merge_ended_need { MERGE_BY_NAME, MERGE_MORE_BY_NAME, MERGE_BY_NAME_WITHOUT_NUMBERS, MERGE_ALL };

/* Zeroed at first, and when the recording begins anew. */
struct merge_ended {
    enum merge_ended_need need;
    arena_ref at;         /* the last record that was looked at; 0: a round begins */
    uint32_t apart;       /* ended threads to pass over yet in this round */
    uint64_t resume_seen; /* nothing was free after all: how many threads there must have been first */
    arena_ref target_of[MERGE_ENDED_NAMES]; /* by the hash of a name: the record to merge into */
};

/* What the parts of a recording share with it. Not owned. */
struct merge_ended_recording {
    struct tree *tree;
    struct thread_records *records;
    struct timeline *timeline; /* NULL without */
};

/* Whether memory runs short, and there may be something to free. */
bool merge_ended_is_due(const struct merge_ended *merge, const struct merge_ended_recording *recording);

/* One slice. */
void merge_ended_slice(struct merge_ended *merge, const struct merge_ended_recording *recording);

/*
 * Before short_lives_settle, which gives stacks to lives that no sample has seen. Where they would not all
 * fit, those of one name become one thread, at once. A round that has begun begins anew. Returns whether
 * trees were merged.
 */
bool merge_ended_for_lives(struct merge_ended *merge, const struct merge_ended_recording *recording);

#endif
