/*
 * The walk over the tree of one thread after another, which adds what was recorded to the rows of a report,
 * to its pseudo-frames and to its total.
 *
 * Called from: report.c.
 */
#ifndef WALLPROF_REPORT_WALK_H
#define WALLPROF_REPORT_WALK_H

#include "report_rows.h"

struct report_walk {
    struct report *report;
    const struct report_rows *rows;
    uint32_t *on_path;              /* by row: how many frames of the path are of it */
    uint32_t focus, ignored;        /* how many of the path's locations; ignored: 1 more for a whole thread */
    uint32_t labels, labels_wanted; /* how many labels of the path */
    uint32_t pseudo_on_path[PSEUDO_KINDS];
    struct values *levels; /* of the path: what was below, so far */
    uint32_t level_count, level_capacity;
    /* Of the thread that is walked: how long in each function itself, and the node that it was in longest. */
    uint64_t *in_function;
    arena_ref *node_of_function;
    uint32_t *touched; /* the functions that have any */
    uint32_t touched_count;
};

/* The report's rows are there, all zero. False without memory; report_walk_deinit also then. */
bool report_walk_init(struct report_walk *walk, struct report *report, const struct report_rows *rows);
void report_walk_deinit(struct report_walk *walk);

/* Adds up the tree of a root; *ret is what the filters leave of it. False without memory. */
bool report_walk_tree(struct report_walk *walk, arena_ref root, bool is_ignored, struct values *ret);

/* Says what the thread of that tree was mostly in, and forgets it. */
void report_walk_take_mostly_in(struct report_walk *walk, struct report_thread *thread);

#endif
